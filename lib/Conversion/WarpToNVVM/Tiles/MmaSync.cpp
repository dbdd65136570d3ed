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
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fovea;

// Bytes of a block's row, which one instruction reduces over.
static constexpr int64_t kBlockBytes = 32;

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
  return layout && bits == 16 ? layout.getFragmentWarps() : 0;
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
    BlockLoader loader(rewriter, loc, adaptor.getSource(),
                       op.getSource().getType(), /*rowsFirst=*/true, firstRow);
    SmallVector<Value> words;
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
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(warp::DotOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};
} // namespace

/// Emits one mma.sync.m16n8kK on words of adjacent elements.
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

  Product(warp::DotOp op, warp::MmaSyncAttr layout)
      : op(op), layout(layout), element(op.getB().getType().getElementType()) {}
  /// Computes the numbers of blocks and steps; fails with a diagnostic if
  /// mma.sync does not support the dot.
  LogicalResult initialize();

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
/// or 8x8 blocks of a shared memory buffer.
class FirstOperand {
public:
  FirstOperand(Product &product, Value value, OpBuilder &b);
  SmallVector<Value, 4> load(int64_t row, int64_t step);

private:
  bool sumsRows;
  int64_t steps;
  SmallVector<Value> words;
  std::optional<BlockLoader> loader;
};
} // namespace

LogicalResult Product::initialize() {
  if (!element.isF16() && !element.isBF16())
    return op.emitError("mma.sync multiplies f16 or bf16, found ") << element;
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

FirstOperand::FirstOperand(Product &product, Value value, OpBuilder &b)
    : sumsRows(product.op.getTransposeA()), steps(product.steps) {
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
    loader.emplace(b, loc, value, buffer, /*rowsFirst=*/false, Value(),
                   emitWarpRow(b, loc, blocks, layout));
  } else {
    loader.emplace(b, loc, value, buffer, /*rowsFirst=*/true,
                   emitWarpRow(b, loc, product.getRows(), layout));
  }
}

SmallVector<Value, 4> FirstOperand::load(int64_t row, int64_t step) {
  if (loader)
    return sumsRows ? loader->load(step, row, true)
                    : loader->load(row, step, false);
  // Two adjacent 16x8 blocks of two words each.
  return llvm::to_vector<4>(
      ArrayRef<Value>(words).slice((row * steps + step) * 4, 4));
}

/// The second operand. Stored NxK, the two halves of the reduction are column
/// halves; stored KxN they are row halves, and ldmatrix transposes the
/// matrices. Warps that share the columns take 16 columns each, round-robin.
static BlockLoader makeSecondOperand(Product &product, Value buffer,
                                     OpBuilder &b) {
  Location loc = product.op.getLoc();
  bool transposed = product.op.getTransposeB();
  Value firstRow, firstBlock;
  if (product.layout.getColumnWarps() != 1) {
    Value columnWarp = arith::DivUIOp::create(
        b, loc, emitWarp(b, loc), emitI32(b, loc, product.layout.getWarps()));
    if (transposed)
      firstRow = arith::MulIOp::create(
          b, loc, columnWarp,
          emitI32(b, loc, product.layout.kInterleaveColumns));
    else
      firstBlock = columnWarp;
  }
  return BlockLoader(b, loc, buffer, product.op.getB().getType(),
                     /*rowsFirst=*/!transposed, firstRow, firstBlock);
}

LogicalResult
DotLowering::matchAndRewrite(warp::DotOp op, OpAdaptor adaptor,
                             ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  auto layout = dyn_cast<warp::MmaSyncAttr>(op.getTileType().getEncoding());
  if (!layout)
    return failure();
  Product product(op, layout);
  if (failed(product.initialize()))
    return failure();
  FirstOperand left(product, adaptor.getA(), rewriter);
  BlockLoader right = makeSecondOperand(product, adaptor.getB(), rewriter);
  auto elements = vector::ToElementsOp::create(rewriter, loc, adaptor.getAcc());
  SmallVector<Value> acc(elements.getResults());
  for (int64_t step = 0; step < product.steps; ++step) {
    SmallVector<SmallVector<Value, 4>> fragments;
    for (int64_t row = 0; row < product.rowBlocks; ++row)
      fragments.push_back(left.load(row, step));
    for (int64_t pair = 0; pair < product.columnBlocks / 2; ++pair) {
      int64_t first =
          product.getFirstColumn() / 16 + pair * layout.getColumnWarps();
      SmallVector<Value, 4> block = op.getTransposeB()
                                        ? right.load(first, step, false)
                                        : right.load(step, first, true);
      for (int64_t row = 0; row < product.rowBlocks; ++row)
        for (int64_t half = 0; half < 2; ++half) {
          int64_t at = (row * product.columnBlocks + pair * 2 + half) * 4;
          SmallVector<Value, 4> sum =
              emitMma(rewriter, loc, product.element, fragments[row],
                      {block[half * 2], block[half * 2 + 1]},
                      ArrayRef<Value>(acc).slice(at, 4));
          llvm::copy(sum, acc.begin() + at);
        }
    }
  }
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(
      op, cast<VectorType>(getTypeConverter()->convertType(op.getTileType())),
      acc);
  return success();
}

void fovea::populateMmaSyncPatterns(RewritePatternSet &patterns,
                                    const TypeConverter &converter) {
  patterns.add<DotLowering, LocalLoadLowering>(converter,
                                               patterns.getContext());
}
