//===- Ring.h - Positions in a ring of stages -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_RING_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_RING_H

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace fovea::warp {

/// Position in a ring of stages: where it stands, and how often it wrapped,
/// modulo two.
struct RingState {
  mlir::Value stage, phase;
};

mlir::Value makeI32(mlir::OpBuilder &b, mlir::Location loc, int64_t value);

/// `state` after `steps` steps, at most once around the ring.
RingState advance(mlir::OpBuilder &b, mlir::Location loc, RingState state,
                  int64_t steps, int64_t stages);

/// One stage of a buffer.
mlir::Value makeStageView(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::Value buffer, mlir::Value stage);

/// The alloc behind a view of one stage, or the buffer itself.
mlir::Value getRingBuffer(mlir::Value operand);

/// Buffers in shared memory that the dot reads.
llvm::SmallVector<mlir::Value, 2> getRingBuffers(DotOp dot);

/// The wait for an asynchronous dot that nothing else takes, or null.
DotWaitOp getDotWait(DotOp dot);

/// The buffer that the op fills, or null.
mlir::Value getFilledBuffer(mlir::Operation *op);

/// What brings the contents of a buffer: the pipeline's verbs, but for the
/// release, and the copies and stores between them.
struct RingOps {
  llvm::SetVector<mlir::Operation *> fills, releases;
};

/// Those of the buffers that a loop's body fills.
llvm::MapVector<mlir::Value, RingOps> findRings(mlir::Block *body);

/// The copy's buffer with a dimension of `stages` before the others.
mlir::MemRefType getStagedType(mlir::MemRefType type, int64_t stages);

/// The first and the last op of `block` that is one of `ops` or contains one;
/// null if there are none.
std::pair<mlir::Operation *, mlir::Operation *>
getRange(mlir::Block *block, llvm::ArrayRef<mlir::Operation *> ops);

/// A loop whose body runs at least once: an `scf.while` whose second region
/// only passes its arguments on. The body is the first region; its
/// `scf.condition` says whether there is another round, and the values for it.
bool isDoWhile(mlir::Operation *op);

/// Adds values that `loop`, an `scf.for` or a do-while, carries from round to
/// round, `inits` at first. `next` gets a builder at the end of the body and
/// the carried values in the body, and returns those of the next round.
/// Returns the new loop, whose last results are the final values; `loop` is
/// gone.
mlir::FailureOr<mlir::Operation *>
addCarried(mlir::IRRewriter &b, mlir::Operation *loop, mlir::ValueRange inits,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &,
                                                             mlir::ValueRange)>
               next);

/// What stands around `op` within its kernel, the outermost first.
llvm::SmallVector<mlir::Operation *> getLoopsAround(mlir::Operation *op);

/// Carries `state` through the loops and returns it as the innermost one has
/// it; there it moves on by `steps` each round.
mlir::FailureOr<RingState> carryThrough(llvm::ArrayRef<mlir::Operation *> loops,
                                        RingState state, int64_t steps,
                                        int64_t stages);

/// The positions of a ring that `ops` take one after the other, in the order in
/// which a program executes them: each one a stage, the first one `state`. Ops
/// may stand in loops, which carry the position on; anything else around them
/// is an error.
mlir::FailureOr<llvm::MapVector<mlir::Operation *, RingState>>
carryPast(mlir::Block &body, const llvm::SetVector<mlir::Operation *> &ops,
          RingState state, int64_t stages);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_RING_H
