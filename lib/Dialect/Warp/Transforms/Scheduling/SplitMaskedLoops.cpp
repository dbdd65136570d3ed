//===- SplitMaskedLoops.cpp - Split loops at their masks --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
/// The question which of a loop's blocks are partial; the loop counts so many
/// steps ahead of the block that it asks about, where it is pipelined.
struct Question {
  tile::IsPartialOp op;
  Value ahead;
};
} // namespace

/// How far the loop's count is ahead of `index`: null if not at all, nothing if
/// that can't be told.
static std::optional<Value> findAhead(scf::ForOp loop, Value index) {
  if (index == loop.getInductionVar())
    return Value();
  auto difference = index.getDefiningOp<arith::SubIOp>();
  if (difference && difference.getLhs() == loop.getInductionVar() &&
      loop.isDefinedOutsideOfLoop(difference.getRhs()))
    return difference.getRhs();
  return std::nullopt;
}

/// The question that is asked where something is done for partial blocks alone.
static std::optional<Question> findQuestion(scf::ForOp loop) {
  for (auto partial : loop.getBody()->getOps<tile::IsPartialOp>()) {
    std::optional<Value> ahead = findAhead(loop, partial.getBlock());
    bool isOfLoop = ahead.has_value();
    for (Value bound : {partial.getFirst(), partial.getEnd()})
      isOfLoop &= !bound || loop.isDefinedOutsideOfLoop(bound);
    bool guards = llvm::any_of(partial->getUsers(), llvm::IsaPred<scf::IfOp>);
    if (isOfLoop && guards)
      return Question{partial, *ahead};
  }
  return std::nullopt;
}

/// `bound`, if it is a constant that the loop, from the constant `start` on,
/// steps on and does not end before; or `start`, if the bound is not above it.
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

static void split(scf::ForOp loop, Question question) {
  OpBuilder b(loop);
  tile::IsPartialOp partial = question.op;
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Value middle = lower, last = upper;
  auto firstFrom = [&](Value start, Value bound) {
    if (question.ahead)
      bound =
          b.createOrFold<arith::AddIOp>(loop.getLoc(), bound, question.ahead);
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
    // An end past the loop's own happens where its range is empty or ragged.
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
    if (std::optional<Question> question = findQuestion(loop)) {
      split(loop, *question);
      ++numSplit;
    }
}
