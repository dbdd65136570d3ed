//===- SinkMmaWaits.cpp - Sink waits for dots to their use ----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For dots whose plan says `wait_late`, makes the dot asynchronous and sinks
// its wait to the first use of the result, or to the first op that needs the
// dot's operand buffers. Releases of these buffers sink with the wait.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Ring.h"
#include "Scheduling/AsyncDots.h"

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

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

/// The first op of the dot's block that uses its result, or the terminator.
static Operation *findFirstUse(DotOp dot) {
  Block *block = dot->getBlock();
  SmallVector<Operation *> users(dot->getUsers());
  llvm::erase_if(users, [&](Operation *user) {
    return !block->findAncestorOpInBlock(*user);
  });
  Operation *first = getRange(block, users).first;
  return first ? first : block->getTerminator();
}

/// The releases, after the dot, of stages that it reads.
static SmallVector<ConsumerReleaseOp>
findReleases(DotOp dot, const llvm::MapVector<Value, RingOps> &rings) {
  llvm::SetVector<Operation *> releases;
  for (Value buffer : getRingBuffers(dot))
    for (Operation *release : rings.lookup(buffer).releases)
      if (dot->isBeforeInBlock(release))
        releases.insert(release);
  return llvm::map_to_vector(releases, llvm::CastTo<ConsumerReleaseOp>);
}

/// True if the op or a nested op writes a buffer that the dot reads, or
/// acquires or waits for a stage of its rings, which may block until the dot's
/// stages are released.
static bool conflictsWithOperands(Operation *op, ArrayRef<Value> buffers,
                                  ArrayRef<ConsumerReleaseOp> releases) {
  WalkResult walk = op->walk([&](Operation *nested) {
    Value changed = getFilledBuffer(nested);
    if (auto zero = dyn_cast<ZeroRowsOp>(nested))
      changed = getRingBuffer(zero.getBuffer());
    bool blocks = isa<ProducerAcquireOp, ConsumerWaitOp>(nested) &&
                  llvm::any_of(releases, [&](ConsumerReleaseOp release) {
                    return release.getPipeline() == nested->getOperand(0);
                  });
    return blocks || (changed && llvm::is_contained(buffers, changed))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return walk.wasInterrupted();
}

/// Makes the dot asynchronous and sinks its wait. Returns false if there is
/// nothing to sink past.
static bool sinkWait(DotOp dot) {
  SmallVector<ConsumerReleaseOp> releases =
      findReleases(dot, findRings(dot->getBlock()));
  SmallVector<Value, 2> buffers = getRingBuffers(dot);
  Operation *use = findFirstUse(dot), *end = dot->getNextNode();
  while (end != use && !conflictsWithOperands(end, buffers, releases))
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
  // Dots run asynchronously only in kernels with roles.
  if (!plan.hasRoles() || !plan.getUnit().isAsynchronous()) {
    if (failed(reportMissed(
            dots.front(), abi, "wait_late",
            "the kernel has no roles, or its MMA unit is synchronous")))
      return signalPassFailure();
    abi.setPlanAttr(
        plan.changeDots([](plan::DotPlan &dot) { dot.waitsLate = false; }));
    return;
  }
  int64_t late = 0;
  for (DotOp dot : dots) {
    if (!isSharedBuffer(dot.getA().getType())) {
      dot.emitError("found a first operand in registers: 'wait_late' needs "
                    "operands in shared memory");
      return signalPassFailure();
    }
    late += sinkWait(dot);
  }
  numDots += late;
  if (late)
    reportDone(getOperation(), abi, "wait_late", "Dots", late);
}
