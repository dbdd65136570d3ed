//===- Ring.h - Rings of stages ---------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Helpers for rings of pipeline stages: their positions (stage and phase), the
// loops that carry the positions, and the ops that fill and release the
// buffers. The pipeline, role and scheduling passes share them.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_RING_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_RING_H

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace fovea::warp {

/// A position in a ring: the stage index, and the parity of the number of
/// wraparounds.
struct RingState {
  mlir::Value stage, phase;
};

mlir::Value makeI32(mlir::OpBuilder &b, mlir::Location loc, int64_t value);

/// Advances `state` by `steps`, at most one cycle of the ring.
RingState advance(mlir::OpBuilder &b, mlir::Location loc, RingState state,
                  int64_t steps, int64_t stages);

/// Creates a view of one stage of a buffer.
mlir::Value makeStageView(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::Value buffer, mlir::Value stage);

/// The buffer of a stage view, or `operand` itself.
mlir::Value getRingBuffer(mlir::Value operand);

/// Buffers in shared memory that the dot reads.
llvm::SmallVector<mlir::Value, 2> getRingBuffers(DotOp dot);

/// The wait for an asynchronous dot, if it is the only user of the dot; else
/// null.
DotWaitOp getDotWait(DotOp dot);

/// The buffer that the op fills, or null.
mlir::Value getFilledBuffer(mlir::Operation *op);

/// The ops that produce the contents of a buffer: copies, stores, fences,
/// acquires, commits and waits; and the releases.
struct RingOps {
  llvm::SetVector<mlir::Operation *> fills, releases;
};

/// The rings of all buffers that a loop body fills.
llvm::MapVector<mlir::Value, RingOps> findRings(mlir::Block *body);

/// The buffer type with a leading dimension of `stages`.
mlir::MemRefType getStagedType(mlir::MemRefType type, int64_t stages);

/// The first and the last op of `block` that is one of `ops` or contains one;
/// null if there are none.
std::pair<mlir::Operation *, mlir::Operation *>
getRange(mlir::Block *block, llvm::ArrayRef<mlir::Operation *> ops);

/// True for a do-while loop: an `scf.while` whose second region only forwards
/// its arguments. The first region is the body; its `scf.condition` has the
/// condition and the values of the next iteration.
bool isDoWhile(mlir::Operation *op);

/// Adds loop-carried values to `loop`, an `scf.for` or a do-while, with initial
/// values `inits`. `next` gets a builder at the end of the body and the carried
/// values, and returns the values of the next iteration. Returns the new loop,
/// whose last results are the final values. Erases `loop`.
mlir::FailureOr<mlir::Operation *>
addCarried(mlir::IRRewriter &b, mlir::Operation *loop, mlir::ValueRange inits,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &,
                                                             mlir::ValueRange)>
               next);

/// The ops around `op` within its kernel, outermost first.
llvm::SmallVector<mlir::Operation *> getLoopsAround(mlir::Operation *op);

/// Carries `state` through nested loops; the innermost loop advances it by
/// `steps` in each iteration. Returns the state inside the innermost loop.
mlir::FailureOr<RingState> carryThrough(llvm::ArrayRef<mlir::Operation *> loops,
                                        RingState state, int64_t steps,
                                        int64_t stages);

/// Assigns consecutive ring positions to `ops` in execution order, starting at
/// `state`. Loops around an op carry the position; any other op around it is an
/// error.
mlir::FailureOr<llvm::MapVector<mlir::Operation *, RingState>>
assignPositions(mlir::Block &body,
                const llvm::SetVector<mlir::Operation *> &ops, RingState state,
                int64_t stages);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_RING_H
