//===- GlobalMemory.cpp - Tiles from and to global memory -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fovea;

// A vector of so many registers is asked once whether all of it exists.
static constexpr size_t kManyRegisters = 8;

namespace {
/// One element's place: address, and whether it may be touched. A null
/// predicate is always true.
struct Place {
  Value address, predicate;
};

/// Emits addresses and predicates of the elements that a thread holds of a box.
class BoxAccess {
public:
  BoxAccess(OpBuilder &b, Location loc, const GlobalView &view,
            ValueRange indices, const tile::BoxDims &dims,
            RankedTensorType tile, Value limit)
      : b(b), loc(loc), view(view), dims(dims), tile(tile) {
    for (Value index : indices)
      start.push_back(emitToI64(b, loc, index));
    bounds = view.sizes;
    if (limit)
      bounds[dims.row] = arith::MinSIOp::create(b, loc, bounds[dims.row],
                                                emitToI64(b, loc, limit));
    prepare();
  }

  /// Where register `index` of the tile lives.
  Place getPlace(unsigned index) {
    const Along &row = lookup(0, offsets[0][index]),
                &column = lookup(1, offsets[1][index]);
    Value distance =
        arith::AddIOp::create(b, loc, row.distance, column.distance);
    Place place;
    place.address =
        LLVM::GEPOp::create(b, loc, view.pointer.getType(), getMemoryType(),
                            origin, ArrayRef<LLVM::GEPArg>{distance});
    place.predicate = both(both(row.inside, column.inside), always);
    return place;
  }

  /// True if two registers are neighbours in memory, aligned to a pair, and
  /// exist together.
  bool isPair(unsigned index) {
    if (index + 1 >= offsets[0].size() || dims.column < 0 ||
        dims.column != view.type.getRank() - 1)
      return false;
    auto [strides, offset] = view.type.getStridesAndOffset();
    int64_t size = view.type.getShape().back();
    return strides.back() == 1 && size % 2 == 0 && offsets[1][index] % 2 == 0 &&
           isEvenStart() && offsets[0][index] == offsets[0][index + 1] &&
           offsets[1][index] + 1 == offsets[1][index + 1];
  }

  /// True if chunks of 8 columns, from the tile's first, exist as a whole and
  /// lie side by side in memory.
  bool hasWholeChunks() {
    if (dims.column < 0 || dims.column != view.type.getRank() - 1)
      return false;
    auto [strides, offset] = view.type.getStridesAndOffset();
    APInt first;
    return strides.back() == 1 && isAlwaysInside(1) &&
           matchPattern(start[dims.column], m_ConstantInt(&first)) &&
           first.getZExtValue() % 8 == 0;
  }

  /// True if the tile is a vector of many registers: all run along one
  /// dimension of memory, and to ask once about all of them is worth it.
  bool isVector() {
    return (dims.row == -1) != (dims.column == -1) && !dims.isFolded() &&
           offsets[0].size() >= kManyRegisters;
  }

  /// Of a vector: all elements exist and lie side by side, and pairs of
  /// registers are aligned. A lane's opinion becomes the warp's.
  Value emitIsPlain();

  /// The registers of a plain vector, pairs by one instruction.
  SmallVector<Value> emitPlainLoads();

  /// Offsets of the registers along a dimension of the tile.
  ArrayRef<int64_t> getOffsets(int64_t t) { return offsets[t]; }

  /// i1 lives in bytes.
  Type getMemoryType() {
    Type element = view.type.getElementType();
    return element.isInteger(1) ? b.getI8Type() : element;
  }

private:
  /// A coordinate along one dimension of the tile.
  struct Along {
    Value distance; // in elements, i64
    Value inside;   // null: always
  };

  Value both(Value x, Value y) {
    if (!x || !y)
      return x ? x : y;
    return arith::AndIOp::create(b, loc, x, y);
  }

  /// Along which dimension of the tile a vector runs.
  int64_t getDirection() const { return dims.row == -1 ? 1 : 0; }

  /// Whether a register of a vector and the next one are two neighbours.
  bool startsPair(size_t index) {
    ArrayRef<int64_t> along = offsets[getDirection()];
    return index + 1 < along.size() && along[index] % 2 == 0 &&
           along[index] + 1 == along[index + 1];
  }

  /// Where the thread's first element of a plain vector lies.
  Value emitFirstAddress() {
    int64_t t = getDirection();
    Value first = arith::AddIOp::create(
        b, loc, start[t == 0 ? dims.row : dims.column], base[t]);
    return LLVM::GEPOp::create(b, loc, view.pointer.getType(), getMemoryType(),
                               origin, ArrayRef<LLVM::GEPArg>{first});
  }

  bool isEvenStart() {
    APInt value;
    return matchPattern(start[dims.column], m_ConstantInt(&value)) && !value[0];
  }

  void prepare() {
    auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
    Value thread = emitThread(b, loc);
    // Dimensions that the tile does not run along: one fixed coordinate.
    Value distance = emitI64(b, loc, 0);
    for (int64_t dim = 0; dim < view.type.getRank(); ++dim) {
      if (dims.contains(dim))
        continue;
      distance = arith::AddIOp::create(
          b, loc, distance,
          arith::MulIOp::create(b, loc, start[dim], view.strides[dim]));
      always = both(always, isInside(dim, start[dim]));
    }
    origin =
        LLVM::GEPOp::create(b, loc, view.pointer.getType(), getMemoryType(),
                            view.pointer, ArrayRef<LLVM::GEPArg>{distance});
    for (int64_t t : {0, 1}) {
      offsets[t] = layout.getOffsets(tile.getShape(), t);
      base[t] = emitToI64(b, loc,
                          layout.emitBase(b, loc, thread, tile.getShape(), t));
    }
  }

  /// 0 <= coordinate < bound, as one unsigned comparison.
  Value isInside(int64_t dim, Value coordinate) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, coordinate,
                                 bounds[dim]);
  }

  const Along &lookup(int64_t t, int64_t offset) {
    auto [entry, isNew] = cache[t].try_emplace(offset);
    if (!isNew)
      return entry->second;
    int64_t dim = t == 0 ? dims.row : dims.column;
    if (dim == -1) {
      entry->second.distance = emitI64(b, loc, 0);
      return entry->second;
    }
    if (t == 0 && dims.isFolded())
      return entry->second = getFoldedRow(offset);
    Value first = arith::AddIOp::create(b, loc, start[dim], base[t]);
    Value coordinate =
        arith::AddIOp::create(b, loc, first, emitI64(b, loc, offset));
    entry->second.distance =
        arith::MulIOp::create(b, loc, coordinate, view.strides[dim]);
    if (!isAlwaysInside(t))
      entry->second.inside = isInside(dim, coordinate);
    return entry->second;
  }

  /// A row that has a coordinate along two dimensions.
  Along getFoldedRow(int64_t offset) {
    Value row = arith::AddIOp::create(b, loc, base[0], emitI64(b, loc, offset));
    Value extent = emitI64(b, loc, dims.foldExtent);
    Along place = {emitI64(b, loc, 0), {}};
    for (auto [dim, distance] :
         {std::pair(dims.row,
                    arith::DivUIOp::create(b, loc, row, extent).getResult()),
          {dims.fold,
           arith::RemUIOp::create(b, loc, row, extent).getResult()}}) {
      Value coordinate = arith::AddIOp::create(b, loc, start[dim], distance);
      place.distance = arith::AddIOp::create(
          b, loc, place.distance,
          arith::MulIOp::create(b, loc, coordinate, view.strides[dim]));
      place.inside = both(place.inside, isInside(dim, coordinate));
    }
    return place;
  }

  /// Constant start, static bound, and the whole tile inside.
  bool isAlwaysInside(int64_t t) {
    APInt first, bound;
    int64_t dim = t == 0 ? dims.row : dims.column;
    return matchPattern(start[dim], m_ConstantInt(&first)) &&
           matchPattern(bounds[dim], m_ConstantInt(&bound)) &&
           first.getSExtValue() >= 0 &&
           first.getSExtValue() + tile.getDimSize(t) <= bound.getSExtValue();
  }

  OpBuilder &b;
  Location loc;
  const GlobalView &view;
  tile::BoxDims dims;
  RankedTensorType tile;
  SmallVector<Value> start, bounds;
  Value origin, always;
  SmallVector<int64_t> offsets[2];
  Value base[2];
  std::map<int64_t, Along> cache[2];
};
} // namespace

Value BoxAccess::emitIsPlain() {
  int64_t t = getDirection(), dim = t == 0 ? dims.row : dims.column;
  Value end = arith::AddIOp::create(b, loc, start[dim],
                                    emitI64(b, loc, tile.getDimSize(t)));
  Value plain = arith::AndIOp::create(
      b, loc,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, start[dim],
                            emitI64(b, loc, 0)),
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, end,
                            bounds[dim]));
  plain = both(plain, always);
  auto [strides, offset] = view.type.getStridesAndOffset();
  if (strides[dim] != 1)
    plain = both(plain,
                 arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                       view.strides[dim], emitI64(b, loc, 1)));
  if (llvm::any_of(llvm::seq(offsets[t].size()),
                   [&](size_t index) { return startsPair(index); })) {
    int64_t bytes = getMemoryType().getIntOrFloatBitWidth() / 8;
    Value address =
        LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), emitFirstAddress());
    Value odd = arith::AndIOp::create(b, loc, emitToI32(b, loc, address),
                                      emitI32(b, loc, 2 * bytes - 1));
    plain = both(plain, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                              odd, emitI32(b, loc, 0)));
  }
  return NVVM::VoteSyncOp::create(b, loc, b.getI1Type(), emitI32(b, loc, -1),
                                  plain, NVVM::VoteSyncKind::all);
}

SmallVector<Value> BoxAccess::emitPlainLoads() {
  ArrayRef<int64_t> along = offsets[getDirection()];
  Type type = getMemoryType();
  auto pairType = VectorType::get({2}, type);
  int64_t bytes = type.getIntOrFloatBitWidth() / 8;
  Value first = emitFirstAddress();
  SmallVector<Value> values;
  while (values.size() < along.size()) {
    size_t index = values.size();
    Value address =
        LLVM::GEPOp::create(b, loc, first.getType(), type, first,
                            ArrayRef<LLVM::GEPArg>{int32_t(along[index])});
    if (!startsPair(index)) {
      values.push_back(LLVM::LoadOp::create(b, loc, type, address, bytes));
      continue;
    }
    Value pair = LLVM::LoadOp::create(b, loc, pairType, address, 2 * bytes);
    for (int64_t part : {0, 1})
      values.push_back(vector::ExtractOp::create(b, loc, pair, part));
  }
  return values;
}

/// PTX of a load or store of `bits`, under a predicate.
static Value emitLoad(OpBuilder &b, Location loc, Place place, Type type) {
  if (!place.predicate)
    return LLVM::LoadOp::create(b, loc, type, place.address);
  // A predicated instruction touches nothing where the predicate is false, and
  // leaves no branch behind.
  unsigned bits = type.getIntOrFloatBitWidth();
  bool isWide = bits == 64, isByte = bits == 8;
  Type asmType = isWide       ? b.getI64Type()
                 : bits == 32 ? b.getI32Type()
                              : b.getI16Type();
  std::string width = isByte ? "u8" : "b" + std::to_string(bits);
  std::string reg = isWide ? "b64" : bits == 32 ? "b32" : "b16";
  std::string text = "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, $2, 0;\n\tmov." +
                     reg + " $0, 0;\n\t@p ld.global." + width +
                     " $0, [$1];\n\t}";
  std::string constraint = isWide ? "=l,l,r" : bits == 32 ? "=r,l,r" : "=h,l,r";
  Value flag = arith::ExtUIOp::create(b, loc, b.getI32Type(), place.predicate);
  Value raw = LLVM::InlineAsmOp::create(
                  b, loc, TypeRange{asmType}, ValueRange{place.address, flag},
                  text, constraint, /*has_side_effects=*/false,
                  /*is_align_stack=*/false, LLVM::TailCallKind::None,
                  /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr)
                  .getResult(0);
  if (isByte)
    return LLVM::TruncOp::create(b, loc, type, raw);
  return LLVM::BitcastOp::create(b, loc, type, raw);
}

static void emitStore(OpBuilder &b, Location loc, Place place, Value value) {
  if (!place.predicate) {
    LLVM::StoreOp::create(b, loc, value, place.address);
    return;
  }
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  Value raw = LLVM::BitcastOp::create(b, loc, b.getIntegerType(bits), value);
  bool isByte = bits == 8;
  if (isByte)
    raw = LLVM::ZExtOp::create(b, loc, b.getI16Type(), raw);
  std::string width = isByte ? "u8" : "b" + std::to_string(bits);
  std::string text = "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, $2, 0;\n\t@p "
                     "st.global." +
                     width + " [$0], $1;\n\t}";
  std::string constraint = bits == 64   ? "l,l,r"
                           : bits == 32 ? "l,r,r"
                                        : "l,h,r";
  Value flag = arith::ExtUIOp::create(b, loc, b.getI32Type(), place.predicate);
  LLVM::InlineAsmOp::create(b, loc, TypeRange{},
                            ValueRange{place.address, raw, flag}, text,
                            constraint, /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            /*asm_dialect=*/nullptr, /*operand_attrs=*/nullptr);
}

static Value fromMemory(OpBuilder &b, Location loc, Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                               arith::ConstantIntOp::create(b, loc, 0, 8));
}

/// Transposes a 4x4 block of words that four neighbouring lanes hold, one row
/// of it each: lane `l` gets word `l` of all four.
static SmallVector<Value> transposeAmongLanes(OpBuilder &b, Location loc,
                                              SmallVector<Value> words,
                                              Value lane) {
  Type i32 = b.getI32Type();
  for (int64_t distance : {1, 2}) {
    Value bit = arith::AndIOp::create(b, loc, lane, emitI32(b, loc, distance));
    Value isOdd = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, bit,
                                        emitI32(b, loc, 0));
    // Odd lanes give the word that even ones keep, and the other way round.
    for (int64_t low = 0; low < 4; ++low) {
      if (low & distance)
        continue;
      Value &even = words[low], &odd = words[low | distance];
      Value given = arith::SelectOp::create(b, loc, isOdd, even, odd);
      Value got = NVVM::ShflOp::create(
          b, loc, i32, emitI32(b, loc, -1), given, emitI32(b, loc, distance),
          emitI32(b, loc, 31), NVVM::ShflKind::bfly, UnitAttr());
      Value newEven = arith::SelectOp::create(b, loc, isOdd, got, even);
      Value newOdd = arith::SelectOp::create(b, loc, isOdd, odd, got);
      even = newEven, odd = newOdd;
    }
  }
  return words;
}

/// Four words to 16-byte aligned memory, `bytes` past the place.
static void emitWideStore(OpBuilder &b, Location loc, Place place,
                          int64_t bytes, ArrayRef<Value> words) {
  SmallVector<Value> operands = {place.address};
  llvm::append_range(operands, words);
  std::string text =
      "st.global.v4.b32 [$0+" + std::to_string(bytes) + "], {$1, $2, $3, $4};";
  std::string constraints = "l,r,r,r,r";
  if (place.predicate) {
    text = "@$5 " + text;
    constraints += ",b";
    operands.push_back(place.predicate);
  }
  emitAsm(b, loc, text, constraints + ",~{memory}", operands);
}

namespace {
struct LoadLowering : OpConversionPattern<tile::LoadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tile::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    FailureOr<GlobalView> view = getGlobalView(rewriter, loc, op.getSource());
    if (failed(view))
      return failure();
    RankedTensorType tile = op.getResult().getType();
    auto type = cast<VectorType>(getTypeConverter()->convertType(tile));
    BoxAccess access(rewriter, loc, *view, op.getIndices(), op.getBoxDims(),
                     tile, op.getLimit());
    auto combine = [&](ArrayRef<Value> elements) -> Value {
      return vector::FromElementsOp::create(
          rewriter, loc, type,
          llvm::map_to_vector(elements, [&](Value element) {
            return fromMemory(rewriter, loc, element, tile.getElementType());
          }));
    };
    auto loadEach = [&]() {
      SmallVector<Value> elements;
      for (int64_t index = 0; index < type.getNumElements(); ++index)
        elements.push_back(emitLoad(rewriter, loc, access.getPlace(index),
                                    access.getMemoryType()));
      return combine(elements);
    };
    if (!access.isVector()) {
      rewriter.replaceOp(op, loadEach());
      return success();
    }
    // Only a block at the end of a sequence is not plain, and a vector with
    // strides.
    auto branch =
        scf::IfOp::create(rewriter, loc, TypeRange(type), access.emitIsPlain(),
                          /*addThenBlock=*/true, /*addElseBlock=*/true);
    rewriter.setInsertionPointToEnd(branch.thenBlock());
    scf::YieldOp::create(rewriter, loc, combine(access.emitPlainLoads()));
    rewriter.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(rewriter, loc, loadEach());
    rewriter.replaceOp(op, branch.getResults());
    return success();
  }
};

struct StoreLowering : OpConversionPattern<tile::StoreOp> {
  StoreLowering(const TypeConverter &converter, MLIRContext *context,
                tile::AbiOp abi)
      : OpConversionPattern(converter, context), abi(abi) {}

  LogicalResult
  matchAndRewrite(tile::StoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    FailureOr<GlobalView> view = getGlobalView(rewriter, loc, op.getTarget());
    if (failed(view))
      return failure();
    RankedTensorType tile = op.getValue().getType();
    BoxAccess access(rewriter, loc, *view, op.getIndices(), op.getBoxDims(),
                     tile, op.getLimit());
    if (canExchange(tile, *view, access)) {
      storeExchanged(rewriter, loc, adaptor.getValue(), access);
      rewriter.eraseOp(op);
      return success();
    }
    auto elements =
        vector::ToElementsOp::create(rewriter, loc, adaptor.getValue());
    Type element = tile.getElementType();
    int64_t count = elements->getNumResults();
    for (int64_t index = 0; index < count; ++index) {
      Value value = elements.getResult(index);
      if (element.isInteger(1))
        value =
            arith::ExtUIOp::create(rewriter, loc, rewriter.getI8Type(), value);
      unsigned bits = value.getType().getIntOrFloatBitWidth();
      Place place = access.getPlace(index);
      if (bits == 16 && access.isPair(index)) {
        auto pairType = VectorType::get({2}, element);
        Value pair = vector::FromElementsOp::create(
            rewriter, loc, pairType,
            ValueRange{value, elements.getResult(index + 1)});
        value =
            LLVM::BitcastOp::create(rewriter, loc, rewriter.getI32Type(), pair);
        ++index;
      }
      emitStore(rewriter, loc, place, value);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  bool canExchange(RankedTensorType tile, const GlobalView &view,
                   BoxAccess &access) const;
  static void storeExchanged(OpBuilder &b, Location loc, Value tile,
                             BoxAccess &access);

  tile::AbiOp abi;
};

struct GatherLowering : OpConversionPattern<tile::GatherOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tile::GatherOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};

/// A single element, the same for the whole CTA: as a tile of one.
struct ScalarLoadLowering : OpConversionPattern<memref::LoadOp> {
  ScalarLoadLowering(const TypeConverter &converter, MLIRContext *context,
                     const Specialization &roles)
      : OpConversionPattern(converter, context), roles(roles) {}

  LogicalResult
  matchAndRewrite(memref::LoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    FailureOr<GlobalView> view = getGlobalView(rewriter, loc, op.getMemref());
    if (failed(view))
      return failure();
    Type element = view->type.getElementType();
    Type memory = element.isInteger(1) ? rewriter.getI8Type() : element;
    Value distance = emitI64(rewriter, loc, 0), inside;
    for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
      Value wide = emitToI64(rewriter, loc, index);
      distance = arith::AddIOp::create(
          rewriter, loc, distance,
          arith::MulIOp::create(rewriter, loc, wide, view->strides[dim]));
      Value isInside = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::ult, wide, view->sizes[dim]);
      inside = inside ? arith::AndIOp::create(rewriter, loc, inside, isInside)
                            .getResult()
                      : isInside;
    }
    Value address =
        LLVM::GEPOp::create(rewriter, loc, view->pointer.getType(), memory,
                            view->pointer, ArrayRef<LLVM::GEPArg>{distance});
    Value value = emitLoad(rewriter, loc, {address, inside}, memory);
    // Lengths and offsets bound loops: warps must be seen to go through those
    // as one.
    if (roles.getRole(op) && element.isInteger(32))
      value = emitUniform(rewriter, loc, value);
    rewriter.replaceOp(op, fromMemory(rewriter, loc, value, element));
    return success();
  }

  const Specialization &roles;
};

struct DimLowering : OpConversionPattern<memref::DimOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(memref::DimOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FailureOr<GlobalView> view =
        getGlobalView(rewriter, op.getLoc(), op.getSource());
    std::optional<int64_t> dim = op.getConstantIndex();
    if (failed(view))
      return failure();
    if (!dim || *dim < 0 || *dim >= int64_t(view->sizes.size()))
      return op.emitError("dimension must be a constant from 0 to ")
             << int64_t(view->sizes.size()) - 1;
    rewriter.replaceOpWithNewOp<arith::IndexCastOp>(op, rewriter.getIndexType(),
                                                    view->sizes[*dim]);
    return success();
  }
};
} // namespace

/// Bytes that the start of each row of memory is a multiple of, by the ABI.
static int64_t getAlignment(tile::AbiOp abi, const GlobalView &view) {
  auto argument = dyn_cast<BlockArgument>(view.pointer);
  if (!argument || argument.getArgNumber() >= abi.getParameters().size())
    return 1;
  auto pointer = dyn_cast<tile::PointerParameterAttr>(
      abi.getParameters()[argument.getArgNumber()]);
  tile::TensorAttr tensor =
      pointer ? tile::lookupTensor(abi.getTensors(), pointer.getTensor())
              : tile::TensorAttr();
  return tensor ? tensor.getAlignment() : 1;
}

/// Kernels that store between tiles of work do so in few instructions, 16 bytes
/// each, after the four lanes that share rows exchanged their words.
bool StoreLowering::canExchange(RankedTensorType tile, const GlobalView &view,
                                BoxAccess &access) const {
  constexpr int64_t kWideBytes = 16, kQuadColumns = 32;
  tile::AbiOp kernel = abi;
  return isa<warp::WgmmaAttr>(tile.getEncoding()) &&
         tile.getElementTypeBitWidth() == 16 &&
         tile.getDimSize(1) % kQuadColumns == 0 && access.hasWholeChunks() &&
         getAlignment(kernel, view) % kWideBytes == 0;
}

void StoreLowering::storeExchanged(OpBuilder &b, Location loc, Value tile,
                                   BoxAccess &access) {
  auto type = cast<VectorType>(tile.getType());
  auto wordType = VectorType::get({type.getNumElements() / 2}, b.getI32Type());
  auto words = vector::ToElementsOp::create(
      b, loc, LLVM::BitcastOp::create(b, loc, wordType, tile));
  // A row's words, in the order of their columns: one for every 8.
  llvm::MapVector<int64_t, SmallVector<unsigned>> rows;
  for (unsigned index = 0; index < type.getNumElements(); index += 2)
    rows[access.getOffsets(0)[index]].push_back(index);
  Value lane =
      arith::RemUIOp::create(b, loc, emitThread(b, loc), emitI32(b, loc, 4));
  // Two columns of each chunk were the lane's; now every fourth chunk is.
  Value distance = emitToI64(
      b, loc,
      arith::MulIOp::create(b, loc, lane, emitI32(b, loc, 6)).getResult());
  for (auto &[row, indices] : rows) {
    Place place = access.getPlace(indices.front());
    place.address = LLVM::GEPOp::create(b, loc, place.address.getType(),
                                        access.getMemoryType(), place.address,
                                        ArrayRef<LLVM::GEPArg>{distance});
    for (size_t quad = 0; quad < indices.size(); quad += 4) {
      SmallVector<Value> block;
      for (unsigned index : ArrayRef(indices).slice(quad, 4))
        block.push_back(words.getResult(index / 2));
      emitWideStore(b, loc, place, quad * 16,
                    transposeAmongLanes(b, loc, block, lane));
    }
  }
}

LogicalResult
GatherLowering::matchAndRewrite(tile::GatherOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  FailureOr<GlobalView> view = getGlobalView(rewriter, loc, op.getSource());
  if (failed(view))
    return failure();
  RankedTensorType tile = op.getResult().getType();
  auto type = cast<VectorType>(getTypeConverter()->convertType(tile));
  Type element = tile.getElementType();
  Type memory = element.isInteger(1) ? rewriter.getI8Type() : element;
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  SmallVector<int64_t> rows = layout.getOffsets(tile.getShape(), 0),
                       columns = layout.getOffsets(tile.getShape(), 1);

  // The register of an operand, a tile that broadcasts to the result, that
  // goes with the result's register `index`.
  auto select = [&](Value original, Value converted, unsigned index) -> Value {
    auto operand = dyn_cast<RankedTensorType>(original.getType());
    if (!operand)
      return converted;
    SmallVector<int64_t> operandRows = layout.getOffsets(operand.getShape(), 0),
                         operandColumns =
                             layout.getOffsets(operand.getShape(), 1);
    int64_t row = operand.getDimSize(0) == 1 ? 0 : rows[index],
            column = operand.getDimSize(1) == 1 ? 0 : columns[index];
    for (auto [position, pair] :
         llvm::enumerate(llvm::zip(operandRows, operandColumns)))
      if (std::get<0>(pair) == row && std::get<1>(pair) == column)
        return vector::ExtractOp::create(rewriter, loc, converted,
                                         int64_t(position));
    llvm_unreachable("operand broadcasts to the result");
  };

  SmallVector<Value> elements;
  for (int64_t index = 0; index < type.getNumElements(); ++index) {
    Value inside;
    if (op.getMask())
      inside = select(op.getMask(), adaptor.getMask(), index);
    Value distance = emitI64(rewriter, loc, 0);
    for (auto [dim, original] : llvm::enumerate(op.getIndices())) {
      Value coordinate = emitToI64(
          rewriter, loc, select(original, adaptor.getIndices()[dim], index));
      Value isInside =
          arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                                coordinate, view->sizes[dim]);
      inside = inside ? arith::AndIOp::create(rewriter, loc, inside, isInside)
                            .getResult()
                      : isInside;
      distance = arith::AddIOp::create(
          rewriter, loc, distance,
          arith::MulIOp::create(rewriter, loc, coordinate, view->strides[dim]));
    }
    Value address =
        LLVM::GEPOp::create(rewriter, loc, view->pointer.getType(), memory,
                            view->pointer, ArrayRef<LLVM::GEPArg>{distance});
    Value value = emitLoad(rewriter, loc, {address, inside}, memory);
    elements.push_back(fromMemory(rewriter, loc, value, element));
  }
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
  return success();
}

void fovea::populateGlobalMemoryPatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         tile::AbiOp abi,
                                         const Specialization &roles) {
  patterns.add<DimLowering, GatherLowering, LoadLowering>(
      converter, patterns.getContext());
  patterns.add<ScalarLoadLowering>(converter, patterns.getContext(), roles);
  patterns.add<StoreLowering>(converter, patterns.getContext(), abi);
}
