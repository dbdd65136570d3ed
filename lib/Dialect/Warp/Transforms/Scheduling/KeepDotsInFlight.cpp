//===- KeepDotsInFlight.cpp - Sums that don't wait each round ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduling/PipelineLoop.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Schedule/Schedule.h"

#include "llvm/ADT/MapVector.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPKEEPDOTSINFLIGHT
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct KeepDotsInFlightPass
    : warp::impl::WarpKeepDotsInFlightBase<KeepDotsInFlightPass> {
  void runOnKernel() override;
};
} // namespace

/// The loop that adds up what the dot gives, and does nothing else with it;
/// null after a diagnostic.
static scf::ForOp findSum(DotOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  auto acc = dyn_cast<BlockArgument>(dot.getAcc());
  if (!loop || !acc || acc.getOwner() != loop.getBody() || !acc.hasOneUse() ||
      !dot.getResult().hasOneUse() ||
      loop.getTiedLoopYieldedValue(acc)->get() != dot.getResult()) {
    dot.emitError("only a sum that a loop carries, and that nothing else in it "
                  "reads, can be kept in flight");
    return {};
  }
  if (!tile::isRegisterTile(dot.getResult().getType()) ||
      !isSharedBuffer(dot.getA().getType())) {
    dot.emitError("only a synchronous dot of operands in shared memory can be "
                  "kept in flight");
    return {};
  }
  if (!runsOnce(loop)) {
    InFlightDiagnostic diag =
        dot.emitError("can be kept in flight only in a loop that surely runs "
                      "once");
    diag.attachNote(loop.getLoc())
        << "what is known of its bounds lets it run no times";
    return {};
  }
  return loop;
}

/// Stages that are released behind the dot are released a round later, so each
/// ring needs a stage to go on with.
static LogicalResult checkStages(DotOp dot) {
  for (Operation *op = dot->getNextNode(); op; op = op->getNextNode()) {
    auto release = dyn_cast<ConsumerReleaseOp>(op);
    if (!release || release.getPipeline().getType().getStages() > 1)
      continue;
    InFlightDiagnostic diag = dot.emitError(
        "kept in flight, reads stages of a ring that has no other one");
    diag.attachNote(release.getLoc()) << "released here";
    return diag;
  }
  return success();
}

/// The loop carries the product that is not delivered; it is, behind the loop.
static void carryPending(scf::ForOp loop, DotOp dot) {
  auto acc = cast<BlockArgument>(dot.getAcc());
  Location loc = dot.getLoc();
  OpBuilder b(loop);
  OpOperand *init = loop.getTiedLoopInit(acc);
  init->set(BeginSumOp::create(b, loc, init->get()));
  acc.setType(init->get().getType());
  OpResult sum = loop.getTiedLoopResult(acc);
  sum.setType(acc.getType());

  b.setInsertionPoint(dot);
  auto issued = DotOp::create(
      b, loc, dot.getA(), dot.getB(), acc, dot.getOnes(), dot.getTransposeA(),
      dot.getTransposeB(), /*async=*/true, dot.getNameAttr(),
      dot.getFirstRowAttr(), dot.getFirstColumnAttr());
  AwaitReadsOp::create(b, loc, issued.getResult());
  dot.getResult().replaceAllUsesWith(issued.getResult());
  dot.erase();
  b.setInsertionPointAfter(loop);
  auto wait = DotWaitOp::create(b, loc, sum, ValueRange(), ValueRange());
  sum.replaceAllUsesExcept(wait.getResult(), wait);
}

/// This round's dots are issued, then the last round's have read their stages,
/// which are released.
static StagedOrder getOrder(scf::ForOp loop) {
  StagedOrder order, late;
  bool isBehind = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    bool isWait = isa<AwaitReadsOp>(op);
    isBehind |= isWait;
    if (isWait || (isBehind && isa<ConsumerReleaseOp>(op)))
      late.emplace_back(&op, 1);
    else
      order.emplace_back(&op, 0);
  }
  llvm::append_range(order, late);
  return order;
}

void KeepDotsInFlightPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  // Only what roles ask for is made while they go on.
  bool canWait =
      abi.getPlan().hasRoles() && abi.getPlan().getUnit().isAsynchronous();
  llvm::MapVector<Operation *, SmallVector<DotOp>> loops;
  WalkResult walk = getOperation().walk([&](DotOp dot) -> WalkResult {
    if (!abi.getPlan().getDot(dot.getNameAttr()).inFlight)
      return WalkResult::advance();
    if (!canWait)
      return failed(reportMissed(dot, abi, "in_flight",
                                 "all warps run one program, or the matrix "
                                 "unit's products are made at once"))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    scf::ForOp loop = findSum(dot);
    if (!loop || failed(checkStages(dot)))
      return WalkResult::interrupt();
    loops[loop].push_back(dot);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return signalPassFailure();
  int64_t waiting = 0;
  for (auto &[op, dots] : loops) {
    auto loop = cast<scf::ForOp>(op);
    for (DotOp dot : dots)
      carryPending(loop, dot);
    numDots += dots.size();
    if (failed(pipelineInTwoStages(loop, getOrder(loop)))) {
      op->emitError("the loop can't be run in two stages");
      return signalPassFailure();
    }
    waiting += dots.size();
  }
  if (waiting)
    reportDone(getOperation(), abi, "in_flight", "Dots", waiting);
}
