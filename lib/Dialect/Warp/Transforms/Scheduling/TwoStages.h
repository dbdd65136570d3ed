//===- TwoStages.h - Two-stage schedule of a loop ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes the stage and the order of the ops of a loop, so that dots overlap
// with the computation on other dots. `warp-overlap-dots` passes the result to
// the loop pipeliner.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_TWOSTAGES_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_TWOSTAGES_H

#include "Pipelines/Ring.h"
#include "Scheduling/PipelineLoop.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace fovea::warp {

/// Computes the order of the ops in one iteration of the pipelined loop.
///
/// Early dots are those that the plan issues one block ahead; they depend on no
/// other dot of their iteration. Late dots are the other dots of the role.
/// Stage 0 has the early dots, the ops that load their operands, and the
/// computation of the late dots' register operands. Stage 1 has the late dots
/// and the computation on their results, and the dots of other roles.
///
/// If the rounding of a late dot's operand is the last use of a wider tile, and
/// stage 1 uses that tile before, stage 1 rounds it and stage 0 computes only
/// the wider tile. Registers then hold only one of the two tiles, and the dot
/// is issued after that use.
///
/// A late dot is chained if it depends on the result of another late dot,
/// possibly through memory. Its dependences go first. Then the early dots and
/// the chained dot are issued, and the computation on the early dots runs while
/// the chained dot is outstanding. The waits for all other late dots follow.
class TwoStages {
public:
  /// All dots must be asynchronous.
  TwoStages(mlir::scf::ForOp loop, llvm::ArrayRef<DotOp> early,
            llvm::ArrayRef<DotOp> late)
      : loop(loop), early(early), late(late) {}

  /// Fails if nothing can overlap.
  llvm::LogicalResult analyze();
  StagedOrder getOrder();
  /// Accumulators of late dots that stage 0 computes from the result of the
  /// previous iteration.
  llvm::SmallVector<mlir::Operation *> getRescales();

private:
  using Ops = llvm::SetVector<mlir::Operation *>;

  mlir::Operation *inBody(mlir::Operation *op) {
    return loop.getBody()->findAncestorOpInBlock(*op);
  }
  bool isEarly(DotOp dot) { return llvm::is_contained(early, dot); }
  /// Ops of the body that `op` depends on; with `carried`, also through
  /// loop-carried values.
  llvm::SmallVector<mlir::Operation *> getNeeded(mlir::Operation *op,
                                                 bool carried = true);
  bool usesResultOf(mlir::Operation *op, const Ops &defs);
  /// True if `op` depends on an early dot of its iteration.
  bool needsEarly(mlir::Operation *op);
  Ops getOperandSlices();
  bool isLastUse(mlir::arith::TruncFOp round);
  void findLateRoundings();
  void findLateRoots();
  void findFirstStage();
  void addReductions();
  void addRoundings();
  bool isCheap(mlir::Value value, Ops &made);
  void rematerializeTiles();
  mlir::Value cloneIndexTile(mlir::OpBuilder &b, mlir::Value tile,
                             mlir::IRMapping &mapping);
  void rematerializeIndices();
  void findAfterLate();
  Ops getTransitiveUsers(mlir::Operation *op);
  void findChain();
  void addLead(mlir::Operation *op);

  mlir::scf::ForOp loop;
  llvm::SmallVector<DotOp> early, late;
  llvm::MapVector<mlir::Value, RingOps> rings;
  /// Ops that modify a ring's buffer before the dots that read it.
  llvm::MapVector<mlir::Value, llvm::SmallVector<mlir::Operation *>> changes;
  Ops lateRoots, firstStage;
  /// Roundings of late dots' operands that run in stage 1.
  Ops lateRoundings;
  /// Ops of stage 0 that use results of stage 1 of the previous iteration.
  Ops afterLate;
  /// The first chained dot, or null; the ops that go before it; the ops that
  /// come last.
  DotOp chained;
  Ops lead, trailing;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_TWOSTAGES_H
