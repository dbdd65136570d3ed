//===- SemaphoreHandlers.cpp - Executes semaphores of CTAs ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At the tile level CTAs run one at a time in grid order, so a wait for a
// slot that is not released yet is an error. At the warp level CTAs are
// interleaved, and each warp group that executes a release adds one.
//
//===----------------------------------------------------------------------===//

#include "Warp/RoleScheduler.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

/// The agent that executes the op, or null at the tile level.
static Agent *findAgent(Frame &frame) {
  auto *environment = frame.getEnvironment<WarpEnvironment>();
  return environment ? environment->agent : nullptr;
}

static int64_t countGroups(const Agent *agent) {
  return agent ? agent->party.groups : 1;
}

static LogicalResult executeWait(Operation *op, Frame &frame) {
  auto wait = cast<tile::SemaphoreWaitOp>(op);
  if (wait.getCondition() && frame.getInteger(wait.getCondition()) == 0)
    return success();
  const MemRefView &memref = frame.get(wait.getSemaphores()).getMemRef();
  FailureOr<char *> address =
      locateElement(op, frame, memref, wait.getIndices());
  if (failed(address))
    return failure();
  int64_t slot = frame.getInteger(wait.getTurn()), count;
  if (slot < 0)
    return frame.fail(op) << "a semaphore slot must be at least 0, found "
                          << slot;
  readElements(memref.kind, *address, 1, 1, &count);
  Agent *agent = findAgent(frame);
  int64_t groups = countGroups(agent);
  // Other warp groups may have released this slot already, but not all of them:
  // their count is below that of the next slot.
  if (count >= (slot + 1) * groups)
    return frame.fail(op) << "semaphore slot " << slot
                          << " is released already: found " << count / groups
                          << " releases";
  if (count >= slot * groups) {
    if (agent)
      agent->synchronised = true;
    return success();
  }
  if (agent)
    return agent->waitForOthers("for semaphore slot " + std::to_string(slot) +
                                " with " + std::to_string(count / groups) +
                                " released");
  return frame.fail(op) << "deadlocks on semaphore slot " << slot << ": found "
                        << count << " releases, and CTAs run in grid order";
}

static LogicalResult executeRelease(Operation *op, Frame &frame) {
  auto release = cast<tile::SemaphoreReleaseOp>(op);
  if (release.getCondition() && frame.getInteger(release.getCondition()) == 0)
    return success();
  const MemRefView &memref = frame.get(release.getSemaphores()).getMemRef();
  FailureOr<char *> address =
      locateElement(op, frame, memref, release.getIndices());
  if (failed(address))
    return failure();
  int64_t count;
  readElements(memref.kind, *address, 1, 1, &count);
  ++count;
  writeElements(memref.kind, &count, 1, *address, 1);
  if (Agent *agent = findAgent(frame)) {
    agent->cta.notifyGrid();
    agent->synchronised = true;
  }
  return success();
}

void fovea::interp::registerSemaphoreHandlers(InterpreterRegistry &registry) {
  registry.add<tile::SemaphoreWaitOp>(executeWait);
  registry.add<tile::SemaphoreReleaseOp>(executeRelease);
}
