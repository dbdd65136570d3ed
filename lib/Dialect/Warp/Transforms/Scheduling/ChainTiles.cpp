//===- ChainTiles.cpp - Pipeline across tiles -----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rotates the loop over work, so that the first dot of the next tile runs
// concurrently with the last dot of the current tile (cross-tile pipelining).
// Runs after `warp-schedule-loops` and before `warp-specialize`.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Ring.h"

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

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

// The most values of a head that the loop may carry in registers. A producer
// role has at most 80 registers per thread, and the time to rewrite the loop
// grows quadratically with the number of values.
static constexpr size_t kMostCarried = 64;

namespace {
struct ChainTilesPass : warp::impl::WarpChainTilesBase<ChainTilesPass> {
  void runOnKernel() override;
};

/// One iteration of the loop over work: a head up to the loop over blocks, that
/// loop, and a tail.
///
/// The head issues the tile's first S = QK^T, the tail its last PV. A rotated
/// iteration is: loop over blocks, head of the next tile, tail of this tile.
/// The head of the first tile precedes the loop over work.
class WorkIteration {
public:
  /// With `chain = 1`, the first dot of the next tile is issued before the last
  /// PV.
  WorkIteration(scf::WhileOp loop, plan::KernelAttr plan)
      : loop(loop), plan(plan), scoresFirst(plan->chain == 1) {}

  /// Fails if the iteration does not have this form.
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
  /// Emits the head of the next tile interleaved with the tail of this one.
  void emitBoth(OpBuilder &b, IRMapping &head, IRMapping &tail);

  scf::WhileOp loop;
  plan::KernelAttr plan;
  bool scoresFirst;
  scf::ForOp blocks;
  /// The head up to the issue of the first S, and the rest of the head.
  SmallVector<Operation *> issueHead, restHead;
  /// Ops that compute the next iteration's values; releases of stages that only
  /// the loop over blocks reads; the tail up to the issue of PV; the rest of
  /// the tail.
  SmallVector<Operation *> continuation, releases, issueTail, restTail;
  /// Values of the head that the loop over blocks and the tail use.
  llvm::SetVector<Value> carried;
  /// Stage views among them: recreated from the ring position, not carried.
  llvm::SetVector<Operation *> views;
};
} // namespace

LogicalResult WorkIteration::findParts() {
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
    StringAttr name = dot.getNameAttr();
    bool isAhead = name && plan.getStage(name) > 0;
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

/// Moves the ops that the loop's condition and its next values depend on out of
/// the tail.
LogicalResult WorkIteration::findContinuation() {
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

void WorkIteration::findCarried() {
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
  // Views of views extend the list.
  for (size_t index = 0; index < views.size(); ++index)
    visit(views[index]);
}

LogicalResult WorkIteration::analyze() {
  if (failed(findParts()) || failed(findContinuation()))
    return failure();
  findCarried();
  return success();
}

void WorkIteration::emitBoth(OpBuilder &b, IRMapping &head, IRMapping &tail) {
  if (scoresFirst) {
    cloneAll(b, issueHead, head);
    cloneAll(b, issueTail, tail);
    cloneAll(b, restHead, head);
    cloneAll(b, restTail, tail);
    return;
  }
  // The Q buffer is free only after the last S of this tile: PV and the output
  // go first, and the next S runs concurrently with them.
  cloneAll(b, issueTail, tail);
  cloneAll(b, issueHead, head);
  cloneAll(b, restTail, tail);
  cloneAll(b, restHead, head);
}

/// The value that replaces a carried value after the last tile, where it is
/// unused. A scalar keeps its value from the start of the iteration, so that
/// loop-invariant values remain recognisable. A tile becomes zeros, because it
/// would stay in registers through the whole iteration.
static Value makePlaceholder(OpBuilder &b, Location loc, Value initial) {
  if (!tile::isRegisterTile(initial.getType()))
    return initial;
  return arith::ConstantOp::create(b, loc, b.getZeroAttr(initial.getType()));
}

void WorkIteration::rotate() {
  Location loc = loop.getLoc();
  IRRewriter b(loop);
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
      value = makePlaceholder(b, loc, argument);
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
  std::string reason = "an iteration over work needs one loop over blocks, "
                       "with a dot issued before it and one after it";
  for (scf::WhileOp loop : loops) {
    WorkIteration iteration(loop, abi.getPlan());
    if (failed(iteration.analyze()))
      continue;
    if (iteration.getNumCarried() > kMostCarried) {
      reason = llvm::formatv("an iteration over work would carry {0} values to "
                             "the next one, at most {1} are kept in registers",
                             iteration.getNumCarried(), kMostCarried);
      continue;
    }
    iteration.rotate();
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
