//===- LowerBlocks.cpp - Lower tile.for_blocks to scf.for -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/Transforms/Passes.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace fovea::tile {
#define GEN_PASS_DEF_LOWERBLOCKS
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fovea::tile

using namespace mlir;
using namespace fovea::tile;

namespace {
/// Lowers one `tile.for_blocks` to an `scf.for`.
class BlockLoop {
public:
  explicit BlockLoop(ForBlocksOp op)
      : op(op), rewriter(op.getContext()), b(op.getLoc(), rewriter) {
    b.setInsertionPoint(op);
  }

  void lower() {
    if (op.isVisiting())
      lowerVisits();
    else if (op.getDescending())
      lowerDown();
    else if (op.getAtLeastOnce())
      lowerUpOnce();
    else
      lowerUp();
  }

private:
  /// The first element of a block and its partial flag.
  struct Step {
    Value j, partial;
  };
  void lowerUp();
  void lowerUpOnce();
  void lowerDown();
  /// The number of blocks, at least one.
  Value countBlocks();
  /// The number of steps from `lower` up to `bound`.
  Value countStepsTo(Value bound);
  void lowerVisits();
  /// Creates an empty loop and sets the insertion point to its start.
  scf::ForOp startLoop(Value lower, Value upper, Value step, ValueRange inits);
  /// Moves the body to the end of the loop. The loop carries `more` after the
  /// op's values.
  void fill(scf::ForOp loop, Step step, ValueRange more = {});

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  template <typename OpTy>
  Value compute(Value x, Value y) {
    return b.createOrFold<OpTy>(x, y);
  }

  ForBlocksOp op;
  IRRewriter rewriter;
  ImplicitLocOpBuilder b;
};
} // namespace

scf::ForOp BlockLoop::startLoop(Value lower, Value upper, Value step,
                                ValueRange inits) {
  auto loop = scf::ForOp::create(b, lower, upper, step, inits);
  // The builder creates a terminator if nothing is carried.
  if (!loop.getBody()->empty())
    rewriter.eraseOp(&loop.getBody()->back());
  for (auto [to, from] : llvm::zip(loop.getRegionIterArgs(),
                                   op.getBody().getArguments().drop_front(2)))
    to.setLoc(from.getLoc());
  b.setInsertionPointToStart(loop.getBody());
  return loop;
}

void BlockLoop::fill(scf::ForOp loop, Step step, ValueRange more) {
  Block &body = op.getBody().front();
  Operation *yield = body.getTerminator();
  SmallVector<Value> arguments = {step.j, step.partial};
  llvm::append_range(arguments,
                     loop.getRegionIterArgs().take_front(op.getNumResults()));
  for (auto [to, from] : llvm::zip(arguments, body.getArguments()))
    to.setLoc(from.getLoc());
  rewriter.inlineBlockBefore(&body, loop.getBody(), loop.getBody()->end(),
                             arguments);
  SmallVector<Value> results(yield->getOperands());
  llvm::append_range(results, more);
  b.setInsertionPoint(yield);
  scf::YieldOp::create(b, results);
  rewriter.eraseOp(yield);
  rewriter.replaceOp(op, loop.getResults().take_front(op.getNumResults()));
}

void BlockLoop::lowerUp() {
  scf::ForOp loop = startLoop(op.getLower(), op.getUpper(), index(op.getStep()),
                              op.getCarried());
  Value j = loop.getInductionVar();
  Value partial =
      IsPartialOp::create(b, j, op.getFullLower(), op.getFullUpper());
  fill(loop, {j, partial});
}

Value BlockLoop::countStepsTo(Value bound) {
  Value span = compute<arith::SubIOp>(bound, op.getLower());
  span = compute<arith::MaxSIOp>(span, index(0));
  return compute<arith::CeilDivUIOp>(span, index(op.getStep()));
}

Value BlockLoop::countBlocks() {
  return compute<arith::MaxSIOp>(countStepsTo(op.getUpper()), index(1));
}

/// True if both are the same value or equal constants.
static bool areEqual(Value x, Value y) {
  std::optional<int64_t> constant = getConstantIntValue(x);
  return x == y || (constant && constant == getConstantIntValue(y));
}

/// True if `value` is `of / step * step`, which is not negative.
static bool isRoundedDown(Value value, Value of, int64_t step) {
  if (auto positive = value.getDefiningOp<arith::MaxSIOp>())
    if (getConstantIntValue(positive.getRhs()) == 0)
      value = positive.getLhs();
  auto product = value.getDefiningOp<arith::MulIOp>();
  if (!product || getConstantIntValue(product.getRhs()) != step)
    return false;
  auto quotient = product.getLhs().getDefiningOp<arith::DivUIOp>();
  return quotient && areEqual(quotient.getLhs(), of) &&
         getConstantIntValue(quotient.getRhs()) == step;
}

void BlockLoop::lowerUpOnce() {
  Value one = index(1), size = index(op.getStep());
  Value blocks = countBlocks();
  Value most = compute<arith::SubIOp>(blocks, one);
  Value last =
      compute<arith::AddIOp>(op.getLower(), compute<arith::MulIOp>(most, size));
  Value firstFull = one, endOfFull;
  if (!areEqual(op.getFullLower(), op.getLower()))
    firstFull = compute<arith::MaxSIOp>(countStepsTo(op.getFullLower()), one);
  if (!areEqual(op.getFullUpper(), op.getUpper()))
    endOfFull = countStepsTo(op.getFullUpper());

  scf::ForOp loop = startLoop(index(0), blocks, one, op.getCarried());
  Value i = loop.getInductionVar();
  Value up = arith::AddIOp::create(b, op.getLower(),
                                   arith::MulIOp::create(b, i, size));
  // A pipelined loop may start steps past the end; clamp them to the last
  // block.
  Value j = arith::MinSIOp::create(b, up, last);
  fill(loop, {j, IsPartialOp::create(b, i, firstFull, endOfFull)});
}

void BlockLoop::lowerDown() {
  Value zero = index(0), one = index(1), size = index(op.getStep());
  Value blocks = countBlocks();
  Value most = compute<arith::SubIOp>(blocks, one);
  Value last =
      compute<arith::AddIOp>(op.getLower(), compute<arith::MulIOp>(most, size));

  // The number of blocks starting at full_upper or later, at least one.
  Value firstFull = one;
  if (!isRoundedDown(op.getFullUpper(), op.getUpper(), op.getStep())) {
    Value above = compute<arith::SubIOp>(last, op.getFullUpper());
    above = compute<arith::MaxSIOp>(above, zero);
    above = compute<arith::DivUIOp>(above, size);
    firstFull = compute<arith::AddIOp>(above, one);
  }
  // The number of blocks starting at full_lower or later.
  Value endOfFull;
  if (!areEqual(op.getFullLower(), op.getLower())) {
    Value above = compute<arith::SubIOp>(last, op.getFullLower());
    above = compute<arith::AddIOp>(above, size);
    above = compute<arith::MaxSIOp>(above, zero);
    endOfFull = compute<arith::DivUIOp>(above, size);
  }

  scf::ForOp loop = startLoop(zero, blocks, one, op.getCarried());
  Value i = loop.getInductionVar();
  Value down =
      arith::SubIOp::create(b, last, arith::MulIOp::create(b, i, size));
  // A pipelined loop may start steps past the end; clamp them to key 0.
  Value j = arith::MaxSIOp::create(b, down, zero);
  fill(loop, {j, IsPartialOp::create(b, i, firstFull, endOfFull)});
}

/// The loop carries the scalars of the `visit` region after its own values.
void BlockLoop::lowerVisits() {
  SmallVector<Value> all(op.getCarried());
  llvm::append_range(all, op.getInits());
  Value zero = index(0), one = index(1);
  scf::ForOp loop = startLoop(zero, op.getCount(), one, all);
  Value n = loop.getInductionVar();
  SmallVector<Value> arguments = {n};
  llvm::append_range(arguments,
                     loop.getRegionIterArgs().drop_front(op.getNumResults()));
  Block &visit = op.getVisit().front();
  Operation *yield = visit.getTerminator();
  rewriter.inlineBlockBefore(&visit, loop.getBody(), loop.getBody()->end(),
                             arguments);
  SmallVector<Value> found(yield->getOperands());
  rewriter.eraseOp(yield);
  b.setInsertionPointToEnd(loop.getBody());
  Value partial = IsPartialOp::create(b, n, op.getMasked(), /*end=*/Value());
  fill(loop, {found.front(), partial}, ArrayRef(found).drop_front());
}

namespace {
struct LowerBlocks : fovea::tile::impl::LowerBlocksBase<LowerBlocks> {
  using LowerBlocksBase::LowerBlocksBase;

  void runOnKernel() override {
    SmallVector<ForBlocksOp> loops;
    // Inner loops first.
    getOperation().walk([&](ForBlocksOp op) { loops.push_back(op); });
    for (ForBlocksOp op : loops)
      BlockLoop(op).lower();
    numLowered += loops.size();
  }
};
} // namespace
