//===- Agent.h - Coroutines of a CTA ----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Agents are the coroutines of a CTA: the warp groups of its roles. The
// scheduler runs them, handlers change their state, and the trace records their
// ops.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_WARP_AGENT_H
#define FOVEA_LIB_INTERPRETER_WARP_AGENT_H

#include "TileSupport.h"
#include "Warp/SharedMemoryModel.h"
#include "fovea/Interpreter/Handlers.h"

namespace fovea::interp {

class Cta;

/// Environment of frames at the warp level. Environments are constant, but the
/// agent is not.
struct WarpEnvironment {
  struct Agent *agent;
};

/// One coroutine of a CTA: a warp group of a role, a whole role, or the kernel
/// before and after its roles.
struct Agent : warp::AgentState {
  /// `position` is the CTA's, which the agent's frame refers to.
  Agent(const Frame &like, Party party, Cta &cta, const GridPosition &position);
  // The frame refers to the environment.
  Agent(const Agent &) = delete;

  WarpEnvironment environment;
  Cta &cta;
  Frame frame;
  bool finished = false, waiting = false;
  /// While waiting: true if other CTAs may end the wait.
  bool waitsForOthers = false;
  /// While waiting: the CTA's state at the start of the wait, and the awaited
  /// event.
  uint64_t waitingSince = 0;
  std::string waitsFor;
  /// Set by ops that synchronise, so that the scheduler switches agents.
  bool synchronised = false;
  /// Relative frequency with which the agent is chosen; drawn from the seed.
  unsigned weight = 1;

  /// Asynchronous dots in the order of their issue, without those that were
  /// waited for.
  llvm::SmallVector<std::shared_ptr<PendingDot>, 4> dots;
  /// Slots that it stored to; some may have been fenced since.
  llvm::SmallPtrSet<Slot *, 4> unfenced;
  /// Outstanding copies to global memory: the slot that each may still read,
  /// and its op.
  llvm::SmallVector<std::pair<Slot *, mlir::Operation *>, 2> copiesOut;
  /// The last dot in tensor memory that it issued.
  std::shared_ptr<PendingDot> lastDot;

  /// Makes all stores of the agent visible to TMA and MMA units.
  void fenceStores();

  /// Suspends the op under execution until the CTA's state changes.
  llvm::LogicalResult wait(std::string reason) {
    waitsFor = std::move(reason);
    waitsForOthers = false;
    frame.suspend();
    return llvm::success();
  }
  /// The same, but a semaphore release by another CTA also ends the wait.
  llvm::LogicalResult waitForOthers(std::string reason) {
    (void)wait(std::move(reason));
    waitsForOthers = true;
    return llvm::success();
  }
};

/// Converts the outcome of a pipeline op or an access to success, an error, or
/// a suspension.
llvm::LogicalResult settle(mlir::Operation *op, Agent &agent,
                           const warp::Outcome &outcome);

/// The rows of a tile that the frame's agent owns: all rows, or a warp group's
/// rows if the tile's layout distributes rows over the role's warp groups.
RowRange getOwnedRows(Frame &frame, mlir::RankedTensorType tile);

/// The agent that a frame belongs to; records an error outside kernels.
llvm::FailureOr<Agent *> getAgent(mlir::Operation *op, Frame &frame);

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_WARP_AGENT_H
