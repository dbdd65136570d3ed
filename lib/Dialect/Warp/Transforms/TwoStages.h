//===- TwoStages.h - What a loop does a block ahead -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_TWOSTAGES_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_TWOSTAGES_H

#include "PipelineLoop.h"
#include "Ring.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace fovea::warp {

/// What one iteration of a loop does, in the order of the pipelined loop.
///
/// Early dots are those that the plan issues a block ahead; they depend on
/// no other dot of their iteration. Late dots are the role's others. Stage 0 is
/// what the early dots need, what they bring their operands with and what the
/// late dots' register operands need of them; stage 1 are the late dots with
/// what is computed from them, and what other roles' dots do.
///
/// An operand that is the last use of a wider tile in its iteration, after
/// stage 1 has used that tile, is rounded in stage 1: stage 0 computes the
/// wider tile. Registers hold one of the two then, and its dot is issued after
/// that use.
///
/// A late dot is chained if it needs what another one's result gives, perhaps
/// through memory. What it needs goes first, then the early dots and the
/// chained one are issued, and what the early dots give is computed under the
/// latter. All other late dots are waited for behind that.
class TwoStages {
public:
  /// All dots are asynchronous.
  TwoStages(mlir::scf::ForOp loop, llvm::ArrayRef<DotOp> early,
            llvm::ArrayRef<DotOp> late)
      : loop(loop), early(early), late(late) {}

  /// Fails if there is nothing to overlap.
  llvm::LogicalResult analyze();
  StagedOrder getOrder();
  /// Operands of late dots that stage 0 computes from the last iteration's
  /// result.
  llvm::SmallVector<mlir::Operation *> getRescales();

private:
  using Ops = llvm::SetVector<mlir::Operation *>;

  mlir::Operation *inBody(mlir::Operation *op) {
    return loop.getBody()->findAncestorOpInBlock(*op);
  }
  bool isEarly(DotOp dot) { return llvm::is_contained(early, dot); }
  /// Ops of the body that `op` needs; with `carried`, also through values that
  /// the loop carries.
  llvm::SmallVector<mlir::Operation *> getNeeded(mlir::Operation *op,
                                                 bool carried = true);
  bool usesResultOf(mlir::Operation *op, const Ops &defs);
  /// Whether it needs an early dot of its iteration.
  bool needsEarly(mlir::Operation *op);
  Ops getOperandsNeeds();
  bool isLastUse(mlir::arith::TruncFOp round);
  void findLateRoundings();
  void findLateRoots();
  void findFirstStage();
  void addReductions();
  void addRoundings();
  bool isCheap(mlir::Value value, Ops &made);
  void computeAgain();
  void makePlacesAgain();
  void findAfterLate();
  Ops getBehind(mlir::Operation *op);
  void findChain();
  void addLead(mlir::Operation *op);

  mlir::scf::ForOp loop;
  llvm::SmallVector<DotOp> early, late;
  llvm::MapVector<mlir::Value, RingOps> rings;
  /// What changes a ring's buffer ahead of the dots that read it.
  llvm::MapVector<mlir::Value, llvm::SmallVector<mlir::Operation *>> changes;
  Ops lateRoots, firstStage;
  /// Operands of late dots that stage 1 rounds.
  Ops lateRoundings;
  /// Ops of stage 0 that use what stage 1 of the last iteration gave.
  Ops afterLate;
  /// The first chained dot, or null; what is issued ahead of the wait that it
  /// needs, and what comes last.
  DotOp chained;
  Ops lead, behind;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_TWOSTAGES_H
