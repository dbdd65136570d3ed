//===- PipelineLoop.cpp - Loops in two stages -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduling/PipelineLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

/// What is known of `value` from the `depth` ops above it.
static ConstantIntRanges inferRange(Value value, unsigned depth) {
  unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return ConstantIntRanges::constant(constant.sextOrTrunc(width));
  ConstantIntRanges result = ConstantIntRanges::maxRange(width);
  auto op = value.getDefiningOp<InferIntRangeInterface>();
  bool isOfIntegers = op && llvm::all_of(op->getOperandTypes(), [](Type type) {
                        return type.isIntOrIndex();
                      });
  if (depth == 0 || !isOfIntegers)
    return result;
  auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) {
    return inferRange(operand, depth - 1);
  });
  op.inferResultRanges(operands, [&](Value of, const ConstantIntRanges &range) {
    if (of == value)
      result = range;
  });
  return result;
}

std::optional<int64_t> warp::getLeastValue(Value value) {
  // Counts of blocks are a few ops away from what bounds them.
  constexpr unsigned kDepth = 4;
  APInt least = inferRange(value, kDepth).smin();
  if (least.isMinSignedValue())
    return std::nullopt;
  return least.getSExtValue();
}

bool warp::runsOnce(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         least = getLeastValue(loop.getUpperBound());
  return lower && least && *least > *lower;
}

/// Lets the loop count as its first stage does, one ahead, so that conditions
/// on that index stay conditions on the induction variable.
static void countAhead(scf::ForOp loop) {
  Value iv = loop.getInductionVar();
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  SmallVector<arith::AddIOp> ahead;
  for (Operation *user : iv.getUsers()) {
    auto add = dyn_cast<arith::AddIOp>(user);
    if (add && add.getLhs() == iv && add.getRhs() == loop.getStep())
      ahead.push_back(add);
  }
  auto shift = [&](Value bound) -> Value {
    return arith::AddIOp::create(b, loc, bound, loop.getStep());
  };
  loop.setLowerBound(shift(loop.getLowerBound()));
  loop.setUpperBound(shift(loop.getUpperBound()));
  b.setInsertionPointToStart(loop.getBody());
  auto behind = arith::SubIOp::create(b, loc, iv, loop.getStep());
  iv.replaceAllUsesExcept(behind, behind);
  for (arith::AddIOp add : ahead) {
    add.replaceAllUsesWith(iv);
    add.erase();
  }
  if (behind->use_empty())
    behind->erase();
}

FailureOr<scf::ForOp> warp::pipelineInTwoStages(
    scf::ForOp loop, const StagedOrder &order,
    function_ref<void(Operation *, Operation *)> onFirst) {
  llvm::SetVector<Value> predicates;
  scf::PipeliningOption options;
  options.getScheduleFn = [&](scf::ForOp, StagedOrder &wanted) {
    wanted = order;
  };
  // Of two stages the first one alone is copied before the loop, in its order.
  auto original = order.begin();
  options.annotateFn =
      [&](Operation *op, scf::PipeliningOption::PipelinerPart part, unsigned) {
        if (!onFirst || part != scf::PipeliningOption::PipelinerPart::Prologue)
          return;
        original = std::find_if(original, order.end(), [](const auto &entry) {
          return entry.second == 0;
        });
        assert(original != order.end() &&
               original->first->getName() == op->getName());
        onFirst((original++)->first, op);
      };
  // The loop runs at least once, so nothing needs a predicate: what the
  // pipeliner makes of them is undone below.
  options.supportDynamicLoops = true;
  options.predicateFn = [&](RewriterBase &, Operation *op, Value predicate) {
    predicates.insert(predicate);
    return op;
  };
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  // It refuses before it changes anything: predication never fails here.
  FailureOr<scf::ForOp> pipelined =
      scf::pipelineForLoop(rewriter, loop, options);
  if (failed(pipelined))
    return failure();
  for (Value predicate : predicates) {
    rewriter.setInsertionPointAfterValue(predicate);
    Value yes =
        arith::ConstantIntOp::create(rewriter, predicate.getLoc(), 1, 1);
    predicate.replaceAllUsesWith(yes);
  }
  countAhead(*pipelined);
  return pipelined;
}
