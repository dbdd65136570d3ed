//===- MmaSync.cpp - Dots as ldmatrix and mma.sync --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fovea;

// What an instruction sums over: a row of a block.
static constexpr int64_t kBlockBytes = 32;

namespace {
/// Loads blocks of 16 rows by 32 bytes of a shared buffer, as four matrices of
/// 8 by 16 each.
///
/// Lane `l` gives the address of row `l mod 8` of matrix `l / 8`. The matrices
/// are numbered row by row if `rowsFirst` is false (rows 0-7 of both column
/// halves come as matrices 0 and 1), else column by column.
class BlockLoader {
public:
  /// `firstRow` and `firstColumn` (of blocks) may be null for 0. The latter's
  /// bits and those of the columns that are loaded are apart.
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
    // Block rows are multiples of 16, which no swizzle sees; the chunk's lowest
    // bit is the lane's own, the others come in by exclusive or. Buffers are
    // aligned beyond the swizzle, so it may be applied to the whole address:
    // that leaves one lane-dependent value for the loop to keep.
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

  /// The block at row `16 * row` and byte `32 * column` of it. Transposed on
  /// the way, elements of 16 bits change places.
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

/// First row of the warp's part of a tile of `rows`, which every `warps` warps
/// part among each other.
static Value emitWarpRow(OpBuilder &b, Location loc, int64_t rows,
                         warp::MmaSyncAttr layout) {
  int64_t warps = layout.getWarps();
  Value warp = emitWarp(b, loc);
  if (layout.getColumnWarps() != 1)
    warp = arith::RemUIOp::create(b, loc, warp, emitI32(b, loc, warps));
  return arith::MulIOp::create(b, loc, warp, emitI32(b, loc, rows / warps));
}

/// What one instruction sums over.
static int64_t getStep(Type element) { return kBlockBytes / getBytes(element); }

static Value packWords(OpBuilder &b, Location loc, ArrayRef<Value> words,
                       VectorType type) {
  auto wordType = VectorType::get({int64_t(words.size())}, b.getI32Type());
  Value packed = vector::FromElementsOp::create(b, loc, wordType, words);
  return LLVM::BitcastOp::create(b, loc, type, packed);
}

namespace {
/// Register fragments of a first operand: the layout's own order.
struct LocalLoadLowering : OpConversionPattern<warp::LocalLoadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(warp::LocalLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RankedTensorType tile = op.getType();
    auto layout =
        dyn_cast_or_null<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
    int64_t warps = layout ? layout.getFragmentWarps() : 0;
    if (warps == 0 || tile.getElementTypeBitWidth() != 16 ||
        tile.getDimSize(1) % getStep(tile.getElementType()) != 0)
      return failure();
    Location loc = op.getLoc();
    int64_t rowBlocks = tile.getDimSize(0) / (16 * warps),
            columnBlocks = tile.getDimSize(1) / getStep(tile.getElementType());
    Value firstRow = arith::MulIOp::create(
        rewriter, loc, emitWarp(rewriter, loc),
        emitI32(rewriter, loc, tile.getDimSize(0) / warps));
    // Warps count through the CTAs of a cluster, each of which has its rows.
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

/// One mma.sync.m16n8kK on words of neighbouring elements.
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

LogicalResult
DotLowering::matchAndRewrite(warp::DotOp op, OpAdaptor adaptor,
                             ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  RankedTensorType accType = op.getTileType();
  auto layout = dyn_cast<warp::MmaSyncAttr>(accType.getEncoding());
  if (!layout)
    return failure();
  MemRefType right = op.getB().getType();
  Type element = right.getElementType();
  auto left = cast<ShapedType>(op.getA().getType());
  if (!element.isF16() && !element.isBF16())
    return op.emitError("mma.sync multiplies f16 or bf16, found ") << element;
  if (op.getOnes())
    return op.emitOpError("mma.sync has no columns of ones");
  bool sumsRows = op.getTransposeA();
  int64_t warps = layout.getWarps(), columnWarps = layout.getColumnWarps();
  int64_t m = accType.getDimSize(0), n = accType.getDimSize(1),
          k = left.getDimSize(sumsRows ? 0 : 1);
  int64_t summed = getStep(element), columnStep = 16 * columnWarps;
  if (n % columnStep != 0 || k % summed != 0)
    return op.emitError("dots need a multiple of ")
           << columnStep << " columns and a sum over a multiple of " << summed
           << ", found " << n << " and " << k;
  int64_t rowBlocks = m / (16 * warps), columnBlocks = n / (8 * columnWarps),
          steps = k / summed;
  if (sumsRows && (op.getFirstRow() || !llvm::isPowerOf2_64(rowBlocks) ||
                   left.getDimSize(1) != m))
    return op.emitOpError("mma.sync reads all columns of a transposed first "
                          "operand, 16 times a power of two for each warp; "
                          "found ")
           << m << " rows of the result for " << warps << " warps";

  // First operand: words of a register tile, or blocks of a shared buffer.
  SmallVector<Value> words;
  std::optional<BlockLoader> leftLoader;
  if (isa<RankedTensorType>(left)) {
    if (columnWarps != 1)
      return op.emitOpError("takes a first operand in registers where warps "
                            "have whole rows, found ")
             << accType;
    auto vector = cast<VectorType>(adaptor.getA().getType());
    int64_t bits = vector.getNumElements() * vector.getElementTypeBitWidth();
    auto wordType = VectorType::get({bits / 32}, rewriter.getI32Type());
    Value asWords =
        LLVM::BitcastOp::create(rewriter, loc, wordType, adaptor.getA());
    auto all = vector::ToElementsOp::create(rewriter, loc, asWords);
    words.assign(all.getResults().begin(), all.getResults().end());
  } else if (sumsRows) {
    // Stored KxM: a warp's rows are columns, and the matrices are transposed on
    // the way.
    leftLoader.emplace(rewriter, loc, adaptor.getA(), cast<MemRefType>(left),
                       /*rowsFirst=*/false, Value(),
                       emitWarpRow(rewriter, loc, rowBlocks * warps, layout));
  } else {
    leftLoader.emplace(rewriter, loc, adaptor.getA(), cast<MemRefType>(left),
                       /*rowsFirst=*/true,
                       emitWarpRow(rewriter, loc, m, layout));
  }
  bool transposed = op.getTransposeB();
  int64_t firstColumn = op.getFirstColumn().value_or(0);
  if (firstColumn % columnStep != 0)
    return op.emitOpError("takes columns from a multiple of ")
           << columnStep << " on, found " << firstColumn;
  // Warps that share the columns have 16 of them in turn.
  Value turn;
  if (columnWarps != 1)
    turn = arith::DivUIOp::create(rewriter, loc, emitWarp(rewriter, loc),
                                  emitI32(rewriter, loc, warps));
  // Stored NxK, the two halves of the sum are column halves; stored KxN they
  // are row halves, and the matrices are transposed on the way.
  Value firstRow, firstBlock;
  if (turn && transposed)
    firstRow =
        arith::MulIOp::create(rewriter, loc, turn, emitI32(rewriter, loc, 16));
  else if (turn)
    firstBlock = turn;
  BlockLoader rightLoader(rewriter, loc, adaptor.getB(), right,
                          /*rowsFirst=*/!transposed, firstRow, firstBlock);

  auto elements = vector::ToElementsOp::create(rewriter, loc, adaptor.getAcc());
  SmallVector<Value> acc(elements.getResults());
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<SmallVector<Value, 4>> fragments;
    for (int64_t row = 0; row < rowBlocks; ++row) {
      if (leftLoader) {
        fragments.push_back(sumsRows ? leftLoader->load(step, row, true)
                                     : leftLoader->load(row, step, false));
        continue;
      }
      // Two neighbouring 16x8 blocks of two words each.
      int64_t first = (row * steps + step) * 4;
      fragments.emplace_back(words.begin() + first, words.begin() + first + 4);
    }
    for (int64_t pair = 0; pair < columnBlocks / 2; ++pair) {
      int64_t ofWarp = pair * columnWarps;
      SmallVector<Value, 4> block =
          transposed ? rightLoader.load(ofWarp, step, false)
                     : rightLoader.load(step, firstColumn / 16 + ofWarp, true);
      for (int64_t row = 0; row < rowBlocks; ++row)
        for (int64_t half = 0; half < 2; ++half) {
          int64_t at = (row * columnBlocks + pair * 2 + half) * 4;
          SmallVector<Value, 4> sum =
              emitMma(rewriter, loc, element, fragments[row],
                      {block[half * 2], block[half * 2 + 1]},
                      ArrayRef<Value>(acc).slice(at, 4));
          llvm::copy(sum, acc.begin() + at);
        }
    }
  }
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(
      op, cast<VectorType>(getTypeConverter()->convertType(accType)), acc);
  return success();
}

void fovea::populateMmaSyncPatterns(RewritePatternSet &patterns,
                                    const TypeConverter &converter) {
  patterns.add<DotLowering, LocalLoadLowering>(converter,
                                               patterns.getContext());
}
