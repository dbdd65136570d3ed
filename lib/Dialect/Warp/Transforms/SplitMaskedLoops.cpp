//===- SplitMaskedLoops.cpp - Split loops at their masks --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPSPLITMASKEDLOOPS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

namespace {
/// `iv < lower or iv >= upper` in a loop's body.
struct OutsideRange {
  arith::OrIOp condition;
  Value lower, upper;
};

struct SplitMaskedLoopsPass
    : warp::impl::WarpSplitMaskedLoopsBase<SplitMaskedLoopsPass> {
  void runOnOperation() override;
};
} // namespace

/// The bound of `iv <predicate> bound`, if it is defined outside of the loop.
static Value matchCompare(Value value, scf::ForOp loop,
                          arith::CmpIPredicate predicate) {
  auto compare = value.getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != predicate ||
      compare.getLhs() != loop.getInductionVar() ||
      !loop.isDefinedOutsideOfLoop(compare.getRhs()))
    return {};
  return compare.getRhs();
}

static std::optional<OutsideRange> findCondition(scf::ForOp loop) {
  if (!loop.getInductionVar().getType().isIndex())
    return std::nullopt;
  for (auto condition : loop.getBody()->getOps<arith::OrIOp>()) {
    bool guards = llvm::any_of(condition->getUsers(), [](Operation *user) {
      return isa<scf::IfOp>(user);
    });
    if (!guards)
      continue;
    for (auto [below, above] :
         {std::pair(condition.getLhs(), condition.getRhs()),
          std::pair(condition.getRhs(), condition.getLhs())}) {
      Value lower = matchCompare(below, loop, arith::CmpIPredicate::slt);
      Value upper = matchCompare(above, loop, arith::CmpIPredicate::sge);
      if (lower && upper)
        return OutsideRange{condition, lower, upper};
    }
  }
  return std::nullopt;
}

/// The first index of the loop's sequence, from `start` on, that is not below
/// `bound`; at most the loop's upper bound.
static Value firstAtLeast(OpBuilder &b, scf::ForOp loop, Value start,
                          Value bound) {
  Location loc = loop.getLoc();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value clipped = arith::MinSIOp::create(b, loc, bound, loop.getUpperBound());
  Value distance = arith::SubIOp::create(b, loc, clipped, start);
  Value ahead = arith::MaxSIOp::create(b, loc, distance, zero);
  Value steps = arith::CeilDivUIOp::create(b, loc, ahead, loop.getStep());
  Value span = arith::MulIOp::create(b, loc, steps, loop.getStep());
  return arith::AddIOp::create(b, loc, start, span);
}

/// A copy of `loop` from `lower` to `upper` where the condition is `value`.
static scf::ForOp cloneLoop(OpBuilder &b, scf::ForOp loop, Value condition,
                            Value lower, Value upper, bool value,
                            ValueRange inits) {
  IRMapping mapping;
  mapping.map(loop.getInitArgs(), inits);
  auto clone = cast<scf::ForOp>(b.clone(*loop, mapping));
  clone.setLowerBound(lower);
  clone.setUpperBound(upper);
  clone.getInitArgsMutable().assign(inits);
  Value inside = mapping.lookup(condition);
  OpBuilder body = OpBuilder::atBlockBegin(clone.getBody());
  inside.replaceAllUsesWith(
      arith::ConstantIntOp::create(body, loop.getLoc(), value, 1));
  return clone;
}

static void split(scf::ForOp loop, OutsideRange range) {
  OpBuilder b(loop);
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Value middle = firstAtLeast(b, loop, lower, range.lower);
  Value last = firstAtLeast(b, loop, middle, range.upper);
  Value condition = range.condition.getResult();
  // An end past the loop's own happens where its range is empty or ragged.
  auto clip = [&](Value end) -> Value {
    return arith::MinSIOp::create(b, loop.getLoc(), end, upper);
  };
  scf::ForOp before = cloneLoop(b, loop, condition, lower, clip(middle), true,
                                loop.getInitArgs());
  scf::ForOp inside = cloneLoop(b, loop, condition, middle, clip(last), false,
                                before.getResults());
  scf::ForOp after =
      cloneLoop(b, loop, condition, last, upper, true, inside.getResults());
  loop.replaceAllUsesWith(after.getResults());
  loop.erase();
}

void SplitMaskedLoopsPass::runOnOperation() {
  SmallVector<scf::ForOp> loops;
  getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    if (std::optional<OutsideRange> range = findCondition(loop)) {
      split(loop, *range);
      ++numSplit;
    }
}
