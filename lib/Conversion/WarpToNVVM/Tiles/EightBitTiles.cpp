//===- EightBitTiles.cpp - Tiles of 8-bit floats ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers conversions of 8-bit floats from and to f32, and the transposition of
// 8-bit tiles through registers from one shared buffer to another.
// LLVM has no 8-bit floats, so registers hold the encodings as i8.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "fovea/Support/Target.h"
#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace fovea;

// Rows and bytes of a block of `#warp.row_pairs`; rows of a matrix of ldmatrix.
static constexpr int64_t kBlock = 16, kMatrixRows = 8;
// Columns that one instruction moves: four matrices are two blocks.
static constexpr int64_t kColumns = 2 * kBlock;

static Value divide(OpBuilder &b, Location loc, Value value, int64_t by) {
  return arith::DivUIOp::create(b, loc, value, emitI32(b, loc, by));
}
static Value rest(OpBuilder &b, Location loc, Value value, int64_t by) {
  return arith::RemUIOp::create(b, loc, value, emitI32(b, loc, by));
}
static Value times(OpBuilder &b, Location loc, Value value, int64_t by) {
  return arith::MulIOp::create(b, loc, value, emitI32(b, loc, by));
}
static Value add(OpBuilder &b, Location loc, Value left, Value right) {
  return arith::AddIOp::create(b, loc, left, right);
}
static Value emitAddress(OpBuilder &b, Location loc, Value pointer) {
  return LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), pointer);
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// True for an 8-bit float and for tiles of such.
static bool isEightBits(Type type) {
  if (auto tile = dyn_cast<RankedTensorType>(type))
    type = tile.getElementType();
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

/// The target has the instructions of both conversions.
static bool convertsEightBits(launch::AbiOp abi) {
  constexpr int64_t kLeastVersion = 81; // PTX ISA 8.1
  const TargetInfo *target = lookupTarget(abi.getTarget());
  StringRef version = target ? target->ptxFeature : "";
  int64_t number = 0;
  return version.consume_front("+ptx") &&
         version.getAsInteger(10, number) == 0 && number >= kLeastVersion;
}

/// True for tiles from f32 to f8E4M3FN, and from f8E4M3FN or f8E5M2 to f16 or
/// f32.
static bool isSupportedConversion(Operation *op) {
  if (!isa<RankedTensorType>(op->getResult(0).getType()))
    return false;
  Type from = getElementTypeOrSelf(op->getOperand(0)),
       to = getElementTypeOrSelf(op->getResult(0));
  if (isa<arith::TruncFOp>(op))
    return from.isF32() && isa<Float8E4M3FNType>(to);
  return isa<Float8E4M3FNType, Float8E5M2Type>(from) &&
         (to.isF16() || to.isF32());
}

/// Ops that only move values, which may be encodings.
static bool movesValues(Operation *op) {
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op))
    return isa<RankedTensorType>(broadcast.getSource().getType());
  return isa<tile::LoadOp, tile::StoreOp, tile::GatherOp, tile::ScatterOp,
             tile::IfAnyOp, tile::YieldOp, arith::ConstantOp, arith::SelectOp,
             arith::BitcastOp>(op) ||
         isa<warp::WarpDialect, scf::SCFDialect>(op->getDialect());
}

LogicalResult fovea::checkEightBitFloats(gpu::GPUFuncOp kernel,
                                         launch::AbiOp abi) {
  WalkResult walk = kernel.walk([&](Operation *op) -> WalkResult {
    if (op == kernel || movesValues(op) ||
        (llvm::none_of(op->getOperandTypes(), isEightBits) &&
         llvm::none_of(op->getResultTypes(), isEightBits)))
      return WalkResult::advance();
    if (!isa<arith::TruncFOp, arith::ExtFOp>(op))
      return op->emitOpError("is not supported on 8-bit floats: expected f32 "
                             "('arith.extf')");
    if (isSupportedConversion(op) && convertsEightBits(abi))
      return WalkResult::advance();
    return op->emitOpError(
               "converts 8-bit floats: expected f32 to f8E4M3FN, or "
               "f8E4M3FN or f8E5M2 to f16 or f32, on a target with PTX "
               "ISA 8.1, found ")
           << op->getOperand(0).getType() << " to "
           << op->getResult(0).getType() << " on '" << abi.getTarget() << "'";
  });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// Calls an intrinsic of the target without side effects.
static Value callIntrinsic(OpBuilder &b, Location loc, StringRef name,
                           Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(name),
                                       operands)
      .getResult(0);
}

/// Values that round to more than the largest finite value of f8E4M3FN become
/// NaN, as the type has no infinity; the instruction would saturate.
static Value emitOverflowToNaN(OpBuilder &b, Location loc, Value values) {
  // Halfway between 448 and the next power's first value; ties are even.
  constexpr double kLargestRounded = 464;
  auto type = cast<VectorType>(values.getType());
  auto splat = [&](double value) -> Value {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, b.getF32FloatAttr(value)));
  };
  Value fits = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE,
                                     math::AbsFOp::create(b, loc, values),
                                     splat(kLargestRounded));
  return arith::SelectOp::create(
      b, loc, fits, values, splat(std::numeric_limits<double>::quiet_NaN()));
}

/// True if the values are known not to overflow: the instruction's saturation
/// then needs no correction.
static bool isFinite(arith::TruncFOp op) {
  std::optional<arith::FastMathFlags> flags = op.getFastmath();
  return flags && arith::bitEnumContainsAny(*flags, arith::FastMathFlags::ninf);
}

namespace {
/// Rounds f32 to f8E4M3FN, two elements at a time.
struct RoundToEightBits : OpConversionPattern<arith::TruncFOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::TruncFOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto tile = dyn_cast<RankedTensorType>(op.getType());
    if (!tile || !isEightBits(tile))
      return failure();
    auto source = cast<VectorType>(adaptor.getIn().getType());
    Location loc = op.getLoc();
    Value values = adaptor.getIn();
    if (!isFinite(op))
      values = emitOverflowToNaN(rewriter, loc, values);
    auto elements = vector::ToElementsOp::create(rewriter, loc, values);
    SmallVector<Value> all(elements.getResults()), pairs;
    if (all.size() % 2 != 0)
      all.push_back(all.back());
    for (size_t index = 0; index < all.size(); index += 2)
      pairs.push_back(callIntrinsic(rewriter, loc, "llvm.nvvm.ff.to.e4m3x2.rn",
                                    rewriter.getI16Type(),
                                    {all[index + 1], all[index]}));
    rewriter.replaceOp(op, join(rewriter, loc, pairs, source));
    return success();
  }

private:
  /// Vectors of 16-bit pairs as one of bytes, as many as `source` has elements.
  static Value join(OpBuilder &b, Location loc, ArrayRef<Value> pairs,
                    VectorType source) {
    int64_t count = pairs.size();
    auto packed = VectorType::get({count}, b.getI16Type());
    Value bytes = LLVM::BitcastOp::create(
        b, loc, VectorType::get({2 * count}, b.getI8Type()),
        vector::FromElementsOp::create(b, loc, packed, pairs));
    if (source.getNumElements() == 2 * count)
      return bytes;
    return vector::ExtractStridedSliceOp::create(
        b, loc, bytes, ArrayRef<int64_t>{0}, source.getShape(),
        ArrayRef<int64_t>{1});
  }
};

/// Extends 8-bit floats to f32, two elements at a time, exactly through f16.
struct ExtendEightBits : OpConversionPattern<arith::ExtFOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::ExtFOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto tile = dyn_cast<RankedTensorType>(op.getIn().getType());
    if (!tile || !isEightBits(tile))
      return failure();
    bool isE4M3 = isa<Float8E4M3FNType>(tile.getElementType());
    auto source = cast<VectorType>(adaptor.getIn().getType());
    int64_t count = source.getNumElements();
    Type type = getTypeConverter()->convertType(op.getType());
    Location loc = op.getLoc();
    auto pairType = VectorType::get({2}, rewriter.getF16Type());
    SmallVector<Value> halves;
    for (Value pair : split(rewriter, loc, adaptor.getIn())) {
      Value extended = callIntrinsic(rewriter, loc,
                                     isE4M3 ? "llvm.nvvm.e4m3x2.to.f16x2.rn"
                                            : "llvm.nvvm.e5m2x2.to.f16x2.rn",
                                     pairType, {pair});
      llvm::append_range(
          halves,
          vector::ToElementsOp::create(rewriter, loc, extended).getResults());
    }
    halves.truncate(count);
    Value half = vector::FromElementsOp::create(
        rewriter, loc, VectorType::get({count}, rewriter.getF16Type()), halves);
    if (half.getType() != type)
      half = arith::ExtFOp::create(rewriter, loc, type, half);
    rewriter.replaceOp(op, half);
    return success();
  }

private:
  /// The bytes of a vector in pairs; the last one of an odd number is repeated.
  static SmallVector<Value> split(OpBuilder &b, Location loc, Value vector) {
    auto elements = vector::ToElementsOp::create(b, loc, vector);
    SmallVector<Value> bytes(elements.getResults());
    if (bytes.size() % 2 != 0)
      bytes.push_back(bytes.back());
    int64_t count = bytes.size();
    Value even = vector::FromElementsOp::create(
        b, loc, VectorType::get({count}, b.getI8Type()), bytes);
    auto pairs = vector::ToElementsOp::create(
        b, loc,
        LLVM::BitcastOp::create(
            b, loc, VectorType::get({count / 2}, b.getI16Type()), even));
    return SmallVector<Value>(pairs.getResults());
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Transposed loads
//===----------------------------------------------------------------------===//

namespace {
/// Loads blocks of 16 rows by 32 columns of the transposed tile. The buffer's
/// rows are the tile's columns.
///
/// A matrix of ldmatrix has 8 rows of the buffer, and `.trans` gives a lane a
/// 16-bit unit of two adjacent rows of them: two rows of the tile, in two of
/// its columns. If matrices `2 c` and `2 c + 1` have rows 0, 1, 4, 5, ... and
/// 2, 3, 6, 7, ... of block `c`, a lane has four adjacent columns. If they have
/// rows 0 to 7 and 8 to 15, it has a pair of adjacent columns of each half.
class TransposedLoader {
public:
  /// With `pairs`, a lane holds pairs of columns of two blocks of 8.
  TransposedLoader(OpBuilder &b, Location loc, Value buffer, MemRefType type,
                   bool pairs);

  /// Loads the columns from `column` on of the tile's block `block`, i32.
  /// Returns a word for each column block of 16 and row.
  SmallVector<Value, 4> load(Value block, int64_t column);
  /// The same with a word for each column block of 8, which has both rows.
  SmallVector<Value, 4> loadPairs(Value block, int64_t column);

private:
  Value loadMatrices(Value block, int64_t column);
  Value emitPermuted(Value low, Value high, StringRef selector);

  OpBuilder &b;
  Location loc;
  int64_t rowBytes, panelBytes;
  Value base, row;
};

struct TransposedLoadLowering : OpConversionPattern<warp::LocalLoadOp> {
  TransposedLoadLowering(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/2) {}

  LogicalResult
  matchAndRewrite(warp::LocalLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};
} // namespace

TransposedLoader::TransposedLoader(OpBuilder &b, Location loc, Value buffer,
                                   MemRefType type, bool pairs)
    : b(b), loc(loc), rowBytes(warp::getRowBytes(type)),
      panelBytes(warp::getRowsOfCta(type) * rowBytes) {
  base = emitAddress(b, loc, buffer);
  Value lane = rest(b, loc, emitThread(b, loc), kLanes);
  Value matrix = divide(b, loc, lane, kMatrixRows),
        inMatrix = rest(b, loc, lane, kMatrixRows);
  row = times(b, loc, divide(b, loc, matrix, 2), kBlock);
  if (pairs) {
    row = add(b, loc, row, times(b, loc, rest(b, loc, matrix, 2), kMatrixRows));
    row = add(b, loc, row, inMatrix);
    return;
  }
  row = add(b, loc, row, times(b, loc, divide(b, loc, inMatrix, 2), 4));
  row = add(b, loc, row, times(b, loc, rest(b, loc, matrix, 2), 2));
  row = add(b, loc, row, rest(b, loc, inMatrix, 2));
}

/// The bytes of two words that the selector names.
Value TransposedLoader::emitPermuted(Value low, Value high,
                                     StringRef selector) {
  return emitAsm(b, loc, ("prmt.b32 $0, $1, $2, " + selector + ";").str(),
                 "=r,r,r", {low, high}, {b.getI32Type()},
                 /*hasSideEffects=*/false)
      .front();
}

Value TransposedLoader::loadMatrices(Value block, int64_t column) {
  int64_t blocks = rowBytes / kBlock;
  Value panel = times(b, loc, divide(b, loc, block, blocks), panelBytes);
  Value inPanel =
      emitSwizzle(b, loc, row, rest(b, loc, block, blocks), rowBytes);
  Value address = add(b, loc, add(b, loc, base, panel), inPanel);
  address = add(b, loc, address, emitI32(b, loc, column * rowBytes));
  Type i32 = b.getI32Type();
  return NVVM::LdMatrixOp::create(
      b, loc,
      LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32, i32, i32}),
      emitSharedPointer(b, loc, address), 4, NVVM::MMALayout::col,
      NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
}

SmallVector<Value, 4> TransposedLoader::loadPairs(Value block, int64_t column) {
  Value loaded = loadMatrices(block, column);
  SmallVector<Value, 4> words;
  for (int64_t number = 0; number < 4; ++number) {
    Value word = LLVM::ExtractValueOp::create(b, loc, loaded, number);
    words.push_back(emitPermuted(word, word, "0x3120"));
  }
  return words;
}

SmallVector<Value, 4> TransposedLoader::load(Value block, int64_t column) {
  Value loaded = loadMatrices(block, column);
  SmallVector<Value, 4> words;
  for (int64_t first : {0, 2}) {
    Value low = LLVM::ExtractValueOp::create(b, loc, loaded, first),
          high = LLVM::ExtractValueOp::create(b, loc, loaded, first + 1);
    words.push_back(emitPermuted(low, high, "0x6420"));
    words.push_back(emitPermuted(low, high, "0x7531"));
  }
  return words;
}

namespace {
/// A transposed load whose tile is only stored, maybe with permuted columns.
struct TransposedCopy {
  warp::ConvertLayoutOp convert;
  warp::LocalStoreOp store;

  /// The copy that starts with `load`; without a store if there is none.
  static TransposedCopy of(warp::LocalLoadOp load) {
    TransposedCopy copy;
    if (!load.getTranspose() || !load->hasOneUse())
      return copy;
    Operation *user = *load->user_begin();
    copy.convert = dyn_cast<warp::ConvertLayoutOp>(user);
    if (copy.convert && copy.convert.getPermuted() && copy.convert->hasOneUse())
      user = *copy.convert->user_begin();
    copy.store = dyn_cast<warp::LocalStoreOp>(user);
    if (copy.store && copy.store->getBlock() != load->getBlock())
      copy.store = {};
    return copy;
  }
  /// True if the ops follow each other.
  bool isAdjacent(warp::LocalLoadOp load) {
    Operation *last = convert ? convert.getOperation() : load.getOperation();
    return store && store->getPrevNode() == last &&
           (!convert || convert->getPrevNode() == load);
  }
};
} // namespace

void fovea::sinkTransposedLoads(gpu::GPUFuncOp kernel) {
  kernel.walk([](warp::LocalLoadOp load) {
    TransposedCopy copy = TransposedCopy::of(load);
    if (!copy.store)
      return;
    auto between = llvm::make_range(std::next(Block::iterator(load)),
                                    Block::iterator(copy.store));
    if (llvm::any_of(between, llvm::IsaPred<warp::ConsumerReleaseOp>))
      return;
    load->moveBefore(copy.store);
    if (copy.convert)
      copy.convert->moveBefore(copy.store);
  });
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

namespace {
/// Stores a tile whose lanes hold four adjacent columns of two rows of a block
/// of 16 by 16, 32 columns per instruction. The rows of a matrix of stmatrix
/// are those of the layout: adjacent lanes hold every second row, or every row.
struct EightBitStoreLowering : OpConversionPattern<warp::LocalStoreOp> {
  EightBitStoreLowering(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/2) {}

  LogicalResult
  matchAndRewrite(warp::LocalStoreOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};
} // namespace

/// The row of the tile whose address the lane gives, in the warp's first block.
static Value emitStoredRow(OpBuilder &b, Location loc, Value lane,
                           Attribute layout) {
  Value inMatrix = rest(b, loc, lane, kMatrixRows);
  Value second = rest(b, loc, divide(b, loc, lane, kMatrixRows), 2);
  if (isa<warp::RowPairsAttr>(layout))
    return add(b, loc, times(b, loc, inMatrix, 2), second);
  return add(b, loc, inMatrix, times(b, loc, second, kMatrixRows));
}

static SmallVector<Value> getWords(OpBuilder &b, Location loc, Value tile) {
  int64_t bytes = cast<VectorType>(tile.getType()).getNumElements();
  auto type = VectorType::get({bytes / 4}, b.getI32Type());
  auto words = vector::ToElementsOp::create(
      b, loc, LLVM::BitcastOp::create(b, loc, type, tile));
  return SmallVector<Value>(words.getResults());
}

namespace {
/// Stores 32 columns of a block of 16 rows at a time.
class EightBitStorer {
public:
  EightBitStorer(OpBuilder &b, warp::LocalStoreOp op, Value target);

  /// The first row, within the warp's rows, and column of each part.
  SmallVector<std::pair<int64_t, int64_t>> getPlaces() const;
  void store(std::pair<int64_t, int64_t> at, ArrayRef<Value> words);
  /// The warp's first block, i32.
  Value emitFirstBlock();

private:
  OpBuilder &b;
  Location loc;
  int64_t columns, rowBytes, rows, rowsOfWarp;
  Value thread, place;
};
} // namespace

EightBitStorer::EightBitStorer(OpBuilder &b, warp::LocalStoreOp op,
                               Value target)
    : b(b), loc(op.getLoc()) {
  RankedTensorType tile = op.getValue().getType();
  MemRefType type = op.getTarget().getType();
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  columns = tile.getDimSize(1);
  rowBytes = warp::getRowBytes(type);
  rows = warp::getRowsOfCta(type);
  rowsOfWarp = tile.getDimSize(0) / layout.getRowWarps();
  thread = emitThread(b, loc);
  Value lane = rest(b, loc, thread, kLanes);
  Value row =
      add(b, loc, times(b, loc, divide(b, loc, thread, kLanes), rowsOfWarp),
          emitStoredRow(b, loc, lane, tile.getEncoding()));
  if (rows != tile.getDimSize(0))
    row = rest(b, loc, row, rows);
  // Chunks of the first two blocks differ in the lowest bit, so the swizzled
  // chunk of the other blocks is an exclusive or.
  place = add(b, loc, emitAddress(b, loc, target),
              emitSwizzle(b, loc, row, divide(b, loc, lane, 2 * kMatrixRows),
                          rowBytes));
}

Value EightBitStorer::emitFirstBlock() {
  return times(b, loc, divide(b, loc, thread, kLanes), rowsOfWarp / kBlock);
}

SmallVector<std::pair<int64_t, int64_t>> EightBitStorer::getPlaces() const {
  SmallVector<std::pair<int64_t, int64_t>> places;
  for (int64_t block = 0; block < rowsOfWarp; block += kBlock)
    for (int64_t column = 0; column < columns; column += kColumns)
      places.emplace_back(block, column);
  return places;
}

void EightBitStorer::store(std::pair<int64_t, int64_t> at,
                           ArrayRef<Value> words) {
  auto [block, column] = at;
  Value inRow =
      arith::XOrIOp::create(b, loc, place, emitI32(b, loc, column % rowBytes));
  int64_t distance = column / rowBytes * rows * rowBytes + block * rowBytes;
  SmallVector<Value> operands = {add(b, loc, inRow, emitI32(b, loc, distance))};
  llvm::append_range(operands, words);
  emitAsm(b, loc,
          "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};",
          "r,r,r,r,r,~{memory}", operands);
}

/// Fails without a diagnostic if another pattern lowers the op, and with one if
/// none does.
static LogicalResult checkEightBitStore(warp::LocalStoreOp op) {
  RankedTensorType tile = op.getValue().getType();
  MemRefType type = op.getTarget().getType();
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  // Vectors, and whole rows, are stored as those of other widths.
  if (type.getElementTypeBitWidth() != 8 || layout.isOneWarps() ||
      layout.holdsWholeRows() || warp::isRowVector(type))
    return failure();
  if (!isa<warp::RowPairsAttr, warp::OperandAttr>(tile.getEncoding()) ||
      tile.getDimSize(0) == 1 || tile.getDimSize(1) % kColumns != 0 ||
      op.getColumn())
    return op.emitOpError("stores 8-bit matrices of '#warp.row_pairs' or "
                          "'#warp.operand' with a multiple of ")
           << kColumns << " columns, found " << tile;
  return success();
}

LogicalResult EightBitStoreLowering::matchAndRewrite(
    warp::LocalStoreOp op, OpAdaptor adaptor,
    ConversionPatternRewriter &rewriter) const {
  if (failed(checkEightBitStore(op)))
    return failure();
  EightBitStorer storer(rewriter, op, adaptor.getTarget());
  SmallVector<Value> words =
      getWords(rewriter, op.getLoc(), adaptor.getValue());
  for (auto [number, at] : llvm::enumerate(storer.getPlaces()))
    storer.store(at, ArrayRef(words).slice(4 * number, 4));
  rewriter.eraseOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Transposed loads and their stores
//===----------------------------------------------------------------------===//

/// Loads and stores a tile in parts, so that few words are live at a time.
static void emitTransposedCopy(OpBuilder &b, TransposedLoader &loader,
                               EightBitStorer &storer, Location loc) {
  // Enough loads at a time to hide their latency.
  constexpr size_t kTogether = 4;
  Value first = storer.emitFirstBlock();
  SmallVector<std::pair<int64_t, int64_t>> places = storer.getPlaces();
  for (ArrayRef left(places); !left.empty();) {
    auto some = left.take_front(kTogether);
    left = left.drop_front(some.size());
    SmallVector<SmallVector<Value, 4>> words;
    for (auto [row, column] : some)
      words.push_back(loader.load(
          add(b, loc, first, emitI32(b, loc, row / kBlock)), column));
    for (auto [at, loaded] : llvm::zip_equal(some, words))
      storer.store(at, loaded);
    // Without a barrier, ptxas loads all of the tile first and spills.
    if (!left.empty())
      NVVM::SyncWarpOp::create(b, loc, emitI32(b, loc, -1));
  }
}

LogicalResult TransposedLoadLowering::matchAndRewrite(
    warp::LocalLoadOp op, OpAdaptor adaptor,
    ConversionPatternRewriter &rewriter) const {
  if (!op.getTranspose())
    return failure();
  RankedTensorType tile = op.getType();
  MemRefType buffer = op.getSource().getType();
  auto layout = dyn_cast<warp::RowPairsAttr>(tile.getEncoding());
  if (!layout || tile.getDimSize(0) == 1 ||
      tile.getDimSize(1) % kColumns != 0 || warp::getCtas(buffer) != 1)
    return op.emitOpError("loads a transposed matrix of '#warp.row_pairs' with "
                          "a multiple of ")
           << kColumns << " columns from a buffer of one CTA, found " << buffer
           << " to " << tile;
  Location loc = op.getLoc();
  bool pairs = layout.getNeighbours() == 2;
  TransposedLoader loader(rewriter, loc, adaptor.getSource(), buffer, pairs);
  TransposedCopy copy = TransposedCopy::of(op);
  if (copy.isAdjacent(op) && pairs == bool(copy.convert)) {
    if (failed(checkEightBitStore(copy.store)))
      return failure();
    rewriter.setInsertionPoint(copy.store);
    EightBitStorer storer(rewriter, copy.store,
                          rewriter.getRemappedValue(copy.store.getTarget()));
    emitTransposedCopy(rewriter, loader, storer, loc);
    rewriter.eraseOp(copy.store);
    if (copy.convert)
      rewriter.eraseOp(copy.convert);
    rewriter.eraseOp(op);
    return success();
  }
  int64_t blocks = tile.getDimSize(0) / (kBlock * layout.getWarps());
  Value warp = divide(rewriter, loc, emitThread(rewriter, loc), kLanes);
  Value first = times(rewriter, loc, warp, blocks);
  SmallVector<Value> words;
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t column = 0; column < tile.getDimSize(1); column += kColumns) {
      Value at = add(rewriter, loc, first, emitI32(rewriter, loc, block));
      llvm::append_range(words, pairs ? loader.loadPairs(at, column)
                                      : loader.load(at, column));
    }
  Value packed = vector::FromElementsOp::create(
      rewriter, loc,
      VectorType::get({int64_t(words.size())}, rewriter.getI32Type()), words);
  rewriter.replaceOpWithNewOp<LLVM::BitcastOp>(
      op, getTypeConverter()->convertType(tile), packed);
  return success();
}

void fovea::populateEightBitPatterns(RewritePatternSet &patterns,
                                     const TypeConverter &converter) {
  MLIRContext *context = patterns.getContext();
  patterns.add<RoundToEightBits, ExtendEightBits>(converter, context,
                                                  /*benefit=*/2);
  patterns.add<TransposedLoadLowering, EightBitStoreLowering>(converter,
                                                              context);
}
