//===- SinkMmaWaits.cpp - Dots in flight until they are needed ------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduling/AsyncDots.h"
#include "Pipelines/Ring.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Schedule/Schedule.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPSINKMMAWAITS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct SinkMmaWaitsPass : warp::impl::WarpSinkMmaWaitsBase<SinkMmaWaitsPass> {
  void runOnKernel() override;
};
} // namespace

/// The first op of the dot's block that uses its result, or its end.
static Operation *findFirstUse(DotOp dot) {
  Block *block = dot->getBlock();
  SmallVector<Operation *> users(dot->getUsers());
  llvm::erase_if(users, [&](Operation *user) {
    return !block->findAncestorOpInBlock(*user);
  });
  Operation *first = getRange(block, users).first;
  return first ? first : block->getTerminator();
}

/// What gives back a stage that the dot reads, behind it.
static SmallVector<ConsumerReleaseOp>
findReleases(DotOp dot, const llvm::MapVector<Value, RingOps> &rings) {
  llvm::SetVector<Operation *> releases;
  for (Value buffer : getRingBuffers(dot))
    for (Operation *release : rings.lookup(buffer).releases)
      if (dot->isBeforeInBlock(release))
        releases.insert(release);
  return llvm::map_to_vector(releases, llvm::CastTo<ConsumerReleaseOp>);
}

/// Whether the op, or one in it, fills what the dot reads, or asks for another
/// stage of its rings: that may have to wait for the stages that it reads.
static bool needsOperands(Operation *op, ArrayRef<Value> buffers,
                          ArrayRef<ConsumerReleaseOp> releases) {
  WalkResult walk = op->walk([&](Operation *nested) {
    Value changed = getFilledBuffer(nested);
    if (auto zero = dyn_cast<ZeroRowsOp>(nested))
      changed = getRingBuffer(zero.getBuffer());
    bool asks = isa<ProducerAcquireOp, ConsumerWaitOp>(nested) &&
                llvm::any_of(releases, [&](ConsumerReleaseOp release) {
                  return release.getPipeline() == nested->getOperand(0);
                });
    return asks || (changed && llvm::is_contained(buffers, changed))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

/// Whether the dot got a wait of its own: where its result is used first, or
/// where its operands are needed for something else.
static bool waitLate(DotOp dot) {
  SmallVector<ConsumerReleaseOp> releases =
      findReleases(dot, findRings(dot->getBlock()));
  SmallVector<Value, 2> buffers = getRingBuffers(dot);
  Operation *use = findFirstUse(dot), *end = dot->getNextNode();
  while (end != use && !needsOperands(end, buffers, releases))
    end = end->getNextNode();
  if (end == dot->getNextNode())
    return false;
  DotWaitOp wait = makeAsync(dot);
  wait->moveBefore(end);
  for (ConsumerReleaseOp release : releases)
    if (release->isBeforeInBlock(end))
      release->moveBefore(end);
  return true;
}

void SinkMmaWaitsPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  plan::KernelAttr plan = abi.getPlan();
  SmallVector<DotOp> dots;
  getOperation().walk([&](DotOp dot) {
    if (plan.getDot(dot.getNameAttr()).waitsLate && !dot.getAsync())
      dots.push_back(dot);
  });
  if (dots.empty())
    return;
  // Only what roles ask for is made while they go on.
  if (!plan.hasRoles() || !plan.getUnit().isAsynchronous()) {
    if (failed(reportMissed(dots.front(), abi, "wait_late",
                            "all warps run one program, or the matrix unit's "
                            "products are made at once")))
      return signalPassFailure();
    abi.setPlanAttr(
        plan.changeDots([](plan::DotPlan &dot) { dot.waitsLate = false; }));
    return;
  }
  int64_t late = 0;
  for (DotOp dot : dots) {
    if (!isSharedBuffer(dot.getA().getType())) {
      dot.emitError(
          "is to be waited for late ('wait_late'), which needs "
          "operands in shared memory: its first one's registers would "
          "be written meanwhile");
      return signalPassFailure();
    }
    late += waitLate(dot);
  }
  numDots += late;
  if (late)
    reportDone(getOperation(), abi, "wait_late", "Dots", late);
}
