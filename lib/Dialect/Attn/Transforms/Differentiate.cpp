//===- Differentiate.cpp - Differentiate score_mod ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Attn/Transforms/Passes.h"

#include "ContributionSums.h"

#include "fovea/Analysis/DifferentiableOpInterface.h"
#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fovea::attn {
#define GEN_PASS_DEF_ATTNDIFFERENTIATE
#include "fovea/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fovea::attn

using namespace mlir;
using namespace fovea;
using namespace fovea::attn;

namespace {
struct DifferentiatePass
    : fovea::attn::impl::AttnDifferentiateBase<DifferentiatePass> {
  using AttnDifferentiateBase::AttnDifferentiateBase;

  void runOnOperation() override {
    WalkResult walk = getOperation()->walk([&](BackwardOp op) -> WalkResult {
      if (op.getScoreMod().empty() || !op.getScoreGradient().empty())
        return WalkResult::advance();
      ++numDifferentiated;
      return differentiateScoreMod(op);
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult differentiateScoreMod(BackwardOp op);
  void contribute(OpBuilder &builder, Location loc, Value target,
                  ValueRange indices, Value value);
};
} // namespace

/// Creates the block of score_gradient with a clone of score_mod, and returns
/// the modified score.
static Value cloneScoreMod(BackwardOp op, OpBuilder &builder) {
  Block &scoreMod = op.getScoreMod().front();
  SmallVector<Type> types(scoreMod.getArgumentTypes());
  SmallVector<Location> locs = llvm::map_to_vector(
      scoreMod.getArguments(), [](BlockArgument arg) { return arg.getLoc(); });
  // The derivative with respect to the modified score is the second argument.
  Operation *yield = scoreMod.getTerminator();
  types.insert(types.begin() + 1, builder.getF32Type());
  locs.insert(locs.begin() + 1, yield->getLoc());
  Block *body = builder.createBlock(&op.getScoreGradient(), {}, types, locs);
  IRMapping mapping;
  mapping.map(scoreMod.getArgument(0), body->getArgument(0));
  mapping.map(scoreMod.getArguments().drop_front(),
              body->getArguments().drop_front(2));
  for (Operation &each : scoreMod.without_terminator())
    builder.clone(each, mapping);
  return mapping.lookup(yield->getOperand(0));
}

/// Erases dead ops in reverse order.
static void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Contributions are summed in f32: a preceding rounding is removed.
static Value toF32(OpBuilder &builder, Location loc, Value value) {
  Type f32 = builder.getF32Type();
  if (value.getType() == f32)
    return value;
  if (auto rounded = value.getDefiningOp<arith::TruncFOp>();
      rounded && rounded.getIn().getType() == f32)
    return rounded.getIn();
  if (value.getType().getIntOrFloatBitWidth() < 32)
    return arith::ExtFOp::create(builder, loc, f32, value);
  return arith::TruncFOp::create(builder, loc, f32, value);
}

void DifferentiatePass::contribute(OpBuilder &builder, Location loc,
                                   Value target, ValueRange indices,
                                   Value value) {
  ContributeOp::create(builder, loc, toF32(builder, loc, value), target,
                       indices);
  ++numContributions;
}

LogicalResult DifferentiatePass::differentiateScoreMod(BackwardOp op) {
  OpBuilder builder(op.getContext());
  Value output = cloneScoreMod(op, builder);
  Block &body = op.getScoreGradient().front();
  SmallVector<Value> by = {body.getArgument(0)};
  for (int64_t capture : op.getDifferentiated())
    by.push_back(
        body.getArgument(BackwardOp::kScoreGradientArguments + capture));
  FailureOr<SmallVector<Value>> gradients = differentiate(
      builder, output, body.getArgument(1), by,
      [&](Location loc, Value tensor, ValueRange indices, Value adjoint) {
        contribute(builder, loc, tensor, indices, adjoint);
      },
      op);
  if (failed(gradients)) {
    body.erase();
    return failure();
  }
  Location loc = op.getScoreMod().front().getTerminator()->getLoc();
  for (auto [value, gradient] : llvm::drop_begin(llvm::zip(by, *gradients)))
    if (gradient)
      contribute(builder, loc, value, {}, gradient);
  Value byScore = gradients->front();
  if (!byScore)
    byScore =
        arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0f));
  YieldOp::create(builder, loc, byScore);
  simplifyContributions(op);
  eraseDeadOps(body);
  return success();
}
