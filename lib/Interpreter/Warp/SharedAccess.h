//===- SharedAccess.h - Reads and writes of shared memory -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_WARP_SHAREDACCESS_H
#define FOVEA_LIB_INTERPRETER_WARP_SHAREDACCESS_H

#include "Warp/RoleScheduler.h"

namespace fovea::interp {

/// Passes on what comes of a verb or an access: an error, or a suspension.
llvm::LogicalResult settle(mlir::Operation *op, Agent &agent,
                           const warp::Outcome &outcome);

/// Checks that the agent may read the slot now: a pipeline's stage only between
/// its wait and its release.
llvm::LogicalResult checkRead(mlir::Operation *op, Agent &agent, Slot &slot);

/// What writes to shared memory. A store is by the threads that hold a stage
/// and may change it; a dot comes after all dots that its role issued before.
enum class WriteKind { Copy, Store, Dot };

/// Checks that no dot in flight reads what the slot holds.
llvm::LogicalResult checkChangeInPlace(mlir::Operation *op, Agent &agent,
                                       const Slot &slot);

/// Checks that nobody reads what the slot holds any more, and gives it to a
/// stage, or to the agent if `use` is none. The contents are gone.
llvm::LogicalResult claim(mlir::Operation *op, Agent &agent, Slot &slot,
                          StageUse use, WriteKind kind);

/// The same for the rows that the agent, one warp group among several, fills of
/// an acquired stage: the others may still read back theirs.
llvm::LogicalResult claimRows(mlir::Operation *op, Agent &agent, Slot &slot,
                              StageUse use);

/// Checks that no copy out, of the agent or of anybody, may still read what the
/// slot holds.
llvm::LogicalResult checkCopiesOut(mlir::Operation *op, Agent &agent,
                                   const Slot &slot, bool ofAgentOnly);

/// Checks that units that run on their own see what the agent stored.
llvm::LogicalResult checkFenced(mlir::Operation *op, Agent &agent,
                                const Slot &slot);

/// The two halves of a verb that the ops with and without `after_dots` share:
/// all checks and the state of the program, and what others see of it.
llvm::FailureOr<Signal> commitStage(mlir::Operation *op, Agent &agent);
llvm::FailureOr<Signal> releaseStage(mlir::Operation *op, Agent &agent,
                                     bool afterDots);

/// The view that a shared memref stands for.
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
