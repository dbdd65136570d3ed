//===- KeepDotsInFlight.cpp - Keep accumulations outstanding --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For dots whose plan says `in_flight`, the loop carries the outstanding
// accumulator, so iteration i+1 issues its dot before that of iteration i has
// completed. The wait follows the loop, and the stages that a dot reads are
// released one iteration later.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/PipelineLoop.h"

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

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

/// The loop that carries the dot's accumulator, if the dot is its only user.
/// Null after a diagnostic.
static scf::ForOp findAccumulationLoop(DotOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  auto acc = dyn_cast<BlockArgument>(dot.getAcc());
  if (!loop || !acc || acc.getOwner() != loop.getBody() || !acc.hasOneUse() ||
      !dot.getResult().hasOneUse() ||
      loop.getTiedLoopYieldedValue(acc)->get() != dot.getResult()) {
    dot.emitError("can't keep this dot outstanding: expected a loop-carried "
                  "accumulator that no other op of the loop reads");
    return {};
  }
  if (!tile::isRegisterTile(dot.getResult().getType()) ||
      !isSharedBuffer(dot.getA().getType())) {
    dot.emitError("can't keep this dot outstanding: expected a synchronous dot "
                  "with operands in shared memory");
    return {};
  }
  if (!runsOnce(loop)) {
    InFlightDiagnostic diag =
        dot.emitError("can't keep this dot outstanding: expected a loop that "
                      "runs at least once");
    diag.attachNote(loop.getLoc()) << "its known bounds allow zero iterations";
    return {};
  }
  return loop;
}

/// Stages released after the dot are released one iteration later, so each ring
/// needs a second stage.
static LogicalResult checkStages(DotOp dot) {
  for (Operation *op = dot->getNextNode(); op; op = op->getNextNode()) {
    auto release = dyn_cast<ConsumerReleaseOp>(op);
    if (!release || release.getPipeline().getType().getStages() > 1)
      continue;
    InFlightDiagnostic diag =
        dot.emitError("can't keep this dot outstanding: it reads a ring with a "
                      "single stage, expected at least two");
    diag.attachNote(release.getLoc()) << "released here";
    return diag;
  }
  return success();
}

/// Makes the loop carry the pending accumulator, and waits for it after the
/// loop.
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

/// Issues the dots of this iteration first, then waits until those of the
/// previous iteration have read their stages, and releases these stages.
static StagedOrder getOrder(scf::ForOp loop) {
  StagedOrder order, late;
  bool isAfterWait = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    bool isWait = isa<AwaitReadsOp>(op);
    isAfterWait |= isWait;
    if (isWait || (isAfterWait && isa<ConsumerReleaseOp>(op)))
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
  // Dots run asynchronously only in kernels with roles.
  bool isAsync =
      abi.getPlan().hasRoles() && abi.getPlan().getUnit().isAsynchronous();
  llvm::MapVector<Operation *, SmallVector<DotOp>> loops;
  WalkResult walk = getOperation().walk([&](DotOp dot) -> WalkResult {
    if (!abi.getPlan().getDot(dot.getNameAttr()).inFlight)
      return WalkResult::advance();
    if (!isAsync)
      return failed(reportMissed(
                 dot, abi, "in_flight",
                 "the kernel has no roles, or its MMA unit is synchronous"))
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    scf::ForOp loop = findAccumulationLoop(dot);
    if (!loop || failed(checkStages(dot)))
      return WalkResult::interrupt();
    loops[loop].push_back(dot);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return signalPassFailure();
  int64_t outstanding = 0;
  for (auto &[op, dots] : loops) {
    auto loop = cast<scf::ForOp>(op);
    for (DotOp dot : dots)
      carryPending(loop, dot);
    numDots += dots.size();
    if (failed(pipelineInTwoStages(loop, getOrder(loop)))) {
      op->emitError("the loop can't be pipelined in two stages");
      return signalPassFailure();
    }
    outstanding += dots.size();
  }
  if (outstanding)
    reportDone(getOperation(), abi, "in_flight", "Dots", outstanding);
}
