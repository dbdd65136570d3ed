//===- Tiles.cpp - Register tiles as vectors --------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers elementwise ops, broadcasts, reductions and ballots of register tiles
// to ops on one vector per thread, with warp shuffles where the layout
// distributes a dimension over lanes.
//
//===----------------------------------------------------------------------===//

#include "Tiles/ScalarizeTiles.h"
#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fovea;

static warp::ThreadLayoutAttrInterface getLayout(RankedTensorType type) {
  return cast<warp::ThreadLayoutAttrInterface>(type.getEncoding());
}

/// Copies a 32-bit integer so that LLVM cannot identify the copy with the
/// original. Otherwise values computed from coordinates in one place would be
/// kept live for another place that could recompute them, in as many registers
/// as a tile has columns. A mask restores the known zero bits, so that
/// divisions of coordinates fold.
static Value emitOpaqueCopy(OpBuilder &b, Location loc, Value value,
                            ScalarBits &bits) {
  Value copy = LLVM::InlineAsmOp::create(
                   b, loc, TypeRange{value.getType()}, ValueRange{value},
                   "mov.b32 $0, $1;", "=r,r",
                   /*has_side_effects=*/true, /*is_align_stack=*/false,
                   LLVM::TailCallKind::None, /*asm_dialect=*/nullptr,
                   /*operand_attrs=*/nullptr)
                   .getResult(0);
  const APInt zero = bits.get(value).Zero;
  Value apart = copy;
  if (!zero.isZero())
    apart = arith::AndIOp::create(b, loc, copy,
                                  emitI32(b, loc, (~zero).getSExtValue()));
  bits.setCopy(apart, value);
  return apart;
}

namespace {
/// Lowers any elementwise op to the same op on vectors.
struct ElementwiseLowering : ConversionPattern {
  ElementwiseLowering(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumRegions() != 0)
      return failure();
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertTypes(op->getResultTypes(), types)))
      return failure();
    OperationState state(op->getLoc(), op->getName(), operands, types,
                         op->getAttrs());
    rewriter.replaceOp(op, rewriter.create(state));
    return success();
  }
};

/// Lowers a mask of scores to scalar selects, one element at a time, so that
/// each condition is computed right before its select. With vector ops all
/// coordinates of a block of scores would be live at once besides the scores,
/// which exceeds the registers.
struct SelectLowering : OpConversionPattern<arith::SelectOp> {
  SelectLowering(const TypeConverter &converter, MLIRContext *context,
                 Coordinates &coordinates)
      : OpConversionPattern(converter, context, /*benefit=*/2),
        coordinates(coordinates) {}

  LogicalResult
  matchAndRewrite(arith::SelectOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isa<FloatType>(getElementTypeOrSelf(op.getType())) ||
        !ElementEmitter::isEmitted(op.getCondition()))
      return failure();
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    ElementEmitter emitter(
        rewriter, op.getLoc(), coordinates,
        coordinates.getWritten(rewriter.getInsertionBlock()));
    SmallVector<Value> elements;
    for (int64_t index = 0; index < type.getNumElements(); ++index) {
      Value condition = emitter.get(op.getCondition(), index);
      Value kept = emitter.extract(adaptor.getTrueValue(), index);
      Value other = emitter.extract(adaptor.getFalseValue(), index);
      elements.push_back(arith::SelectOp::create(rewriter, op.getLoc(),
                                                 condition, kept, other));
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
    return success();
  }

private:
  Coordinates &coordinates;
};

/// Lowers `tile.is_partial` in a loop that was not split into full and partial
/// blocks.
struct IsPartialLowering : OpConversionPattern<tile::IsPartialOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tile::IsPartialOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto compare = [&](arith::CmpIPredicate predicate, Value bound) -> Value {
      return arith::CmpIOp::create(rewriter, op.getLoc(), predicate,
                                   adaptor.getBlock(), bound);
    };
    Value below, past;
    if (Value first = adaptor.getFirst())
      below = compare(arith::CmpIPredicate::slt, first);
    if (Value end = adaptor.getEnd())
      past = compare(arith::CmpIPredicate::sge, end);
    if (below && past)
      rewriter.replaceOpWithNewOp<arith::OrIOp>(op, below, past);
    else
      rewriter.replaceOp(op, below ? below : past);
    return success();
  }
};

struct ConstantLowering : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = dyn_cast_or_null<VectorType>(
        getTypeConverter()->convertType(op.getType()));
    auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!type || !splat)
      return failure();
    // Registers hold the encodings of 8-bit floats.
    bool isEncoded = isa<FloatType>(splat.getElementType()) &&
                     type.getElementType().isInteger(8);
    DenseElementsAttr value =
        isEncoded ? DenseElementsAttr::get(
                        type, splat.getSplatValue<APFloat>().bitcastToAPInt())
                  : splat.resizeSplat(type);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, value);
    return success();
  }
};

struct IotaLowering : OpConversionPattern<tile::IotaOp> {
  IotaLowering(const TypeConverter &converter, MLIRContext *context,
               Coordinates &coordinates)
      : OpConversionPattern(converter, context), coordinates(coordinates) {}

  LogicalResult
  matchAndRewrite(tile::IotaOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType tile = op.getResult().getType();
    auto type = cast<VectorType>(getTypeConverter()->convertType(tile));
    auto layout = getLayout(tile);
    Value base = layout.emitBase(rewriter, loc, emitThread(rewriter, loc),
                                 tile.getShape(), op.getDim());
    base = emitOpaqueCopy(rewriter, loc, base, coordinates.bits);
    if (tile.getElementType().isInteger(64))
      base = emitToI64(rewriter, loc, base);
    coordinates.setBase(op.getResult(), base);
    Value bases = vector::BroadcastOp::create(rewriter, loc, type, base);
    SmallVector<APInt> values;
    for (int64_t offset : layout.getOffsets(tile.getShape(), op.getDim()))
      values.emplace_back(tile.getElementTypeBitWidth(), offset);
    Value offsets = arith::ConstantOp::create(
        rewriter, loc, DenseElementsAttr::get(type, values));
    rewriter.replaceOpWithNewOp<arith::AddIOp>(op, bases, offsets);
    return success();
  }

private:
  Coordinates &coordinates;
};

/// Emits one conversion and one multiply-add for the thread's first element,
/// then one multiply-add with a constant per element.
struct RampLowering : OpConversionPattern<tile::RampOp> {
  RampLowering(const TypeConverter &converter, MLIRContext *context,
               Coordinates &coordinates)
      : OpConversionPattern(converter, context), coordinates(coordinates) {}

  LogicalResult
  matchAndRewrite(tile::RampOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType tile = op.getResult().getType();
    auto type = cast<VectorType>(getTypeConverter()->convertType(tile));
    auto layout = getLayout(tile);
    Value base = layout.emitBase(rewriter, loc, emitThread(rewriter, loc),
                                 tile.getShape(), op.getDim());
    base = emitOpaqueCopy(rewriter, loc, base, coordinates.bits);
    Value position =
        arith::SIToFPOp::create(rewriter, loc, rewriter.getF32Type(), base);
    Value first = math::FmaOp::create(rewriter, loc, position,
                                      adaptor.getStep(), adaptor.getStart());
    SmallVector<APFloat> values;
    for (int64_t offset : layout.getOffsets(tile.getShape(), op.getDim()))
      values.emplace_back(float(offset));
    Value offsets = arith::ConstantOp::create(
        rewriter, loc, DenseElementsAttr::get(type, values));
    rewriter.replaceOpWithNewOp<math::FmaOp>(
        op, offsets,
        vector::BroadcastOp::create(rewriter, loc, type, adaptor.getStep()),
        vector::BroadcastOp::create(rewriter, loc, type, first));
    return success();
  }

private:
  Coordinates &coordinates;
};

struct BroadcastLowering : OpConversionPattern<tile::BroadcastOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tile::BroadcastOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType result = op.getResult().getType();
    auto type = cast<VectorType>(getTypeConverter()->convertType(result));
    auto source = dyn_cast<RankedTensorType>(op.getSource().getType());
    if (!source) {
      rewriter.replaceOpWithNewOp<vector::BroadcastOp>(op, type,
                                                       adaptor.getSource());
      return success();
    }
    // Each register takes the source's register at the same coordinates.
    SmallVector<int64_t> mask = getBroadcastRegisters(op);
    rewriter.replaceOpWithNewOp<vector::ShuffleOp>(op, adaptor.getSource(),
                                                   adaptor.getSource(), mask);
    return success();
  }
};

struct ReduceLowering : OpConversionPattern<tile::ReduceOp> {
  ReduceLowering(const TypeConverter &converter, MLIRContext *context,
                 Coordinates &coordinates, bool packsFloats,
                 const LoadedMaxima &maxima)
      : OpConversionPattern(converter, context), coordinates(coordinates),
        packsFloats(packsFloats), maxima(maxima) {}

  LogicalResult
  matchAndRewrite(tile::ReduceOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  Coordinates &coordinates;
  bool packsFloats;
  const LoadedMaxima &maxima;
};

/// Lowers a ballot of one flag per lane.
struct BallotLowering : OpConversionPattern<tile::BallotOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tile::BallotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    if (!warp::isReplicatedPerWarp(op.getFlags().getType()))
      return op.emitError("expected one flag per lane, found ")
             << op.getFlags().getType();
    auto flag = vector::ToElementsOp::create(rewriter, loc, adaptor.getFlags());
    rewriter.replaceOpWithNewOp<NVVM::VoteSyncOp>(
        op, rewriter.getI32Type(), emitI32(rewriter, loc, -1),
        flag.getResult(0), NVVM::VoteSyncKind::ballot);
    return success();
  }
};

struct AnyLowering : OpConversionPattern<warp::AnyOp> {
  AnyLowering(const TypeConverter &converter, MLIRContext *context,
              Coordinates &coordinates)
      : OpConversionPattern(converter, context), coordinates(coordinates) {}

  LogicalResult
  matchAndRewrite(warp::AnyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  Coordinates &coordinates;
};
} // namespace

static Value combine(OpBuilder &b, Location loc, tile::ReduceKind kind, Value x,
                     Value y) {
  bool isFloat = isa<FloatType>(x.getType());
  if (kind == tile::ReduceKind::Add)
    return isFloat ? arith::AddFOp::create(b, loc, x, y).getResult()
                   : arith::AddIOp::create(b, loc, x, y).getResult();
  if (kind == tile::ReduceKind::Min)
    return isFloat ? arith::MinimumFOp::create(b, loc, x, y).getResult()
                   : arith::MinSIOp::create(b, loc, x, y).getResult();
  return isFloat ? arith::MaximumFOp::create(b, loc, x, y).getResult()
                 : arith::MaxSIOp::create(b, loc, x, y).getResult();
}

std::pair<Value, Value> fovea::emitShuffleDown(OpBuilder &b, Location loc,
                                               Value value, Value steps,
                                               Value last) {
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {value.getType(), b.getI1Type()});
  Value pair =
      NVVM::ShflOp::create(b, loc, type, emitI32(b, loc, -1), value, steps,
                           last, NVVM::ShflKind::down, b.getUnitAttr());
  return {LLVM::ExtractValueOp::create(b, loc, pair, 0),
          LLVM::ExtractValueOp::create(b, loc, pair, 1)};
}

Value fovea::emitShuffle(OpBuilder &b, Location loc, Value value,
                         NVVM::ShflKind kind, Value lane) {
  Type i32 = b.getI32Type(), type = value.getType();
  auto shuffle = [&](Value word) -> Value {
    return NVVM::ShflOp::create(b, loc, word.getType(), emitI32(b, loc, -1),
                                word, lane, emitI32(b, loc, 31), kind,
                                UnitAttr());
  };
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 32)
    return shuffle(value);
  // Shuffles exchange 32-bit words.
  if (bits < 32) {
    Type integer = b.getIntegerType(bits);
    Value word = LLVM::ZExtOp::create(
        b, loc, i32, LLVM::BitcastOp::create(b, loc, integer, value));
    Value other = LLVM::TruncOp::create(b, loc, integer, shuffle(word));
    return LLVM::BitcastOp::create(b, loc, type, other);
  }
  auto pair = VectorType::get({bits / 32}, i32);
  auto words = vector::ToElementsOp::create(
      b, loc, LLVM::BitcastOp::create(b, loc, pair, value));
  SmallVector<Value> others = llvm::map_to_vector(
      words.getResults(), [&](Value word) { return shuffle(word); });
  Value joined = vector::FromElementsOp::create(b, loc, pair, others);
  return LLVM::BitcastOp::create(b, loc, type, joined);
}

/// Float minima and maxima combine as a balanced tree: short dependence chains.
/// If the target combines three inputs, each node of the tree does, too, and
/// LLVM makes one instruction of it.
/// Sums form one chain in register order. They accompany exponentials, and
/// ptxas then schedules each addition right after its operand instead of all
/// additions at the end. Integer minima and maxima form one chain, from which
/// ptxas makes three-input instructions if the GPU has them.
static Value combineAll(OpBuilder &b, Location loc, tile::ReduceKind kind,
                        SmallVector<Value> values, bool packsFloats) {
  if (kind == tile::ReduceKind::Add || values.front().getType().isInteger()) {
    Value result = values.front();
    for (Value value : ArrayRef(values).drop_front())
      result = combine(b, loc, kind, result, value);
    return result;
  }
  size_t inputs = packsFloats ? 3 : 2;
  while (values.size() > 1) {
    SmallVector<Value> next;
    for (size_t first = 0; first < values.size(); first += inputs) {
      next.push_back(values[first]);
      size_t end = std::min(first + inputs, values.size());
      for (size_t i = first + 1; i < end; ++i)
        next.back() = combine(b, loc, kind, next.back(), values[i]);
    }
    values = next;
  }
  return values.front();
}

/// Sums of two adjacent results at a time, in register order: LLVM makes one
/// instruction of two additions.
static SmallVector<Value> addPairs(OpBuilder &b, Location loc,
                                   ArrayRef<SmallVector<Value>> members) {
  auto type = VectorType::get({2}, b.getF32Type());
  SmallVector<Value> results;
  for (size_t index = 0; index < members.size(); index += 2) {
    Value sum;
    for (auto [x, y] : llvm::zip_equal(members[index], members[index + 1])) {
      Value pair =
          vector::FromElementsOp::create(b, loc, type, ValueRange{x, y});
      sum = sum ? arith::AddFOp::create(b, loc, sum, pair).getResult() : pair;
    }
    auto elements = vector::ToElementsOp::create(b, loc, sum);
    llvm::append_range(results, elements.getResults());
  }
  return results;
}

LogicalResult
ReduceLowering::matchAndRewrite(tile::ReduceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  int64_t dim = op.getDim();
  RankedTensorType source = op.getSource().getType(),
                   result = op.getResult().getType();
  auto layout = getLayout(source);
  int64_t extent = result.getDimSize(dim);
  if (extent != 1 && extent % layout.getPeriod(dim) != 0)
    return op.emitError("a reduction to ")
           << extent << " needs threads to exchange elements; the layout "
           << "supports 1 and multiples of " << layout.getPeriod(dim);
  FailureOr<SmallVector<int64_t>> lanes = SmallVector<int64_t>{};
  if (extent == 1)
    lanes = layout.getReductionLanes(dim);
  if (failed(lanes))
    return op.emitError("a reduction along dimension ")
           << dim << " crosses warps, which this layout does not support";

  auto resultType = cast<VectorType>(getTypeConverter()->convertType(result));
  if (auto loaded = maxima.find(op.getSource());
      loaded != maxima.end() && op.getKind() == tile::ReduceKind::Max &&
      dim == 1 && extent == 1 && lanes->empty()) {
    Value most =
        combineAll(rewriter, loc, op.getKind(), loaded->second, packsFloats);
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, resultType, most);
    return success();
  }
  ElementEmitter emitter(rewriter, loc, coordinates);
  bool isEmitted = ElementEmitter::isEmitted(op.getSource());
  auto getElement = [&](unsigned index) {
    return isEmitted ? emitter.get(op.getSource(), index)
                     : emitter.extract(adaptor.getSource(), index);
  };
  SmallVector<int64_t> along = layout.getOffsets(source.getShape(), dim),
                       across = layout.getOffsets(source.getShape(), 1 - dim);
  // The thread's elements of the result at these coordinates.
  auto getMembers = [&](int64_t toAlong, int64_t toAcross) {
    SmallVector<Value> members;
    for (size_t index = 0; index < along.size(); ++index)
      if (across[index] == toAcross &&
          (extent == 1 || along[index] % extent == toAlong))
        members.push_back(getElement(index));
    return members;
  };
  SmallVector<Value> results;
  auto toAlong = layout.getOffsets(result.getShape(), dim),
       toAcross = layout.getOffsets(result.getShape(), 1 - dim);
  if (packsFloats && op.getKind() == tile::ReduceKind::Add &&
      source.getElementType().isF32() && toAlong.size() % 2 == 0 &&
      lanes->empty()) {
    SmallVector<SmallVector<Value>> members;
    for (auto [first, second] : llvm::zip_equal(toAlong, toAcross))
      members.push_back(getMembers(first, second));
    results = addPairs(rewriter, loc, members);
  } else {
    for (auto [first, second] : llvm::zip_equal(toAlong, toAcross)) {
      Value value = combineAll(rewriter, loc, op.getKind(),
                               getMembers(first, second), packsFloats);
      for (int64_t lane : *lanes) {
        Value other = emitShuffle(rewriter, loc, value, NVVM::ShflKind::bfly,
                                  emitI32(rewriter, loc, lane));
        value = combine(rewriter, loc, op.getKind(), value, other);
      }
      results.push_back(value);
    }
  }
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, resultType, results);
  return success();
}

LogicalResult
AnyLowering::matchAndRewrite(warp::AnyOp op, OpAdaptor adaptor,
                             ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  ElementEmitter emitter(rewriter, loc, coordinates);
  bool isEmitted = ElementEmitter::isEmitted(op.getSource());
  Value any;
  auto type = cast<VectorType>(adaptor.getSource().getType());
  for (int64_t index = 0; index < type.getNumElements(); ++index) {
    Value element = isEmitted ? emitter.get(op.getSource(), index)
                              : emitter.extract(adaptor.getSource(), index);
    any = any ? arith::OrIOp::create(rewriter, loc, any, element).getResult()
              : element;
  }
  rewriter.replaceOpWithNewOp<NVVM::VoteSyncOp>(op, rewriter.getI1Type(),
                                                emitI32(rewriter, loc, -1), any,
                                                NVVM::VoteSyncKind::any);
  return success();
}

void fovea::populateTilePatterns(RewritePatternSet &patterns,
                                 const TypeConverter &converter,
                                 Coordinates &coordinates, bool packsFloats,
                                 const LoadedMaxima &maxima) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ElementwiseLowering>(converter, context);
  patterns.add<BallotLowering, BroadcastLowering, ConstantLowering,
               IsPartialLowering>(converter, context);
  patterns.add<AnyLowering, IotaLowering, RampLowering, SelectLowering>(
      converter, context, coordinates);
  patterns.add<ReduceLowering>(converter, context, coordinates, packsFloats,
                               maxima);
}
