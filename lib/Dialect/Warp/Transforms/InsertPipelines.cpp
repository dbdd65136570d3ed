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
struct InsertPipelinesPass
    : warp::impl::WarpInsertPipelinesBase<InsertPipelinesPass> {
  void runOnOperation() override;

private:
  LogicalResult convert(warp::CopyOp copy, tile::ScheduleAttr schedule);
};
} // namespace

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

LogicalResult InsertPipelinesPass::convert(warp::CopyOp copy,
                                           tile::ScheduleAttr schedule) {
  auto alloc = copy.getTarget().getDefiningOp<warp::AllocOp>();
  SmallVector<Operation *> readers;
  for (Operation *user : alloc ? alloc->getUsers() : copy->getUsers())
    if (user != copy)
      readers.push_back(user);
  Block *block = copy->getBlock();
  for (Operation *reader : readers)
    if (isa<warp::CopyOp>(reader) || !block->findAncestorOpInBlock(*reader))
      return reader->emitError("uses a buffer that is copied to elsewhere");
  if (!alloc || copy.getCondition())
    return copy.emitError("only unconditional copies into a buffer of their "
                          "own get a pipeline");
  if (readers.empty())
    return copy.emitError("nobody reads the buffer");
  auto [first, last] = getRange(block, readers);
  if (first->isBeforeInBlock(copy))
    return first->emitError("reads a buffer before the copy that fills it");

  Location loc = copy.getLoc();
  int64_t stages = schedule.getStream(copy.getNameAttr()).stages;
  // A buffer lives as long as the CTA; its ring is carried through all loops
  // around the copy, so it starts outside of them.
  IRRewriter b(&getContext());
  Operation *place =
      getOperation().getBody().front().findAncestorOpInBlock(*alloc);
  b.setInsertionPoint(place ? place : alloc);
  Value buffer = warp::AllocOp::create(
      b, loc, getStagedType(alloc.getBuffer().getType(), stages),
      IntegerAttr());
  Value pipeline = warp::PipelineOp::create(
      b, loc, warp::PipelineType::get(&getContext(), stages), IntegerAttr(),
      copy.getNameAttr());
  Value zero = makeI32(b, loc, 0);
  RingState state = {zero, zero};
  SmallVector<Operation *> loops = getLoops(copy);
  if (!loops.empty()) {
    FailureOr<RingState> carried = carry(loops, state, stages);
    if (failed(carried))
      return failure();
    state = *carried;
  }

  b.setInsertionPoint(copy);
  warp::ProducerAcquireOp::create(b, loc, pipeline, state.stage, state.phase);
  Value target = makeStageView(b, loc, buffer, state.stage);
  warp::CopyOp::create(b, loc, copy.getSource(), copy.getIndices(),
                       copy.getLimit(), Value(), target, copy.getDims(),
                       copy.getFoldAttr(), /*async=*/true, copy.getNameAttr());
  warp::ProducerCommitOp::create(b, loc, pipeline, state.stage, state.phase);
  b.setInsertionPoint(first);
  warp::ConsumerWaitOp::create(b, loc, pipeline, state.stage, state.phase);
  Value view = makeStageView(b, loc, buffer, state.stage);
  b.setInsertionPointAfter(last);
  warp::ConsumerReleaseOp::create(b, loc, pipeline, state.stage, state.phase);
  b.eraseOp(copy);
  b.replaceAllUsesWith(alloc.getBuffer(), view);
  b.eraseOp(alloc);
  ++numPipelines;
  return success();
}

void InsertPipelinesPass::runOnOperation() {
  tile::AbiOp abi = tile::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  if (!abi.getSchedule().hasRoles())
    return;
  SmallVector<warp::CopyOp> copies;
  getOperation().walk([&](warp::CopyOp copy) {
    if (!copy.getAsync())
      copies.push_back(copy);
  });
  for (warp::CopyOp copy : copies)
    if (failed(convert(copy, abi.getSchedule())))
      return signalPassFailure();
}
