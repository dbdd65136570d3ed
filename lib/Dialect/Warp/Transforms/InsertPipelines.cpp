//===- InsertPipelines.cpp - A pipeline for each copy -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ring.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPINSERTPIPELINES
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
/// What puts a tile into a buffer of its own: a copy, or a store with the fence
/// behind it.
struct Fill {
  static FailureOr<Fill> get(Operation *op, AllocOp alloc);

  /// The same into a stage, between its acquire and its commit.
  void emit(OpBuilder &b, Value stage) const;
  void erase(RewriterBase &b) const;

  AllocOp alloc;
  StringAttr name;
  /// In order.
  SmallVector<Operation *, 2> ops;
  SmallVector<Operation *> readers;
};

struct InsertPipelinesPass
    : warp::impl::WarpInsertPipelinesBase<InsertPipelinesPass> {
  void runOnOperation() override;

private:
  LogicalResult convert(const Fill &fill, tile::ScheduleAttr schedule);
};
} // namespace

FailureOr<Fill> Fill::get(Operation *op, AllocOp alloc) {
  auto copy = dyn_cast<CopyOp>(op);
  if (!alloc || (copy && copy.getCondition()))
    return op->emitError("only unconditional copies into a buffer of their "
                         "own get a pipeline");
  Fill fill;
  fill.alloc = alloc;
  fill.name = cast<tile::NamedOpInterface>(op).getNameAttr();
  fill.ops.push_back(op);
  if (!copy)
    for (Operation *user : alloc->getUsers())
      if (isa<FenceStoresOp>(user))
        fill.ops.push_back(user);
  Block *block = op->getBlock();
  for (Operation *user : alloc->getUsers()) {
    if (llvm::is_contained(fill.ops, user))
      continue;
    if (isa<CopyOp, LocalStoreOp>(user) || !block->findAncestorOpInBlock(*user))
      return user->emitError("uses a buffer that is ")
             << (copy ? "copied" : "stored") << " to elsewhere";
    fill.readers.push_back(user);
  }
  if (fill.readers.empty())
    return op->emitError("nobody reads the buffer");
  Operation *first = getRange(block, fill.readers).first;
  if (first->isBeforeInBlock(op))
    return first->emitError("reads a buffer before the ")
           << (copy ? "copy" : "store") << " that fills it";
  return fill;
}

void Fill::emit(OpBuilder &b, Value stage) const {
  Operation *op = ops.front();
  if (auto copy = dyn_cast<CopyOp>(op)) {
    CopyOp::create(b, op->getLoc(), copy.getSource(), copy.getIndices(),
                   copy.getLimit(), Value(), stage, copy.getDims(),
                   copy.getFoldAttr(), /*async=*/true, name);
    return;
  }
  LocalStoreOp::create(b, op->getLoc(), cast<LocalStoreOp>(op).getValue(),
                       stage, name);
  for (Operation *fence : ArrayRef(ops).drop_front())
    FenceStoresOp::create(b, fence->getLoc(), stage);
}

void Fill::erase(RewriterBase &b) const {
  for (Operation *op : llvm::reverse(ops))
    b.eraseOp(op);
}

/// Loops around `op`, the outermost first.
static SmallVector<Operation *> getLoops(Operation *op) {
  SmallVector<Operation *> loops;
  for (Operation *parent = op->getParentOp(); !isa<gpu::GPUFuncOp>(parent);
       parent = parent->getParentOp())
    loops.push_back(parent);
  return {loops.rbegin(), loops.rend()};
}

/// Carries `state` through the loops and returns it as the innermost one has
/// it; there it moves on by one each round.
static FailureOr<RingState> carry(ArrayRef<Operation *> loops, RingState state,
                                  int64_t stages) {
  IRRewriter b(loops.front()->getContext());
  // From the outside in: each loop's rounds end where the inner one's end, so
  // the values to carry on are filled in when that is made.
  Operation *outer = nullptr;
  for (auto [index, loop] : llvm::enumerate(loops)) {
    bool isLast = index + 1 == loops.size();
    RingState inside;
    Location loc = loop->getLoc();
    FailureOr<Operation *> made = addCarried(
        b, loop, {state.stage, state.phase},
        [&](OpBuilder &inner, ValueRange carried) {
          inside = {carried[0], carried[1]};
          RingState next =
              isLast ? advance(inner, loc, inside, 1, stages) : inside;
          return SmallVector<Value>{next.stage, next.phase};
        });
    if (failed(made))
      return failure();
    if (outer) {
      // The outer loop goes on with what this one ends with.
      auto results = (*made)->getResults().take_back(2);
      Operation *terminator = isa<scf::WhileOp>(outer)
                                  ? cast<scf::WhileOp>(outer).getConditionOp()
                                  : (*made)->getBlock()->getTerminator();
      unsigned count = terminator->getNumOperands();
      terminator->setOperand(count - 2, results[0]);
      terminator->setOperand(count - 1, results[1]);
    }
    outer = *made;
    state = inside;
  }
  return state;
}

LogicalResult InsertPipelinesPass::convert(const Fill &fill,
                                           tile::ScheduleAttr schedule) {
  Operation *op = fill.ops.front();
  auto [first, last] = getRange(op->getBlock(), fill.readers);
  Location loc = op->getLoc();
  int64_t stages = schedule.getStream(fill.name).stages;
  // A buffer lives as long as the CTA; its ring is carried through all loops
  // around the copy, so it starts outside of them.
  IRRewriter b(&getContext());
  AllocOp alloc = fill.alloc;
  Operation *place =
      getOperation().getBody().front().findAncestorOpInBlock(*alloc);
  b.setInsertionPoint(place ? place : alloc);
  Value buffer = warp::AllocOp::create(
      b, loc, getStagedType(alloc.getBuffer().getType(), stages),
      IntegerAttr());
  Value pipeline = warp::PipelineOp::create(
      b, loc, warp::PipelineType::get(&getContext(), stages), IntegerAttr(),
      fill.name);
  Value zero = makeI32(b, loc, 0);
  RingState state = {zero, zero};
  SmallVector<Operation *> loops = getLoops(op);
  if (!loops.empty()) {
    FailureOr<RingState> carried = carry(loops, state, stages);
    if (failed(carried))
      return failure();
    state = *carried;
  }

  b.setInsertionPoint(op);
  warp::ProducerAcquireOp::create(b, loc, pipeline, state.stage, state.phase);
  fill.emit(b, makeStageView(b, loc, buffer, state.stage));
  warp::ProducerCommitOp::create(b, loc, pipeline, state.stage, state.phase);
  b.setInsertionPoint(first);
  warp::ConsumerWaitOp::create(b, loc, pipeline, state.stage, state.phase);
  Value view = makeStageView(b, loc, buffer, state.stage);
  b.setInsertionPointAfter(last);
  warp::ConsumerReleaseOp::create(b, loc, pipeline, state.stage, state.phase);
  fill.erase(b);
  b.replaceAllUsesWith(alloc.getBuffer(), view);
  b.eraseOp(alloc);
  ++numPipelines;
  return success();
}

/// The buffer that an op fills, if it is one of its own and no stage.
static std::optional<AllocOp> getFilled(Operation *op) {
  if (auto copy = dyn_cast<CopyOp>(op); copy && !copy.getAsync())
    return copy.getTarget().getDefiningOp<AllocOp>();
  auto store = dyn_cast<LocalStoreOp>(op);
  if (store && !store.getTarget().getDefiningOp<StageOp>())
    return store.getTarget().getDefiningOp<AllocOp>();
  return std::nullopt;
}

void InsertPipelinesPass::runOnOperation() {
  tile::AbiOp abi = tile::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  // Where all warps copy, 'warp-insert-async-copies' has done it for copies.
  bool hasRoles = abi.getSchedule().hasRoles();
  SmallVector<std::pair<Operation *, AllocOp>> fills;
  getOperation().walk([&](Operation *op) {
    std::optional<AllocOp> alloc = getFilled(op);
    if (alloc && (hasRoles || isa<LocalStoreOp>(op)))
      fills.emplace_back(op, *alloc);
  });
  for (auto [op, alloc] : fills) {
    FailureOr<Fill> fill = Fill::get(op, alloc);
    if (failed(fill) || failed(convert(*fill, abi.getSchedule())))
      return signalPassFailure();
  }
}
