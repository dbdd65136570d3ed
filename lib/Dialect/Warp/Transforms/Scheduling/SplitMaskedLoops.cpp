//===- SplitMaskedLoops.cpp - Split loops at their masks ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits a loop over blocks at the bounds of its `tile.is_partial` into up to
// three loops: partial blocks, full blocks, partial blocks. In each loop the
// condition is constant, so the loop over full blocks has no mask.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/PipelineLoop.h"

#include "fovea/Dialect/Tile/IR/Tile.h"
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
using namespace fovea::warp;

namespace {
struct SplitMaskedLoopsPass
    : warp::impl::WarpSplitMaskedLoopsBase<SplitMaskedLoopsPass> {
  void runOnKernel() override;
};
} // namespace

namespace {
/// The query which of the loop's blocks are partial. In a pipelined loop, the
/// induction variable is `ahead` greater than the queried block index.
struct PartialQuery {
  tile::IsPartialOp op;
  Value ahead;
};
} // namespace

/// The distance from `index` to the induction variable: null if they are equal,
/// none if the distance is unknown.
static std::optional<Value> findAhead(scf::ForOp loop, Value index) {
  if (index == loop.getInductionVar())
    return Value();
  auto difference = index.getDefiningOp<arith::SubIOp>();
  if (difference && difference.getLhs() == loop.getInductionVar() &&
      loop.isDefinedOutsideOfLoop(difference.getRhs()))
    return difference.getRhs();
  return std::nullopt;
}

/// Finds an `is_partial` of the loop that guards a branch.
static std::optional<PartialQuery> findPartialQuery(scf::ForOp loop) {
  for (auto partial : loop.getBody()->getOps<tile::IsPartialOp>()) {
    std::optional<Value> ahead = findAhead(loop, partial.getBlock());
    bool isOfLoop = ahead.has_value();
    for (Value bound : {partial.getFirst(), partial.getEnd()})
      isOfLoop &= !bound || loop.isDefinedOutsideOfLoop(bound);
    bool guards = llvm::any_of(partial->getUsers(), llvm::IsaPred<scf::IfOp>);
    if (isOfLoop && guards)
      return PartialQuery{partial, *ahead};
  }
  return std::nullopt;
}

/// Returns `bound` if it is a constant that the loop reaches from the constant
/// `start`; `start` if the bound is not greater; otherwise null.
static Value findConstantBound(OpBuilder &b, scf::ForOp loop, Value start,
                               Value bound) {
  std::optional<int64_t> first = getConstantIntValue(start),
                         end = getConstantIntValue(bound),
                         step = getConstantIntValue(loop.getStep()),
                         least = getLeastValue(loop.getUpperBound());
  if (!first || !end)
    return {};
  if (*end <= *first)
    return start;
  if (step != 1 || !least || *least < *end)
    return {};
  return arith::ConstantIndexOp::create(b, loop.getLoc(), *end);
}

/// The first index from `start` on, in steps of the loop, that is at least
/// `bound`. `bound` is clamped to the loop's upper bound.
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

/// Clones `loop` from `lower` to `upper`, with the constant `value` for the
/// condition.
static scf::ForOp cloneLoop(OpBuilder &b, scf::ForOp loop, Value condition,
                            Value lower, Value upper, bool value,
                            ValueRange inits) {
  // Set the inits on the clone. Mapping them would also change other uses of
  // the same constant in the body.
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

/// True if a loop between these bounds provably has no iteration.
static bool isEmpty(Value begin, Value end) {
  std::optional<int64_t> first = getConstantIntValue(begin),
                         last = getConstantIntValue(end);
  return begin == end || (first && last && *first >= *last);
}

static void split(scf::ForOp loop, PartialQuery query) {
  OpBuilder b(loop);
  tile::IsPartialOp partial = query.op;
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Value middle = lower, last = upper;
  auto firstFrom = [&](Value start, Value bound) {
    if (query.ahead)
      bound = b.createOrFold<arith::AddIOp>(loop.getLoc(), bound, query.ahead);
    return firstAtLeast(b, loop, start, bound);
  };
  if (Value first = partial.getFirst())
    middle = firstFrom(lower, first);
  if (Value end = partial.getEnd())
    last = firstFrom(middle, end);
  SmallVector<Value> values(loop.getInitArgs());
  auto append = [&](Value begin, Value end, bool condition) {
    if (isEmpty(begin, end))
      return;
    // `end` may exceed the upper bound if the range is empty or not a multiple
    // of the step.
    std::optional<int64_t> constant = getConstantIntValue(end),
                           least = getLeastValue(upper);
    bool isInside = end == upper || (constant && least && *constant <= *least);
    if (!isInside)
      end = arith::MinSIOp::create(b, loop.getLoc(), end, upper);
    values = SmallVector<Value>(
        cloneLoop(b, loop, partial, begin, end, condition, values)
            .getResults());
  };
  append(lower, middle, true);
  append(middle, last, false);
  append(last, upper, true);
  loop.replaceAllUsesWith(values);
  loop.erase();
}

void SplitMaskedLoopsPass::runOnKernel() {
  SmallVector<scf::ForOp> loops;
  getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    if (std::optional<PartialQuery> query = findPartialQuery(loop)) {
      split(loop, *query);
      ++numSplit;
    }
}
