//===- PipelineLoop.cpp - Loops in two stages -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineLoop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

bool warp::runsOnce(scf::ForOp loop) {
  APInt lower, least;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)))
    return false;
  auto isAbove = [&](Value bound) {
    return matchPattern(bound, m_ConstantInt(&least)) && least.sgt(lower);
  };
  if (isAbove(loop.getUpperBound()))
    return true;
  Operation *max = loop.getUpperBound().getDefiningOp();
  return isa_and_nonnull<arith::MaxSIOp, arith::MaxUIOp>(max) &&
         llvm::any_of(max->getOperands(), isAbove);
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
