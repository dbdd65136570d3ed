//===- SharedAccess.h - Accesses to shared memory ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks accesses to shared memory at the warp level: a stage is read only
// between its wait and its release, memory is overwritten only after all
// agents, dots and copies have read it, and proxy fences follow stores.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_WARP_SHAREDACCESS_H
#define FOVEA_LIB_INTERPRETER_WARP_SHAREDACCESS_H

#include "Warp/RoleScheduler.h"

namespace fovea::interp {

/// Checks that the agent may read the slot now: a pipeline's stage only between
/// its wait and its release.
llvm::LogicalResult checkRead(mlir::Operation *op, Agent &agent, Slot &slot);

/// The kinds of writes to shared memory. A store may change a stage that its
/// agent has waited for. A dot executes after all earlier dots of its role.
enum class WriteKind { Copy, Store, Dot };

/// Checks that no outstanding dot reads the slot.
llvm::LogicalResult checkChangeInPlace(mlir::Operation *op, Agent &agent,
                                       const Slot &slot);

/// Checks that the slot's contents have no readers left, and assigns the slot
/// to a stage, or to the agent if `use` is empty. The contents are discarded.
llvm::LogicalResult claim(mlir::Operation *op, Agent &agent, Slot &slot,
                          StageUse use, WriteKind kind);

/// The same for the rows of an acquired stage that the agent, one of several
/// warp groups, fills: the other groups may still read back theirs.
llvm::LogicalResult claimRows(mlir::Operation *op, Agent &agent, Slot &slot,
                              StageUse use);

/// Checks that no outstanding copy to global memory, of the agent or of any
/// agent, may still read the slot.
llvm::LogicalResult checkCopiesOut(mlir::Operation *op, Agent &agent,
                                   const Slot &slot, bool ofAgentOnly);

/// Checks that a proxy fence follows the stores to the slot, so that TMA and
/// the tensor cores see them. With `readsOwnRows`, other warp groups of the
/// role need not have fenced theirs.
llvm::LogicalResult checkFenced(mlir::Operation *op, Agent &agent,
                                const Slot &slot, bool readsOwnRows);

/// Commit and release, shared by the ops with and without `after_dots`:
/// performs the checks and the agent's own state changes, and returns the
/// signal that other agents see.
llvm::FailureOr<Signal> commitStage(mlir::Operation *op, Agent &agent);
llvm::FailureOr<Signal> releaseStage(mlir::Operation *op, Agent &agent,
                                     bool afterDots);

/// The view that a shared memref refers to.
inline SharedView &getView(Frame &frame, mlir::Value memref) {
  return frame.get(memref).getObject<SharedView>();
}

/// A stage index within `[0, count)`, or an error.
llvm::FailureOr<int64_t> getStage(mlir::Operation *op, Frame &frame,
                                  mlir::Value stage, int64_t count);

void registerPipelineHandlers(InterpreterRegistry &registry);
void registerOutputHandlers(InterpreterRegistry &registry);
void registerTensorMemoryHandlers(InterpreterRegistry &registry);

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_WARP_SHAREDACCESS_H
