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
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPSPLITMASKEDLOOPS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

namespace {
/// `iv < lower or iv >= upper` in a loop's body; either may be missing.
struct OutsideRange {
  Value condition, lower, upper;
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

/// What `condition` says about the loop's index, if it is what we split at.
static std::optional<OutsideRange> matchCondition(Value condition,
                                                  scf::ForOp loop) {
  auto matchLower = [&](Value value) {
    return matchCompare(value, loop, arith::CmpIPredicate::slt);
  };
  auto matchUpper = [&](Value value) {
    return matchCompare(value, loop, arith::CmpIPredicate::sge);
  };
  if (Value lower = matchLower(condition))
    return OutsideRange{condition, lower, {}};
  if (Value upper = matchUpper(condition))
    return OutsideRange{condition, {}, upper};
  auto either = condition.getDefiningOp<arith::OrIOp>();
  if (!either)
    return std::nullopt;
  for (auto [below, above] : {std::pair(either.getLhs(), either.getRhs()),
                              std::pair(either.getRhs(), either.getLhs())}) {
    Value lower = matchLower(below), upper = matchUpper(above);
    if (lower && upper)
      return OutsideRange{condition, lower, upper};
  }
  return std::nullopt;
}

static std::optional<OutsideRange> findCondition(scf::ForOp loop) {
  if (!loop.getInductionVar().getType().isIndex())
    return std::nullopt;
  for (Operation &op : *loop.getBody()) {
    if (!isa<arith::CmpIOp, arith::OrIOp>(op))
      continue;
    bool guards = llvm::any_of(
        op.getUsers(), [](Operation *user) { return isa<scf::IfOp>(user); });
    if (!guards)
      continue;
    if (auto range = matchCondition(op.getResult(0), loop))
      return range;
  }
  return std::nullopt;
}

/// A constant that `value` is at least.
static std::optional<int64_t> getLeast(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return constant;
  if (auto maximum = value.getDefiningOp<arith::MaxSIOp>())
    return getConstantIntValue(maximum.getRhs());
  return std::nullopt;
}

/// `bound`, if it is a constant that the loop, from the constant `start` on,
/// steps on and does not end before; or `start`, if the bound is not above it.
static Value findConstantBound(OpBuilder &b, scf::ForOp loop, Value start,
                               Value bound) {
  std::optional<int64_t> first = getConstantIntValue(start),
                         end = getConstantIntValue(bound),
                         step = getConstantIntValue(loop.getStep()),
                         least = getLeast(loop.getUpperBound());
  if (!first || !end)
    return {};
  if (*end <= *first)
    return start;
  if (step != 1 || !least || *least < *end)
    return {};
  return arith::ConstantIndexOp::create(b, loop.getLoc(), *end);
}

/// The first index of the loop's sequence, from `start` on, that is not below
/// `bound`; at most the loop's upper bound.
static Value firstAtLeast(OpBuilder &b, scf::ForOp loop, Value start,
                          Value bound) {
  if (Value constant = findConstantBound(b, loop, start, bound))
    return constant;
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
  // The inits are set on the clone: mapped, they would also change in the body,
  // which may use the same constant for something else.
  IRMapping mapping;
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

/// Whether a loop between these has no iteration, as far as constants tell.
static bool isEmpty(Value begin, Value end) {
  std::optional<int64_t> first = getConstantIntValue(begin),
                         last = getConstantIntValue(end);
  return begin == end || (first && last && *first >= *last);
}

static void split(scf::ForOp loop, const OutsideRange &range) {
  OpBuilder b(loop);
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Value middle = lower, last = upper;
  if (range.lower)
    middle = firstAtLeast(b, loop, lower, range.lower);
  if (range.upper)
    last = firstAtLeast(b, loop, middle, range.upper);
  SmallVector<Value> values(loop.getInitArgs());
  auto append = [&](Value begin, Value end, bool condition) {
    if (isEmpty(begin, end))
      return;
    // An end past the loop's own happens where its range is empty or ragged.
    std::optional<int64_t> constant = getConstantIntValue(end),
                           least = getLeast(upper);
    bool isInside = end == upper || (constant && least && *constant <= *least);
    if (!isInside)
      end = arith::MinSIOp::create(b, loop.getLoc(), end, upper);
    values = SmallVector<Value>(
        cloneLoop(b, loop, range.condition, begin, end, condition, values)
            .getResults());
  };
  append(lower, middle, true);
  append(middle, last, false);
  append(last, upper, true);
  loop.replaceAllUsesWith(values);
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
