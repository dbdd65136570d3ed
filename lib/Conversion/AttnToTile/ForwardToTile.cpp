//===- ForwardToTile.cpp - attn.forward as a tile program -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ClassifiedBlocks.h"
#include "ForwardEmitter.h"
#include "KernelLowering.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

/// Writes O and LSE.
void ForwardEmitter::emitResults(tile::SoftmaxSumOp sum) {
  OpBuilder &b = kb.builder;
  auto finish = tile::SoftmaxFinishOp::create(b, loc, sum.getM(), sum.getL(),
                                              sum.getAcc(), emitSink());
  Value output = finish.getOutput();
  if (int64_t dropped = op.getDroppedShare()) {
    constexpr double kSteps = attn::ForwardOp::kDropoutSteps;
    output = arith::MulFOp::create(
        b, loc, output,
        kb.splat(rows, valueHeadDim, kSteps / (kSteps - dropped)));
  }
  Type outElement = op.getOutputType().getElementType();
  if (!outElement.isF32())
    output = arith::TruncFOp::create(
        b, getNamedLoc(loc, "out"), kb.tileType(rows, valueHeadDim, outElement),
        output);
  output = tile::makeStaged(b, loc, plan, "y", output);
  SmallVector<Value> at = getRowPlace();
  auto store = [&](StringRef name, Value value, Value target, ValueRange at,
                   int64_t column) {
    DenseI64ArrayAttr dims = b.getDenseI64ArrayAttr({getRowDim(), column});
    tile::StoreOp::create(b, loc, value, target, at, rowLimit, dims, getFold(),
                          /*fragments=*/UnitAttr(),
                          /*add=*/UnitAttr(), b.getStringAttr(name));
  };
  store("out", output, o, at, 3);
  if (!lse)
    return;
  Value logSum = finish.getLse();
  if (Value common = emitCommonScore())
    logSum = arith::AddFOp::create(b, loc, logSum, common);
  store("lse", logSum, lse, ValueRange(at).drop_back(), -1);
}

/// The sum over the blocks that are visited.
FailureOr<tile::SoftmaxSumOp> ForwardEmitter::emitSum() {
  OpBuilder &b = kb.builder;
  Region scores;
  FailureOr<double> scale = emitScores(scores);
  if (failed(scale))
    return failure();
  llvm::APFloat factor(static_cast<float>(*scale));
  Type rowType = kb.tileType(rows, 1, b.getF32Type());
  Type accType = kb.tileType(rows, valueHeadDim, b.getF32Type());
  tile::SoftmaxSumOp sum;
  if (visited) {
    sum = tile::SoftmaxSumOp::create(
        b, loc, rowType, rowType, accType, Value(), Value(), Value(), Value(),
        visited->getCount(), visited->getMasked(), visited->getInits(),
        ValueRange(), columns, factor,
        /*descending=*/false, b.getStringAttr("o"));
    Block &visit = sum.getVisit().emplaceBlock();
    visit.addArgument(b.getIndexType(), loc);
    for (Value init : visited->getInits())
      visit.addArgument(init.getType(), loc);
    if (failed(visited->emitVisit(visit)))
      return failure();
    b.setInsertionPointAfter(sum);
  } else {
    sum = tile::SoftmaxSumOp::create(
        b, loc, rowType, rowType, accType, lower, upper, fullLower, fullUpper,
        Value(), Value(), ValueRange(), visible, columns, factor,
        /*descending=*/plan.visitsAtLeastOnce(), b.getStringAttr("o"));
  }
  sum.getScores().takeBody(scores);
  Block &values = sum.getValues().emplaceBlock();
  values.addArgument(b.getIndexType(), loc);
  b.setInsertionPointToEnd(&values);
  // Their values have weight 0, and 0 * NaN is NaN: they are made zero.
  Value valueTile = kb.loadHead(v, memoryBatch, keyHead,
                                toMemory(firstKey, values.getArgument(0)), 0,
                                columns, valueHeadDim, keyLimit, "v");
  tile::YieldOp::create(b, loc, valueTile);
  b.setInsertionPoint(sum);
  if (op.getDropoutAttr())
    emitDropout(sum.getWeights());
  b.setInsertionPointAfter(sum);
  return sum;
}

/// Which blocks of keys are visited: listed ones, those of a range, or those of
/// a range that kv_classify picks.
LogicalResult ForwardEmitter::emitBlocks() {
  OpBuilder &b = kb.builder;
  bool runsOnce = plan.visitsAtLeastOnce();
  if (op.hasBlocks()) {
    auto listed =
        std::make_unique<ListedBlocks>(kb, BlockLists::of(kb, op), columns);
    listed->emitCounts(work, keys,
                       runsOnce ? ListedBlocks::Else::PastBlock
                                : ListedBlocks::Else::Nothing);
    visited = std::move(listed);
    return success();
  }
  if (failed(emitBounds()))
    return failure();
  // What visits carry can't be looked up ahead, as copies without roles do.
  if (!plan->classify || !plan.hasRoles())
    return success();
  auto classified = std::make_unique<ClassifiedBlocks>(
      kb, op, makeContext(Value()), op.getFirstCapture());
  Value end = arith::AddIOp::create(b, loc, work.row, kb.constant(rows));
  Value clipped = arith::MinSIOp::create(b, loc, end, queries);
  Value last = emitLastQuery(clipped);
  if (failed(classified->emitCounts(lower, upper, last, runsOnce)))
    return failure();
  visited = std::move(classified);
  return success();
}

FailureOr<plan::KernelAttr> ForwardEmitter::emit() {
  OpBuilder &b = kb.builder;
  if (failed(chooseTiles()))
    return failure();
  emitCoordinates();
  if (failed(emitBlocks()))
    return failure();
  queryTile = tile::LoadOp::create(
      b, getNamedLoc(loc, "q"), kb.tileType(rows, headDim, element), q,
      getRowPlace(),
      /*limit=*/Value(), b.getDenseI64ArrayAttr({getRowDim(), 3}), getFold(),
      /*fragments=*/UnitAttr(), b.getStringAttr("q"));
  FailureOr<tile::SoftmaxSumOp> sum = emitSum();
  if (failed(sum))
    return failure();
  emitResults(*sum);
  kb.endWork();
  return plan;
}

namespace {
class ForwardLowering final : public KernelLowering {
public:
  explicit ForwardLowering(attn::ForwardOp op) : op(op) {}
  FailureOr<plan::KernelAttr> emit(KernelBuilder &kb) override {
    return ForwardEmitter(kb, op).emit();
  }

private:
  attn::ForwardOp op;
};
} // namespace

std::unique_ptr<KernelLowering> fovea::makeForwardLowering(attn::ForwardOp op) {
  return std::make_unique<ForwardLowering>(op);
}
