//===- ChainTiles.cpp - The next tile begins under this one -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Ring.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Schedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPCHAINTILES
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// Values of a head that stay in registers from one round to the next. A role
// that copies has no more than 80 registers a thread, and time to rewrite the
// loop grows with the square of their number.
static constexpr size_t kMostCarried = 64;

namespace {
struct ChainTilesPass : warp::impl::WarpChainTilesBase<ChainTilesPass> {
  void runOnKernel() override;
};

/// One round of the loop over work: a head up to the loop over blocks, that
/// loop, and a tail.
///
/// The head issues the tile's first scores, the tail its last product. Rotated,
/// a round is loop, next head, tail; the first head stands before the loop over
/// work.
class Round {
public:
  /// With `chain = 1` the next tile's first dot is issued before the product.
  Round(scf::WhileOp loop, plan::KernelAttr plan)
      : loop(loop), plan(plan), scoresFirst(plan->chain == 1) {}

  /// Fails if the round has another form.
  LogicalResult analyze();
  size_t getNumCarried() const { return carried.size(); }
  void rotate();

private:
  LogicalResult findParts();
  LogicalResult findContinuation();
  void findCarried();
  /// Clones `ops`, in order.
  static void cloneAll(OpBuilder &b, ArrayRef<Operation *> ops,
                       IRMapping &mapping) {
    for (Operation *op : ops)
      b.clone(*op, mapping);
  }
  /// Head of the next tile and tail of this one, woven together.
  void emitBoth(OpBuilder &b, IRMapping &head, IRMapping &tail);

  scf::WhileOp loop;
  plan::KernelAttr plan;
  bool scoresFirst;
  scf::ForOp blocks;
  /// The head up to the first scores' issue, and the rest.
  SmallVector<Operation *> issueHead, restHead;
  /// What the next round is computed from; releases of what only the loop over
  /// blocks read; the tail up to the product's issue, and the rest.
  SmallVector<Operation *> continuation, releases, issueTail, restTail;
  /// Values of the head that loop and tail use.
  llvm::SetVector<Value> carried;
  /// Views among them: made anew from the ring's position, not carried.
  llvm::SetVector<Operation *> views;
};
} // namespace

LogicalResult Round::findParts() {
  for (Operation &op : loop.getBeforeBody()->without_terminator())
    if (auto inner = dyn_cast<scf::ForOp>(op))
      if (!inner.getBody()->getOps<DotWaitOp>().empty()) {
        if (blocks)
          return failure();
        blocks = inner;
      }
  if (!blocks)
    return failure();
  Operation *scores = nullptr, *product = nullptr;
  SmallVector<Operation *> head, tail;
  for (Operation &op : loop.getBeforeBody()->without_terminator()) {
    if (&op == blocks)
      continue;
    bool isHead = op.isBeforeInBlock(blocks);
    (isHead ? head : tail).push_back(&op);
    auto dot = dyn_cast<DotOp>(op);
    if (!dot || !dot.getAsync())
      continue;
    bool isAhead = plan.getDot(dot.getNameAttr()).ahead != 0;
    if (isAhead && isHead)
      scores = dot;
    if (!isAhead && !isHead && !product)
      product = dot;
  }
  if (!scores || !product)
    return failure();
  for (Operation *op : head)
    (scores->isBeforeInBlock(op) ? restHead : issueHead).push_back(op);
  llvm::SetVector<Value> waited;
  for (Operation *op : tail) {
    if (auto wait = dyn_cast<ConsumerWaitOp>(op))
      waited.insert(wait.getPipeline());
    auto release = dyn_cast<ConsumerReleaseOp>(op);
    if (release && !waited.contains(release.getPipeline()))
      releases.push_back(op);
    else
      (product->isBeforeInBlock(op) ? restTail : issueTail).push_back(op);
  }
  return success();
}

/// Moves what the loop's condition and its next values need out of the tail.
LogicalResult Round::findContinuation() {
  llvm::SetVector<Operation *> needed;
  SmallVector<Value> worklist(loop.getConditionOp()->getOperands());
  for (Operation *release : releases)
    llvm::append_range(worklist, release->getOperands());
  while (!worklist.empty()) {
    Operation *def = worklist.pop_back_val().getDefiningOp();
    if (!def || def->getBlock() != loop.getBeforeBody() ||
        !blocks->isBeforeInBlock(def) || !needed.insert(def))
      continue;
    if (!isPure(def) && !isa<NextWorkOp>(def))
      return failure();
    llvm::append_range(worklist, def->getOperands());
  }
  for (SmallVector<Operation *> *part : {&issueTail, &restTail})
    llvm::erase_if(*part, [&](Operation *op) {
      if (!needed.contains(op))
        return false;
      continuation.push_back(op);
      return true;
    });
  return success();
}

void Round::findCarried() {
  llvm::SetVector<Operation *> head;
  head.insert(issueHead.begin(), issueHead.end());
  head.insert(restHead.begin(), restHead.end());
  auto visit = [&](Operation *op) {
    op->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *def = operand.getDefiningOp();
            def && head.contains(def)) {
          if (isa<StageOp>(def))
            views.insert(def);
          else
            carried.insert(operand);
        }
    });
  };
  for (Operation &op : *loop.getBeforeBody())
    if (!head.contains(&op))
      visit(&op);
  // A view of a view adds to the list.
  for (size_t index = 0; index < views.size(); ++index)
    visit(views[index]);
}

LogicalResult Round::analyze() {
  if (failed(findParts()) || failed(findContinuation()))
    return failure();
  findCarried();
  return success();
}

void Round::emitBoth(OpBuilder &b, IRMapping &head, IRMapping &tail) {
  if (scoresFirst) {
    cloneAll(b, issueHead, head);
    cloneAll(b, issueTail, tail);
    cloneAll(b, restHead, head);
    cloneAll(b, restTail, tail);
    return;
  }
  // The query's buffer is free only when this tile's last scores are there: the
  // product and the output go first, the scores run under them.
  cloneAll(b, issueTail, tail);
  cloneAll(b, issueHead, head);
  cloneAll(b, restTail, tail);
  cloneAll(b, restHead, head);
}

/// What stands for a carried value after the last tile, when nobody reads it.
/// What this round began with does for scalars: where each round begins with
/// the same, that can be seen. A tile would stay in registers all through it.
static Value makeUnread(OpBuilder &b, Location loc, Value began) {
  if (!tile::isRegisterTile(began.getType()))
    return began;
  return arith::ConstantOp::create(b, loc, b.getZeroAttr(began.getType()));
}

void Round::rotate() {
  Location loc = loop.getLoc();
  IRRewriter b(loop);
  // The first tile's head.
  IRMapping first;
  first.map(loop.getBeforeArguments(), loop.getInits());
  cloneAll(b, issueHead, first);
  cloneAll(b, restHead, first);
  SmallVector<Value> inits(loop.getInits());
  SmallVector<Type> types(loop.getInits().getTypes());
  for (Value value : carried) {
    inits.push_back(first.lookup(value));
    types.push_back(value.getType());
  }
  SmallVector<Location> locs(types.size(), loc);
  auto rotated = scf::WhileOp::create(b, loc, types, inits);
  Block *body = b.createBlock(&rotated.getBefore(), {}, types, locs);
  IRMapping mapping;
  unsigned count = loop.getInits().size();
  mapping.map(loop.getBeforeArguments(),
              body->getArguments().take_front(count));
  mapping.map(carried.getArrayRef(), body->getArguments().drop_front(count));

  cloneAll(b, views.getArrayRef(), mapping);
  b.clone(*blocks, mapping);
  cloneAll(b, continuation, mapping);
  cloneAll(b, releases, mapping);
  scf::ConditionOp condition = loop.getConditionOp();
  Value more = mapping.lookup(condition.getCondition());
  auto branch = scf::IfOp::create(b, loc, types, more, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  b.setInsertionPointToEnd(branch.thenBlock());
  IRMapping next(mapping), tail(mapping);
  SmallVector<Value> values;
  for (auto [argument, value] :
       llvm::zip(loop.getBeforeArguments(), condition.getArgs())) {
    values.push_back(mapping.lookupOrDefault(value));
    next.map(argument, values.back());
  }
  emitBoth(b, next, tail);
  for (Value value : carried)
    values.push_back(next.lookup(value));
  scf::YieldOp::create(b, loc, values);
  b.setInsertionPointToEnd(branch.elseBlock());
  IRMapping last(mapping);
  cloneAll(b, issueTail, last);
  cloneAll(b, restTail, last);
  for (auto [value, argument] : llvm::zip(values, body->getArguments()))
    if (value.getParentBlock() == branch.thenBlock())
      value = makeUnread(b, loc, argument);
  scf::YieldOp::create(b, loc, values);

  b.setInsertionPointToEnd(body);
  scf::ConditionOp::create(b, loc, more, branch.getResults());
  Block *after = b.createBlock(&rotated.getAfter(), {}, types, locs);
  scf::YieldOp::create(b, loc, after->getArguments());
  b.replaceAllUsesWith(loop.getResults(),
                       rotated.getResults().take_front(count));
  b.eraseOp(loop);
}

void ChainTilesPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  if (!abi.getPlan()->chain)
    return;
  SmallVector<scf::WhileOp> loops;
  getOperation().walk([&](scf::WhileOp loop) {
    if (isDoWhile(loop))
      loops.push_back(loop);
  });
  int64_t chained = 0;
  std::string reason = "a round needs one loop over blocks, with a dot issued "
                       "before it and one behind it";
  for (scf::WhileOp loop : loops) {
    Round round(loop, abi.getPlan());
    if (failed(round.analyze()))
      continue;
    if (round.getNumCarried() > kMostCarried) {
      reason = llvm::formatv("a round would carry {0} values to the next one, "
                             "at most {1} are kept in registers",
                             round.getNumCarried(), kMostCarried);
      continue;
    }
    round.rotate();
    ++numChained;
    ++chained;
  }
  if (chained != 0)
    return reportDone(getOperation(), abi, "chain", "Loops", chained);
  Operation *where =
      loops.empty() ? getOperation() : loops.front().getOperation();
  if (failed(reportMissed(where, abi, "chain", reason)))
    return signalPassFailure();
  abi.setPlanAttr(
      abi.getPlan().change([](plan::KernelPlan &kernel) { kernel.chain = 0; }));
}
