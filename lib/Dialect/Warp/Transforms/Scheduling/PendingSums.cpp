//===- PendingSums.cpp - Loop-carried outstanding sums --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lets a loop carry the outstanding accumulator of a dot, so that iteration i+1
// issues its dot before that of iteration i has completed.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/PendingSums.h"

#include "Scheduling/PipelineLoop.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

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

LogicalResult warp::carryPendingSum(DotOp dot) {
  scf::ForOp loop = findAccumulationLoop(dot);
  if (!loop)
    return failure();
  carryPending(loop, dot);
  return success();
}
