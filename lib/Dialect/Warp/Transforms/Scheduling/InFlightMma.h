//===- InFlightMma.h - Loop-carried asynchronous dots -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prefetches the issue of dots by one iteration and carries them through the
// loop while they are outstanding. Only the issue and the loads of the operands
// move; no computation on the results does. `warp-overlap-dots` uses it for
// dots whose plan says `carried`.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_INFLIGHTMMA_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_INFLIGHTMMA_H

#include "Pipelines/Ring.h"
#include "Scheduling/PipelineLoop.h"

namespace fovea::warp {

/// Computes the schedule of a loop that issues its early dots one iteration
/// ahead. The loop carries these dots while they are outstanding; their own
/// iteration waits for them. The pipeline ops that load their operands move
/// with them.
///
/// Early dots are issued after the last late dot and before the wait for it.
/// Dots of one role complete in issue order, so no late dot waits for an early
/// one, and the users of the last late dot run while the early dots are
/// outstanding. Of consecutive independent late dots, dot i+1 is issued before
/// the users of dot i. Late dots whose operands come from memory only are
/// issued after the wait for the early dots, and run concurrently with the
/// users of the early dots.
class InFlightMma {
public:
  /// All dots must be asynchronous.
  InFlightMma(mlir::scf::ForOp loop, llvm::ArrayRef<DotOp> early,
              llvm::ArrayRef<DotOp> late)
      : loop(loop), earlyDots(early), lateDots(late) {}

  /// Fails without changes if an early dot depends on a computation of the
  /// previous iteration, or if there are no late dots.
  llvm::LogicalResult analyze();
  StagedOrder getOrder();

private:
  using Ops = llvm::SetVector<mlir::Operation *>;

  llvm::LogicalResult addOperandSlice(Ops &ops, bool followCarried);
  llvm::LogicalResult addDot(Ops &ops, DotOp dot, bool followCarried);
  void splitViews();
  llvm::SmallVector<mlir::Operation *> sinkWaits();

  mlir::scf::ForOp loop;
  llvm::SmallVector<DotOp> earlyDots, lateDots;
  llvm::MapVector<mlir::Value, RingOps> rings;
  /// Ops that run one iteration ahead; ops that run first in an iteration.
  Ops early, lead;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_INFLIGHTMMA_H
