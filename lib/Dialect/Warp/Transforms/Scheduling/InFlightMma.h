//===- InFlightMma.h - Dots in flight around a loop ------------ -*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_INFLIGHTMMA_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_INFLIGHTMMA_H

#include "Scheduling/PipelineLoop.h"
#include "Pipelines/Ring.h"

namespace fovea::warp {

/// A loop that issues some dots a round ahead and carries them in flight, until
/// the round that they are of waits for them. With them goes what brings their
/// operands, and nothing that is computed from their results.
///
/// They are issued behind the last of their owner's other dots, ahead of the
/// wait for it: products of one owner are delivered in the order of their
/// issue, so no other one waits for them, and what comes of the last one is
/// done while they run. Of other dots that stand behind each other the next one
/// is issued before what comes of one is done. Other dots that need nothing of
/// their round but what comes from memory are issued behind the wait for the
/// early ones: what these give is computed while they run.
class InFlightMma {
public:
  /// All dots are asynchronous.
  InFlightMma(mlir::scf::ForOp loop, llvm::ArrayRef<DotOp> early,
              llvm::ArrayRef<DotOp> late)
      : loop(loop), earlyDots(early), lateDots(late) {}

  /// Fails, without a change, if the early dots need what is computed in the
  /// round before theirs, or if there is no other one.
  llvm::LogicalResult analyze();
  StagedOrder getOrder();

private:
  using Ops = llvm::SetVector<mlir::Operation *>;

  llvm::LogicalResult addNeeds(Ops &ops, bool ofLastRound);
  llvm::LogicalResult addDot(Ops &ops, DotOp dot, bool ofLastRound);
  void splitViews();
  llvm::SmallVector<mlir::Operation *> sinkWaits();

  mlir::scf::ForOp loop;
  llvm::SmallVector<DotOp> earlyDots, lateDots;
  llvm::MapVector<mlir::Value, RingOps> rings;
  /// What is done a round ahead; what is done first in a round.
  Ops early, lead;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_INFLIGHTMMA_H
