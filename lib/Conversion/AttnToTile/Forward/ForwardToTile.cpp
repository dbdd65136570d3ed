//===- ForwardToTile.cpp - Lowers attn.forward to a kernel ----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers attn.forward to one kernel: a `tile.softmax_sum` over the key blocks
// of each query tile, with stores of O and LSE.
//
//===----------------------------------------------------------------------===//

#include "Forward/ForwardKernel.h"
#include "Forward/ForwardScores.h"
#include "Forward/ForwardShares.h"
#include "Kernel/KernelLowering.h"
#include "KeyBlocks/KeyBlocks.h"

#include "fovea/Schedule/ScheduleFields.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fovea;

static Value loadQueries(const ForwardKernel &kernel) {
  KernelBuilder &kb = kernel.kb;
  OpBuilder &b = kb.builder;
  Value q = kernel.arguments.q;
  Type element = cast<MemRefType>(q.getType()).getElementType();
  return tile::LoadOp::create(
      b, getNamedLoc(kernel.getLoc(), "q"),
      kb.tileType(kernel.plan.rows, kernel.plan.headDim, element), q,
      kernel.getRowPlace(),
      /*limit=*/Value(), /*table=*/Value(), /*tableIndices=*/ValueRange(),
      b.getDenseI64ArrayAttr({kernel.getRowDim(), 3}), kernel.getFold(),
      /*fragments=*/UnitAttr(), /*by_register=*/UnitAttr(),
      b.getStringAttr("q"), /*groups=*/DenseI64ArrayAttr());
}

/// Creates the softmax sum over the blocks. Of its regions only the one that
/// selects blocks is filled.
static FailureOr<tile::SoftmaxSumOp> createSum(const ForwardKernel &kernel,
                                               const KeyBlocks &blocks,
                                               const ScoreRest &rest) {
  KernelBuilder &kb = kernel.kb;
  OpBuilder &b = kb.builder;
  Location loc = kernel.getLoc();
  const ForwardPlan &plan = kernel.plan;
  llvm::APFloat factor(static_cast<float>(rest.scale));
  Type rowType = kb.tileType(plan.rows, 1, b.getF32Type());
  Type accType = kb.tileType(plan.rows, plan.valueHeadDim, b.getF32Type());
  BlockIterator *visited = blocks.single.get();
  if (!visited)
    return tile::SoftmaxSumOp::create(
        b, loc, rowType, rowType, accType, blocks.lower, blocks.upper,
        blocks.fullLower, blocks.fullUpper, Value(), Value(), ValueRange(),
        blocks.visible, rest.runtimeScale, plan.columns, factor,
        /*descending=*/plan.kernel.visitsAtLeastOnce(), b.getStringAttr("o"));
  auto sum = tile::SoftmaxSumOp::create(
      b, loc, rowType, rowType, accType, Value(), Value(), Value(), Value(),
      visited->getCount(), visited->getMasked(), visited->getInits(),
      ValueRange(), rest.runtimeScale, plan.columns, factor,
      /*descending=*/false, b.getStringAttr("o"));
  Block &visit = sum.getVisit().emplaceBlock();
  visit.addArgument(b.getIndexType(), loc);
  for (Value init : visited->getInits())
    visit.addArgument(init.getType(), loc);
  OpBuilder::InsertionGuard guard(b);
  if (failed(visited->emitVisit(visit)))
    return failure();
  return sum;
}

/// Loads the values of the block whose first key is `key`.
static Value loadValues(const ForwardKernel &kernel, Value key) {
  // The same op as in the scores; the loop will contain one of them.
  if (!kernel.arguments.v)
    return kernel.loadKeys(key);
  // Missing keys are loaded as zeros: their P is 0, but 0 * NaN is NaN.
  KernelBuilder &kb = kernel.kb;
  const ForwardPlan &plan = kernel.plan;
  Value read =
      loadBlock(kb, kernel.arguments.v, kernel.locateKeys(key),
                kernel.tile.keyHead, plan.columns, plan.valueHeadDim, "v");
  if (!transposesValues(plan.kernel))
    return read;
  // The dot reads the transposed stream in the other order.
  auto type = cast<RankedTensorType>(read.getType());
  Value transposed = kb.make<tile::TransposeOp>(
      kb.tileType(plan.valueHeadDim, plan.columns, type.getElementType()),
      read);
  Value stream = kb.make<tile::StreamOp>(
      transposed, kb.builder.getStringAttr(kTransposedValues));
  return kb.make<tile::TransposeOp>(type, stream);
}

/// Fills the region that loads the values.
static void emitValues(const ForwardKernel &kernel, Region &values) {
  KernelBuilder &kb = kernel.kb;
  OpBuilder &b = kb.builder;
  Location loc = kernel.getLoc();
  OpBuilder::InsertionGuard guard(b);
  Block &block = values.emplaceBlock();
  block.addArgument(b.getIndexType(), loc);
  b.setInsertionPointToEnd(&block);
  Value read = loadValues(kernel, block.getArgument(0));
  tile::YieldOp::create(b, loc, read);
}

/// Emits the softmax sum over the blocks; `rest` gets the terms that its scores
/// lack.
static FailureOr<tile::SoftmaxSumOp> emitSum(const ForwardKernel &kernel,
                                             const KeyBlocks &blocks,
                                             Value queries, ScoreRest &rest) {
  OpBuilder &b = kernel.kb.builder;
  Region scores;
  FailureOr<ScoreRest> left = emitScores(kernel, blocks, queries, scores);
  if (failed(left))
    return failure();
  rest = *left;
  FailureOr<tile::SoftmaxSumOp> sum = createSum(kernel, blocks, rest);
  if (failed(sum))
    return failure();
  sum->getScores().takeBody(scores);
  emitValues(kernel, sum->getValues());
  b.setInsertionPoint(*sum);
  if (attn::ForwardOp op = kernel.op; op.getDropoutAttr())
    emitDropout(kernel, sum->getWeights());
  b.setInsertionPointAfter(*sum);
  return sum;
}

/// Scales the output for dropout, and rounds it.
static Value emitOutput(const ForwardKernel &kernel, Value output) {
  KernelBuilder &kb = kernel.kb;
  OpBuilder &b = kb.builder;
  Location loc = kernel.getLoc();
  attn::ForwardOp op = kernel.op;
  int64_t rows = kernel.plan.rows, columns = kernel.plan.valueHeadDim;
  if (int64_t dropped = op.getDroppedShare()) {
    constexpr double kSteps = attn::ForwardOp::kDropoutSteps;
    output = arith::MulFOp::create(
        b, loc, output, kb.splat(rows, columns, kSteps / (kSteps - dropped)));
  }
  Type element = op.getOutputType().getElementType();
  if (!element.isF32())
    output =
        arith::TruncFOp::create(b, getNamedLoc(loc, "out"),
                                kb.tileType(rows, columns, element), output);
  return tile::makeStaged(b, loc, kernel.plan.kernel, "y", output);
}

/// Applies the scale and the mean of quantized values to the output before it
/// is divided by the row sums. Rows without keys, and sinks, then need no cases
/// of their own.
static Value dequantize(const ForwardKernel &kernel,
                        const SoftmaxState &state) {
  KernelBuilder &kb = kernel.kb;
  Value acc = state.acc;
  Type type = acc.getType();
  if (Value scale = kernel.loadScale("v"))
    acc = kb.make<arith::MulFOp>(acc, kb.make<tile::BroadcastOp>(type, scale));
  if (Value mean = kernel.loadMean())
    acc = kb.make<math::FmaOp>(kb.make<tile::BroadcastOp>(type, state.l),
                               kb.make<tile::BroadcastOp>(type, mean), acc);
  return acc;
}

/// Stores O and LSE of the kernel's rows.
static void emitResults(const ForwardKernel &kernel, SoftmaxState state,
                        const ScoreRest &rest) {
  OpBuilder &b = kernel.kb.builder;
  Location loc = kernel.getLoc();
  state.acc = dequantize(kernel, state);
  auto finish = tile::SoftmaxFinishOp::create(
      b, loc, TypeRange(state.acc.getType()), state.m.getType(), state.m,
      state.l, ValueRange(state.acc), emitSink(kernel, rest));
  Value output = emitOutput(kernel, finish.getOutputs().front());
  SmallVector<Value> at = kernel.getRowPlace();
  auto store = [&](StringRef name, Value value, Value target, ValueRange at,
                   int64_t column) {
    DenseI64ArrayAttr dims =
        b.getDenseI64ArrayAttr({kernel.getRowDim(), column});
    tile::StoreOp::create(b, loc, value, target, at, kernel.tile.rows.limit,
                          dims, kernel.getFold(), /*fragments=*/UnitAttr(),
                          /*by_register=*/UnitAttr(), /*add=*/UnitAttr(),
                          b.getStringAttr(name));
  };
  store("out", output, kernel.arguments.o, at, 3);
  if (!kernel.arguments.lse)
    return;
  Value logSum = finish.getLse();
  if (Value common = rest.emitCommon(kernel))
    logSum = arith::AddFOp::create(b, loc, logSum, common);
  store("lse", logSum, kernel.arguments.lse, ValueRange(at).drop_back(), -1);
}

namespace {
class ForwardLowering final : public KernelLowering {
public:
  explicit ForwardLowering(attn::ForwardOp op) : op(op) {}
  FailureOr<plan::KernelAttr> emit(KernelBuilder &kb) override;

private:
  attn::ForwardOp op;
};
} // namespace

FailureOr<plan::KernelAttr> ForwardLowering::emit(KernelBuilder &kb) {
  FailureOr<ForwardPlan> plan = planForward(op, kb);
  if (failed(plan))
    return failure();
  ForwardKernel kernel = ForwardKernel::begin(kb, op, *plan);
  FailureOr<KeyBlocks> blocks = emitKeyBlocks(kernel);
  if (failed(blocks))
    return failure();
  if (kernel.group)
    restrictToPiece(kernel, *blocks);
  ScoreRest rest;
  FailureOr<tile::SoftmaxSumOp> sum =
      emitSum(kernel, *blocks, loadQueries(kernel), rest);
  if (failed(sum))
    return failure();
  SoftmaxState state{sum->getM(), sum->getL(), sum->getAccs().front()};
  if (!kernel.group) {
    emitResults(kernel, state, rest);
  } else {
    emitJoin(kernel, state, [&](const ForwardKernel &rows, SoftmaxState some) {
      emitResults(rows, some, rest);
    });
    if (failed(emitExtent(kernel)))
      return failure();
  }
  kb.endWork();
  return plan->kernel;
}

std::unique_ptr<KernelLowering> fovea::makeForwardLowering(attn::ForwardOp op) {
  return std::make_unique<ForwardLowering>(op);
}
