//===- PipelineLoop.cpp - Pipeline loops in two stages --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Wraps the upstream loop pipeliner (`scf::pipelineForLoop`) for two stages and
// loops that run at least once. The wrapper removes the predicates of the
// pipeliner and shifts the induction variable to that of stage 0.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/PipelineLoop.h"

#include "fovea/Analysis/StaticRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

std::optional<int64_t> warp::getLeastValue(Value value) {
  StaticRanges ranges;
  if (ranges.mayWrap(value))
    return std::nullopt;
  return ranges.getMin(value);
}

bool warp::runsOnce(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()),
                         least = getLeastValue(loop.getUpperBound());
  return lower && least && *least > *lower;
}

/// Shifts the loop bounds by one step, so that the induction variable is the
/// index of stage 0. Conditions on that index then stay conditions on the
/// induction variable.
static void shiftInductionVariable(scf::ForOp loop) {
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
  auto delayed = arith::SubIOp::create(b, loc, iv, loop.getStep());
  iv.replaceAllUsesExcept(delayed, delayed);
  for (arith::AddIOp add : ahead) {
    add.replaceAllUsesWith(iv);
    add.erase();
  }
  if (delayed->use_empty())
    delayed->erase();
}

FailureOr<scf::ForOp> warp::pipelineInTwoStages(
    scf::ForOp loop, const StagedOrder &order,
    function_ref<void(Operation *, Operation *)> onFirst) {
  llvm::SetVector<Value> predicates;
  scf::PipeliningOption options;
  options.getScheduleFn = [&](scf::ForOp, StagedOrder &wanted) {
    wanted = order;
  };
  // The prologue contains only stage 0, in the order of `order`.
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
  // The loop runs at least once, so no op needs a predicate: the predicates of
  // the pipeliner are replaced by true below.
  options.supportDynamicLoops = true;
  options.predicateFn = [&](RewriterBase &, Operation *op, Value predicate) {
    predicates.insert(predicate);
    return op;
  };
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  // The pipeliner fails only before it changes the IR, because predication
  // never fails here.
  FailureOr<scf::ForOp> pipelined =
      scf::pipelineForLoop(rewriter, loop, options);
  if (failed(pipelined))
    return failure();
  for (Value predicate : predicates) {
    rewriter.setInsertionPointAfterValue(predicate);
    Value isTrue =
        arith::ConstantIntOp::create(rewriter, predicate.getLoc(), 1, 1);
    predicate.replaceAllUsesWith(isTrue);
  }
  shiftInductionVariable(*pipelined);
  return pipelined;
}
