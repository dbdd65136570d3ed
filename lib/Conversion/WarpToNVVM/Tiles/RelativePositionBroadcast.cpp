//===- RelativePositionBroadcast.cpp - Tiles by relative position ---------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers `tile.diagonals`, which makes a tile whose elements depend on the
// relative position (column minus row) only, to warp shuffles.
//
//===----------------------------------------------------------------------===//

#include "Tiles/RelativePositionReduce.h"
#include "WarpToNVVM.h"

#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fovea;

namespace {
/// Each lane receives the relative positions of its elements from the lanes of
/// its warp. A lane's elements at row `r`, column `c` and at `r + n`, `c + n`
/// have the same relative position, so a fragment of 2 rows and 16 pairs of
/// columns takes 34 shuffles instead of 64.
struct RelativePositionLowering : OpConversionPattern<tile::DiagonalsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tile::DiagonalsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

private:
  /// Lowering if each lane holds the relative positions of its own elements.
  LogicalResult lowerLaneLocal(tile::DiagonalsOp op, OpAdaptor adaptor,
                               ConversionPatternRewriter &rewriter) const;
};
} // namespace

LogicalResult RelativePositionLowering::lowerLaneLocal(
    tile::DiagonalsOp op, OpAdaptor adaptor,
    ConversionPatternRewriter &rewriter) const {
  RankedTensorType source = op.getSource().getType(),
                   result = op.getResult().getType();
  auto layout = cast<warp::ThreadLayoutAttrInterface>(result.getEncoding());
  auto diagonals = cast<warp::FragmentDiagonalsAttr>(source.getEncoding());
  if (!layout.hasStoreFragments() ||
      diagonals.getRows() != result.getDimSize(0) ||
      layout.getNumElements(result.getShape()) * kLanes *
              diagonals.getWarps() !=
          result.getNumElements())
    return op.emitError(
               "expected each lane to hold the relative positions of its "
               "elements, found ")
           << source << " for " << result;
  auto held =
      vector::ToElementsOp::create(rewriter, op.getLoc(), adaptor.getSource());
  SmallVector<int64_t> offsets = diagonals.getOffsets(source.getShape(), 1);
  SmallVector<int64_t> rows = layout.getOffsets(result.getShape(), 0);
  int64_t last = *llvm::max_element(rows);
  SmallVector<Value> elements;
  for (auto [row, column] :
       llvm::zip_equal(rows, layout.getOffsets(result.getShape(), 1))) {
    auto *offset = llvm::find(offsets, column - row + last);
    elements.push_back(held.getResult(std::distance(offsets.begin(), offset)));
  }
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(
      op, cast<VectorType>(getTypeConverter()->convertType(result)), elements);
  return success();
}

LogicalResult RelativePositionLowering::matchAndRewrite(
    tile::DiagonalsOp op, OpAdaptor adaptor,
    ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  RankedTensorType result = op.getResult().getType();
  auto type = cast<VectorType>(getTypeConverter()->convertType(result));
  if (isUsedByReductionsOnly(op)) {
    rewriter.replaceOpWithNewOp<LLVM::PoisonOp>(op, type);
    return success();
  }
  auto layout = cast<warp::ThreadLayoutAttrInterface>(result.getEncoding());
  if (isa<warp::FragmentDiagonalsAttr>(op.getSource().getType().getEncoding()))
    return lowerLaneLocal(op, adaptor, rewriter);
  auto source =
      dyn_cast<warp::DiagonalsAttr>(op.getSource().getType().getEncoding());
  // A lane's first element is in the first period of its warp's rows and
  // columns.
  int64_t period = layout.getPeriod(0);
  if (!source || source.getRows() != result.getDimSize(0) ||
      layout.getNumElements(result.getShape()) * kLanes * source.getWarps() !=
          result.getNumElements() ||
      period != layout.getPeriod(1) || 2 * period + source.kStep > kLanes)
    return op.emitError("expected the relative positions in the warps that "
                        "own their rows, found ")
           << op.getSource().getType() << " for " << result;
  Value lane = arith::RemUIOp::create(rewriter, loc, emitThread(rewriter, loc),
                                      emitI32(rewriter, loc, kLanes));
  // Its relative position, counted from that of the warp's last row and first
  // column.
  auto base = [&](int64_t dim) {
    return layout.emitBase(rewriter, loc, lane, result.getShape(), dim);
  };
  Value first = arith::SubIOp::create(rewriter, loc, base(1), base(0));
  int64_t before = source.getRowsOfWarp() - 1;

  auto held = vector::ToElementsOp::create(rewriter, loc, adaptor.getSource());
  int64_t last = held.getNumResults() - 1;
  std::map<int64_t, Value> lanes, exchanged;
  auto exchange = [&](int64_t diagonal) {
    // Lanes read positions `diagonal - period + 1` to `diagonal + period - 1`.
    int64_t least = diagonal - period + 1;
    int64_t index = std::min(last, least / source.kStep);
    int64_t distance = diagonal - index * source.kStep;
    Value &from = lanes[distance];
    if (!from)
      from = arith::AddIOp::create(rewriter, loc, first,
                                   emitI32(rewriter, loc, distance));
    return emitShuffle(rewriter, loc, held.getResult(index),
                       NVVM::ShflKind::idx, from);
  };
  SmallVector<Value> elements;
  for (auto [row, column] :
       llvm::zip(layout.getOffsets(result.getShape(), 0),
                 layout.getOffsets(result.getShape(), 1))) {
    int64_t diagonal = column - row + before;
    Value &value = exchanged[diagonal];
    if (!value)
      value = exchange(diagonal);
    elements.push_back(value);
  }
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
  return success();
}

void fovea::populateRelativePositionPatterns(RewritePatternSet &patterns,
                                             const TypeConverter &converter) {
  patterns.add<RelativePositionLowering>(converter, patterns.getContext());
}
