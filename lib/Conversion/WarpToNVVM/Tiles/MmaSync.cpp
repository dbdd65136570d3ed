//===- MmaSync.cpp - Dots as ldmatrix and mma.sync --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers dots of single warps: operands in shared memory are loaded with
// ldmatrix, and blocks are multiplied with mma.sync. Also loads first operands
// into registers.
//
// mma.sync multiplies f32 only as tf32, with 10 of 23 fraction bits. If the
// plan has no 'tf32', an f32 `x` is therefore split into h = tf32(x) and
// l = x - h, and a product is la hb + ha lb + ha hb, as in CUTLASS's 3xTF32.
// The omitted la lb is below 2^-22 of the product. Tensor cores round sums
// towards zero, and the errors of a long sum add up. Therefore the instructions
// of two k-steps start from zero, and an f32 addition, which rounds to nearest,
// adds their sum to the accumulator.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fovea;

// Bytes of a block's row, which one instruction reduces over.
static constexpr int64_t kBlockBytes = 32;

// mma.sync reads these bits of a tf32 operand and ignores the others, so it
// rounds towards zero.
static constexpr int32_t kKeptBits = ~0x1fff;
// Operands are multiplied by this factor before the truncation, which adds half
// of the last kept bit to an operand of average magnitude. cvt.rna.tf32 rounds
// to nearest, but takes four instructions instead of one.
static constexpr float kRoundingFactor = 1.0f + 0.7f * 0x1p-11f;

namespace {
/// Loads blocks of 16 rows by 32 bytes of a shared buffer, as four matrices of
/// 8 rows by 16 bytes each.
///
/// Lane `l` gives the address of row `l mod 8` of matrix `l / 8`. If
/// `rowsFirst`, matrices 0 and 1 are the two row halves of the first column
/// half; otherwise they are the two column halves of the first row half.
class BlockLoader {
public:
  /// `firstRow` and `firstColumn` (in blocks) may be null for 0. The bits of
  /// `firstColumn` are disjoint from those of the columns that are loaded.
  BlockLoader(OpBuilder &b, Location loc, Value base, MemRefType type,
              bool rowsFirst, Value firstRow, Value firstColumn = Value())
      : b(b), loc(loc), type(type), rowBytes(warp::getRowBytes(type)) {
    Value lane =
        arith::RemUIOp::create(b, loc, emitThread(b, loc), emitI32(b, loc, 32));
    Value inMatrix = arith::RemUIOp::create(b, loc, lane, emitI32(b, loc, 8));
    Value half = arith::RemUIOp::create(
        b, loc, arith::DivUIOp::create(b, loc, lane, emitI32(b, loc, 8)),
        emitI32(b, loc, 2));
    Value upper = arith::DivUIOp::create(b, loc, lane, emitI32(b, loc, 16));
    Value rowHalf = rowsFirst ? half : upper;
    Value chunkHalf = rowsFirst ? upper : half;
    Value row = arith::AddIOp::create(
        b, loc, inMatrix,
        arith::MulIOp::create(b, loc, rowHalf, emitI32(b, loc, 8)));
    if (firstRow)
      row = arith::AddIOp::create(b, loc, row, firstRow);
    // Block rows are multiples of 16, which the swizzle ignores. The chunk's
    // lowest bit depends on the lane, the others are xored in. Buffers are
    // aligned beyond the swizzle, so it may be applied to the whole address,
    // and the loop keeps one lane-dependent value.
    Value start = arith::TruncIOp::create(
        b, loc, b.getI32Type(),
        LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), base));
    if (firstColumn) {
      Value ofPanel = emitI32(b, loc, rowBytes / kBlockBytes);
      Value panel = arith::DivUIOp::create(b, loc, firstColumn, ofPanel);
      start = arith::AddIOp::create(
          b, loc, start,
          arith::MulIOp::create(
              b, loc, panel,
              emitI32(b, loc, warp::getRowsOfCta(type) * rowBytes)));
      Value inPanel = arith::RemUIOp::create(b, loc, firstColumn, ofPanel);
      chunkHalf = arith::AddIOp::create(
          b, loc, chunkHalf,
          arith::MulIOp::create(b, loc, inPanel, emitI32(b, loc, 2)));
    }
    laneAddress = arith::AddIOp::create(
        b, loc, start, emitSwizzle(b, loc, row, chunkHalf, rowBytes));
  }

  /// Loads the block at row `16 * row` and byte `32 * column`. With `transpose`
  /// each matrix of 16-bit elements is transposed.
  SmallVector<Value, 4> load(int64_t row, int64_t column, bool transpose) {
    int64_t bytesBefore = column * kBlockBytes,
            inPanel = bytesBefore % rowBytes;
    Value &address = addresses[inPanel];
    if (!address) {
      Value place = laneAddress;
      if (inPanel != 0)
        place = arith::XOrIOp::create(b, loc, laneAddress,
                                      emitI32(b, loc, inPanel));
      address = emitSharedPointer(b, loc, place);
    }
    int64_t bytes =
        (bytesBefore / rowBytes) * warp::getRowsOfCta(type) * rowBytes +
        row * 16 * rowBytes;
    Value pointer = LLVM::GEPOp::create(
        b, loc, address.getType(), b.getI8Type(), address,
        ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(bytes))});
    Type i32 = b.getI32Type();
    auto result =
        LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32, i32, i32});
    auto layout = transpose ? NVVM::MMALayout::col : NVVM::MMALayout::row;
    Value loaded = NVVM::LdMatrixOp::create(
        b, loc, result, pointer, 4, layout,
        NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
        NVVM::LdStMatrixEltType::B16);
    SmallVector<Value, 4> parts;
    for (int64_t i = 0; i < 4; ++i)
      parts.push_back(LLVM::ExtractValueOp::create(b, loc, loaded, i));
    return parts;
  }

private:
  OpBuilder &b;
  Location loc;
  MemRefType type;
  int64_t rowBytes;
  Value laneAddress;
  std::map<int64_t, Value> addresses;
};
} // namespace

namespace {
/// Loads blocks of 32-bit elements, 8 along the summed dimension k by 16 along
/// the other dimension. ldmatrix cannot transpose such elements. For each
/// instruction, lane `t` of a quad loads the elements k = `t` and `t + 4`. With
/// `pairs` it loads `2 t` and `2 t + 1`, the columns of an accumulator that the
/// lane holds; a sum does not depend on the order of k if both operands have
/// the same order.
class WordLoader {
public:
  /// With `summedRows`, k runs along the rows of the buffer, otherwise along
  /// the columns. `firstBlock` is the first block along the other dimension;
  /// null for 0.
  WordLoader(OpBuilder &b, Location loc, Value base, MemRefType type,
             bool summedRows, bool pairs, Value firstBlock)
      : b(b), loc(loc), type(type), rowBytes(warp::getRowBytes(type)),
        summedRows(summedRows), pairs(pairs) {
    Value lane = arith::RemUIOp::create(b, loc, emitThread(b, loc),
                                        emitI32(b, loc, kLanes));
    other = arith::DivUIOp::create(b, loc, lane, emitI32(b, loc, 4));
    summed = arith::RemUIOp::create(b, loc, lane, emitI32(b, loc, 4));
    if (pairs)
      summed =
          arith::MulIOp::create(b, loc, summed, emitI32(b, loc, kPairWords));
    start = arith::TruncIOp::create(
        b, loc, b.getI32Type(),
        LLVM::PtrToIntOp::create(b, loc, b.getI64Type(), base));
    if (!firstBlock)
      return;
    if (!summedRows) {
      start = add(start, multiply(firstBlock, 16 * rowBytes));
      return;
    }
    Value ofPanel = emitI32(b, loc, rowBytes / kOthersBytes);
    Value panel = arith::DivUIOp::create(b, loc, firstBlock, ofPanel);
    start = add(start, multiply(panel, warp::getRowsOfCta(type) * rowBytes));
    inPanel = multiply(arith::RemUIOp::create(b, loc, firstBlock, ofPanel),
                       kOthersBytes);
  }

  /// Returns four words, in the order (k half, other half) = (0, 0), (1, 0),
  /// (0, 1), (1, 1).
  SmallVector<Value, 4> load(int64_t step, int64_t block) {
    SmallVector<Value, 4> words;
    for (int64_t half : {0, 1})
      for (int64_t sumHalf : {0, 1})
        words.push_back(loadWord(step, block, sumHalf, half));
    return words;
  }

private:
  /// Bytes of 16 words, and adjacent accumulator columns of a lane.
  static constexpr int64_t kOthersBytes = 64, kPairWords = 2;

  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value multiply(Value x, int64_t factor) {
    return arith::MulIOp::create(b, loc, x, emitI32(b, loc, factor));
  }

  Value loadWord(int64_t step, int64_t block, int64_t sumHalf, int64_t half) {
    int64_t inStep = sumHalf * (pairs ? 1 : 4);
    // The first row and the first byte of a row, without the lane's part. Rows
    // that are a multiple of 8 don't change the swizzle.
    int64_t rows = summedRows ? step * 8 : block * 16 + half * 8;
    int64_t bytes = summedRows ? block * kOthersBytes + half * 32 : step * 32;
    int64_t ofRow = bytes % rowBytes;
    Value &address = addresses[{ofRow, inStep}];
    if (!address)
      address = emitAddress(ofRow, inStep);
    int64_t offset =
        (bytes / rowBytes * warp::getRowsOfCta(type) + rows) * rowBytes;
    Value pointer = LLVM::GEPOp::create(
        b, loc, address.getType(), b.getI8Type(), address,
        ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(offset))});
    return LLVM::LoadOp::create(b, loc, b.getI32Type(), pointer);
  }

  /// The address of the lane's word in the block at byte `ofRow` of a panel.
  Value emitAddress(int64_t ofRow, int64_t inStep) {
    Value lanes = add(summed, emitI32(b, loc, inStep));
    Value row = summedRows ? lanes : other, column = summedRows ? other : lanes;
    Value byte = add(multiply(column, 4), emitI32(b, loc, ofRow));
    if (inPanel)
      byte = add(byte, inPanel);
    Value sixteen = emitI32(b, loc, 16);
    Value chunk = arith::DivUIOp::create(b, loc, byte, sixteen),
          inChunk = arith::RemUIOp::create(b, loc, byte, sixteen);
    Value place = add(emitSwizzle(b, loc, row, chunk, rowBytes), inChunk);
    return emitSharedPointer(b, loc, add(start, place));
  }

  OpBuilder &b;
  Location loc;
  MemRefType type;
  int64_t rowBytes;
  bool summedRows, pairs;
  Value other, summed, start, inPanel;
  std::map<std::pair<int64_t, int64_t>, Value> addresses;
};
} // namespace

static Value emitWarp(OpBuilder &b, Location loc) {
  return arith::DivUIOp::create(b, loc, emitThread(b, loc),
                                emitI32(b, loc, kLanes));
}

/// First row of the warp's part of a tile with `rows` rows, which are
/// distributed over `warps` warps.
static Value emitWarpRow(OpBuilder &b, Location loc, int64_t rows,
                         warp::MmaSyncAttr layout) {
  int64_t warps = layout.getWarps();
  Value warp = emitWarp(b, loc);
  if (layout.getColumnWarps() != 1)
    warp = arith::RemUIOp::create(b, loc, warp, emitI32(b, loc, warps));
  return arith::MulIOp::create(b, loc, warp, emitI32(b, loc, rows / warps));
}

/// Elements that one instruction reduces over.
static int64_t getStep(Type element) { return kBlockBytes / getBytes(element); }

static Value packWords(OpBuilder &b, Location loc, ArrayRef<Value> words,
                       VectorType type) {
  auto wordType = VectorType::get({int64_t(words.size())}, b.getI32Type());
  Value packed = vector::FromElementsOp::create(b, loc, wordType, words);
  return LLVM::BitcastOp::create(b, loc, type, packed);
}

/// Warps that hold the tile as a first operand; 0 for other layouts.
static int64_t getFragmentWarps(RankedTensorType tile,
                                warp::ThreadLayoutAttrInterface layout) {
  unsigned bits = tile.getElementTypeBitWidth();
  if (isa_and_present<warp::OperandAttr>(layout))
    return bits == 8 ? layout.getRowWarps() : 0;
  // For f32, the order of k is that of accumulator columns.
  bool isFragment =
      bits == 16 || (bits == 32 && isa_and_present<warp::MmaSyncAttr>(layout));
  return layout && isFragment ? layout.getFragmentWarps() : 0;
}

namespace {
/// Loads a first operand into registers, in the order of the layout.
struct LocalLoadLowering : OpConversionPattern<warp::LocalLoadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(warp::LocalLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType tile = op.getType();
    auto layout =
        dyn_cast_or_null<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
    int64_t warps = getFragmentWarps(tile, layout);
    if (warps == 0 || op.getTranspose() ||
        tile.getDimSize(1) % getStep(tile.getElementType()) != 0)
      return failure();
    Location loc = op.getLoc();
    int64_t rowBlocks = tile.getDimSize(0) / (16 * warps),
            columnBlocks = tile.getDimSize(1) / getStep(tile.getElementType());
    Value firstRow = arith::MulIOp::create(
        rewriter, loc, emitWarp(rewriter, loc),
        emitI32(rewriter, loc, tile.getDimSize(0) / warps));
    // Warp indices run through the CTAs of a cluster, each of which holds its
    // own rows.
    int64_t rowsOfCta = warp::getRowsOfCta(op.getSource().getType());
    if (rowsOfCta != tile.getDimSize(0))
      firstRow = arith::RemUIOp::create(rewriter, loc, firstRow,
                                        emitI32(rewriter, loc, rowsOfCta));
    SmallVector<Value> words;
    MemRefType source = op.getSource().getType();
    if (tile.getElementType().isF32()) {
      Value firstBlock = arith::DivUIOp::create(rewriter, loc, firstRow,
                                                emitI32(rewriter, loc, 16));
      WordLoader loader(rewriter, loc, adaptor.getSource(), source,
                        /*summedRows=*/false, /*pairs=*/true, firstBlock);
      for (int64_t row = 0; row < rowBlocks; ++row)
        for (int64_t column = 0; column < columnBlocks; ++column)
          llvm::append_range(words, loader.load(column, row));
      rewriter.replaceOp(
          op,
          packWords(rewriter, loc, words,
                    cast<VectorType>(getTypeConverter()->convertType(tile))));
      return success();
    }
    BlockLoader loader(rewriter, loc, adaptor.getSource(), source,
                       /*rowsFirst=*/true, firstRow);
    for (int64_t row = 0; row < rowBlocks; ++row)
      for (int64_t column = 0; column < columnBlocks; ++column)
        llvm::append_range(words, loader.load(row, column, false));
    rewriter.replaceOp(
        op, packWords(rewriter, loc, words,
                      cast<VectorType>(getTypeConverter()->convertType(tile))));
    return success();
  }
};

struct DotLowering : OpConversionPattern<warp::DotOp> {
  DotLowering(const TypeConverter &converter, MLIRContext *context, bool tf32)
      : OpConversionPattern(converter, context), tf32(tf32) {}

  LogicalResult
  matchAndRewrite(warp::DotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  /// Products of f32 round their factors to tf32.
  bool tf32;
};
} // namespace

/// Emits one mma.sync.m16n8kK on words of 32 bits.
static SmallVector<Value, 4> emitMma(OpBuilder &b, Location loc, Type element,
                                     ArrayRef<Value> left,
                                     ArrayRef<Value> right,
                                     ArrayRef<Value> acc) {
  Type f32 = b.getF32Type();
  auto result =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  SmallVector<Value> a(left), w(right);
  auto types = std::array{NVVM::MMATypes::bf16, NVVM::MMATypes::bf16};
  if (element.isF16()) {
    types = {NVVM::MMATypes::f16, NVVM::MMATypes::f16};
    auto pair = VectorType::get({2}, element);
    for (Value &word : a)
      word = LLVM::BitcastOp::create(b, loc, pair, word);
    for (Value &word : w)
      word = LLVM::BitcastOp::create(b, loc, pair, word);
  } else if (element.isF32()) {
    types = {NVVM::MMATypes::tf32, NVVM::MMATypes::tf32};
  }
  Value product = NVVM::MmaOp::create(
      b, loc, result, a, w, acc, {16, 8, getStep(element)}, std::nullopt,
      std::nullopt, types,
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  SmallVector<Value, 4> parts;
  for (int64_t i = 0; i < 4; ++i)
    parts.push_back(LLVM::ExtractValueOp::create(b, loc, product, i));
  return parts;
}

namespace {
/// One warp's part of a dot, in instructions of 16 rows, 8 columns and one
/// k-step.
struct Product {
  warp::DotOp op;
  warp::MmaSyncAttr layout;
  Type element;
  int64_t rowBlocks = 0, columnBlocks = 0, steps = 0;
  /// tf32 parts of each operand.
  int64_t parts = 1;
  /// The k-steps of one call of `emitSteps`. If operands are split, these are
  /// summed from zero.
  int64_t stepsOfSum = 1;

  Product(warp::DotOp op, warp::MmaSyncAttr layout, bool tf32)
      : op(op), layout(layout), element(op.getB().getType().getElementType()) {
    if (element.isF32() && !tf32)
      parts = 2;
  }
  /// Computes the numbers of blocks and steps; fails with a diagnostic if
  /// mma.sync does not support the dot.
  LogicalResult initialize();
  /// Returns the initial sum of the instructions: the accumulator, or zero.
  SmallVector<Value, 4> emitStart(ArrayRef<Value> acc, OpBuilder &b);
  /// Writes the sum to the accumulator, or adds it.
  void emitEnd(ArrayRef<Value> sum, MutableArrayRef<Value> acc, OpBuilder &b);

  /// True if each product of f32 is several products of tf32.
  bool isSplit() const { return parts > 1; }
  int64_t getRows() { return op.getTileType().getDimSize(0); }
  int64_t getSummed() {
    return cast<ShapedType>(op.getA().getType())
        .getDimSize(op.getTransposeA() ? 0 : 1);
  }
  /// Columns that the warps of the same rows cover in one step.
  int64_t getColumnStep() const {
    return layout.kInterleaveColumns * layout.getColumnWarps();
  }
  int64_t getFirstColumn() { return op.getFirstColumn().value_or(0); }
};

/// Loads fragments of the first operand: 32-bit registers of a register tile,
/// or blocks of a shared memory buffer.
class FirstOperand {
public:
  FirstOperand(Product &product, Value value, OpBuilder &b);
  SmallVector<Value, 4> load(int64_t row, int64_t step);

private:
  bool sumsRows, hasWords;
  int64_t steps;
  SmallVector<Value> words;
  std::optional<BlockLoader> loader;
  std::optional<WordLoader> wordLoader;
};

/// Loads fragments of the second operand, for 16 columns and one k-step.
class SecondOperand {
public:
  SecondOperand(Product &product, Value buffer, OpBuilder &b);
  SmallVector<Value, 4> load(int64_t block, int64_t step) {
    if (wordLoader)
      return wordLoader->load(step, block);
    return transposed ? loader->load(block, step, false)
                      : loader->load(step, block, true);
  }

private:
  bool transposed;
  std::optional<BlockLoader> loader;
  std::optional<WordLoader> wordLoader;
};
} // namespace

LogicalResult Product::initialize() {
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return op.emitError("mma.sync multiplies f16, bf16 or f32, found ")
           << element;
  if (op.getOnes())
    return op.emitOpError("mma.sync has no columns of ones");
  int64_t columns = op.getTileType().getDimSize(1);
  if (columns % getColumnStep() != 0 || getSummed() % getStep(element) != 0)
    return op.emitError("dots need a multiple of ")
           << getColumnStep() << " columns and a sum over a multiple of "
           << getStep(element) << ", found " << columns << " and "
           << getSummed();
  rowBlocks = getRows() / (16 * layout.getWarps());
  columnBlocks = columns / (8 * layout.getColumnWarps());
  steps = getSummed() / getStep(element);
  if (isSplit())
    stepsOfSum = steps % 2 == 0 ? 2 : 1;
  auto left = cast<ShapedType>(op.getA().getType());
  if (op.getTransposeA() &&
      (op.getFirstRow() || !llvm::isPowerOf2_64(rowBlocks) ||
       left.getDimSize(1) != getRows()))
    return op.emitOpError("mma.sync needs all columns of a transposed first "
                          "operand, 16 times a power of two for each warp; "
                          "found ")
           << getRows() << " rows of the result for " << layout.getWarps()
           << " warps";
  if (isa<RankedTensorType>(left) && layout.getColumnWarps() != 1)
    return op.emitOpError("needs warps with whole rows for a first operand in "
                          "registers, found ")
           << op.getTileType();
  if (getFirstColumn() % getColumnStep() != 0)
    return op.emitOpError("needs a first column that is a multiple of ")
           << getColumnStep() << ", found " << getFirstColumn();
  return success();
}

SmallVector<Value, 4> Product::emitStart(ArrayRef<Value> acc, OpBuilder &b) {
  if (!isSplit())
    return llvm::to_vector<4>(acc);
  Type f32 = b.getF32Type();
  Value zero =
      LLVM::ConstantOp::create(b, op.getLoc(), f32, b.getF32FloatAttr(0.0));
  return SmallVector<Value, 4>(acc.size(), zero);
}

void Product::emitEnd(ArrayRef<Value> sum, MutableArrayRef<Value> acc,
                      OpBuilder &b) {
  for (auto [place, value] : llvm::zip(acc, sum))
    place = isSplit()
                ? LLVM::FAddOp::create(b, op.getLoc(), place, value).getResult()
                : value;
}

FirstOperand::FirstOperand(Product &product, Value value, OpBuilder &b)
    : sumsRows(product.op.getTransposeA()), hasWords(product.element.isF32()),
      steps(product.steps) {
  Location loc = product.op.getLoc();
  warp::MmaSyncAttr layout = product.layout;
  auto buffer = dyn_cast<MemRefType>(product.op.getA().getType());
  if (!buffer) {
    auto vector = cast<VectorType>(value.getType());
    int64_t bits = vector.getNumElements() * vector.getElementTypeBitWidth();
    auto wordType = VectorType::get({bits / 32}, b.getI32Type());
    auto all = vector::ToElementsOp::create(
        b, loc, LLVM::BitcastOp::create(b, loc, wordType, value));
    words.assign(all.getResults().begin(), all.getResults().end());
  } else if (sumsRows) {
    // Stored KxM: a warp's rows are columns of the buffer, and ldmatrix
    // transposes the matrices.
    int64_t blocks = product.rowBlocks * layout.getWarps();
    Value first = emitWarpRow(b, loc, blocks, layout);
    if (hasWords)
      wordLoader.emplace(b, loc, value, buffer, /*summedRows=*/true,
                         /*pairs=*/false, first);
    else
      loader.emplace(b, loc, value, buffer, /*rowsFirst=*/false, Value(),
                     first);
  } else {
    loader.emplace(b, loc, value, buffer, /*rowsFirst=*/true,
                   emitWarpRow(b, loc, product.getRows(), layout));
  }
}

SmallVector<Value, 4> FirstOperand::load(int64_t row, int64_t step) {
  if (loader)
    return sumsRows ? loader->load(step, row, true)
                    : loader->load(row, step, false);
  // Of 16-bit elements, two adjacent 16x8 blocks of two words each. Of f32, one
  // block, of which a lane has two adjacent columns of two rows.
  SmallVector<Value, 4> found =
      wordLoader ? wordLoader->load(step, row)
                 : llvm::to_vector<4>(ArrayRef<Value>(words).slice(
                       (row * steps + step) * 4, 4));
  if (hasWords)
    std::swap(found[1], found[2]);
  return found;
}

/// The second operand. Stored NxK, the two halves of the reduction are column
/// halves; stored KxN they are row halves, and ldmatrix transposes the
/// matrices. Warps that share the columns take 16 columns each, round-robin.
SecondOperand::SecondOperand(Product &product, Value buffer, OpBuilder &b)
    : transposed(product.op.getTransposeB()) {
  Location loc = product.op.getLoc();
  MemRefType type = product.op.getB().getType();
  bool hasRegisters = isa<RankedTensorType>(product.op.getA().getType());
  // ldmatrix cannot transpose f32, and its order of k is that of a first
  // operand in memory only.
  bool loadsWords = product.element.isF32() && (hasRegisters || !transposed);
  Value firstRow, firstBlock;
  if (product.layout.getColumnWarps() != 1) {
    Value columnWarp = arith::DivUIOp::create(
        b, loc, emitWarp(b, loc), emitI32(b, loc, product.layout.getWarps()));
    if (transposed && !loadsWords)
      firstRow = arith::MulIOp::create(
          b, loc, columnWarp,
          emitI32(b, loc, product.layout.kInterleaveColumns));
    else
      firstBlock = columnWarp;
  }
  if (loadsWords)
    wordLoader.emplace(b, loc, buffer, type, /*summedRows=*/!transposed,
                       /*pairs=*/hasRegisters, firstBlock);
  else
    loader.emplace(b, loc, buffer, type, /*rowsFirst=*/!transposed, firstRow,
                   firstBlock);
}

/// Returns the parts of an operand that are multiplied, largest first.
static SmallVector<SmallVector<Value, 4>>
splitWords(OpBuilder &b, const Product &product, ArrayRef<Value> words) {
  if (!product.element.isF32())
    return {llvm::to_vector<4>(words)};
  Location loc = warp::DotOp(product.op).getLoc();
  SmallVector<SmallVector<Value, 4>> parts(product.parts);
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  auto cast = [&](Type type, Value value) -> Value {
    return LLVM::BitcastOp::create(b, loc, type, value);
  };
  Value up = LLVM::ConstantOp::create(b, loc, f32,
                                      b.getF32FloatAttr(kRoundingFactor)),
        kept = emitI32(b, loc, kKeptBits);
  for (Value word : words) {
    Value whole = cast(f32, word);
    Value high = cast(i32, LLVM::FMulOp::create(b, loc, whole, up));
    if (product.isSplit()) {
      high = LLVM::AndOp::create(b, loc, high, kept);
      Value rest = LLVM::FSubOp::create(b, loc, whole, cast(f32, high));
      parts[1].push_back(cast(i32, rest));
    }
    parts[0].push_back(high);
  }
  return parts;
}

/// Returns which parts of the operands are multiplied, smallest products first.
static SmallVector<std::pair<int64_t, int64_t>> listProducts(int64_t parts) {
  if (parts == 1)
    return {{0, 0}};
  return {{1, 0}, {0, 1}, {0, 0}};
}

/// Adds the products of `stepsOfSum` steps to the accumulators.
static void emitSteps(Product &product, FirstOperand &left,
                      SecondOperand &right, int64_t firstStep,
                      MutableArrayRef<Value> acc, OpBuilder &b) {
  Location loc = product.op.getLoc();
  using Parts = SmallVector<SmallVector<Value, 4>>;
  auto split = [&](ArrayRef<Value> words) {
    return splitWords(b, product, words);
  };
  int64_t count = product.stepsOfSum;
  SmallVector<SmallVector<Parts>> fragments(count);
  for (int64_t step = 0; step < count; ++step)
    for (int64_t row = 0; row < product.rowBlocks; ++row)
      fragments[step].push_back(split(left.load(row, firstStep + step)));
  for (int64_t pair = 0; pair < product.columnBlocks / 2; ++pair) {
    int64_t first =
        product.getFirstColumn() / 16 + pair * product.layout.getColumnWarps();
    SmallVector<Parts> blocks;
    for (int64_t step = 0; step < count; ++step)
      blocks.push_back(split(right.load(first, firstStep + step)));
    auto getPlace = [&](int64_t row, int64_t half) {
      return (row * product.columnBlocks + pair * 2 + half) * 4;
    };
    SmallVector<SmallVector<Value, 4>> sums;
    for (int64_t row = 0; row < product.rowBlocks; ++row)
      for (int64_t half = 0; half < 2; ++half)
        sums.push_back(product.emitStart(
            ArrayRef<Value>(acc).slice(getPlace(row, half), 4), b));
    for (auto [ofLeft, ofRight] : listProducts(blocks.front().size()))
      for (int64_t step = 0; step < count; ++step)
        for (int64_t row = 0; row < product.rowBlocks; ++row)
          for (int64_t half = 0; half < 2; ++half) {
            SmallVector<Value, 4> &sum = sums[row * 2 + half];
            ArrayRef<Value> words = blocks[step][ofRight];
            sum = emitMma(b, loc, product.element, fragments[step][row][ofLeft],
                          words.slice(half * 2, 2), sum);
          }
    for (int64_t row = 0; row < product.rowBlocks; ++row)
      for (int64_t half = 0; half < 2; ++half)
        product.emitEnd(sums[row * 2 + half], acc.slice(getPlace(row, half), 4),
                        b);
  }
}

LogicalResult
DotLowering::matchAndRewrite(warp::DotOp op, OpAdaptor adaptor,
                             ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  auto layout = dyn_cast<warp::MmaSyncAttr>(op.getTileType().getEncoding());
  if (!layout)
    return failure();
  Product product(op, layout, tf32);
  if (failed(product.initialize()))
    return failure();
  FirstOperand left(product, adaptor.getA(), rewriter);
  SecondOperand right(product, adaptor.getB(), rewriter);
  auto elements = vector::ToElementsOp::create(rewriter, loc, adaptor.getAcc());
  SmallVector<Value> acc(elements.getResults());
  for (int64_t step = 0; step < product.steps; step += product.stepsOfSum)
    emitSteps(product, left, right, step, acc, rewriter);
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(
      op, cast<VectorType>(getTypeConverter()->convertType(op.getTileType())),
      acc);
  return success();
}

void fovea::populateMmaSyncPatterns(RewritePatternSet &patterns,
                                    const TypeConverter &converter, bool tf32) {
  patterns.add<LocalLoadLowering>(converter, patterns.getContext());
  patterns.add<DotLowering>(converter, patterns.getContext(), tf32);
}
