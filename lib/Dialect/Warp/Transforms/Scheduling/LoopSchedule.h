//===- LoopSchedule.h - Stages and order of a loop's ops --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPSCHEDULE_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPSCHEDULE_H

#include "Scheduling/LoopDependences.h"
#include "Scheduling/LoopSteps.h"
#include "Scheduling/PipelineLoop.h"

namespace fovea::warp {

/// Why an order is illegal: a dependence of an op on another one.
struct OrderError {
  mlir::Operation *op = nullptr, *other = nullptr;
  /// Names both ops and the dependence.
  std::string text = {};
};

/// Computes the stage and the position of each op of a loop body from the
/// plan's steps.
///
/// Stages. A listed op has the listed stage: the number of iterations by which
/// it runs early. An op that computes from listed ops runs as early as its
/// operands allow if its results are small, and otherwise as early as its
/// earliest user. Any other op (a load, the ops of its ring, index arithmetic)
/// runs as early as its earliest user.
///
/// Order. The steps are placed in the plan's order. Before a step come the ops
/// of its stage that precede it in the program and do not depend on a later
/// step, in program order, and what they depend on. The issue of an
/// asynchronous dot does not wait for what would delay its role and what it
/// does not need. The step "*" comes after all ops of its stage that do not
/// depend on a later step. A stage of a ring is released right after the step
/// that reads it last.
class LoopSchedule {
public:
  LoopSchedule(mlir::scf::ForOp loop, llvm::ArrayRef<LoopStep> steps)
      : steps(steps), dependences(loop) {}

  /// Fails if the order violates a dependence, which `error` then describes.
  llvm::LogicalResult compute(OrderError &error);
  /// The ops in their new order. Stage 0 is the earliest.
  StagedOrder getOrder() const;
  /// The number of iterations by which an op runs early.
  int64_t getStage(mlir::Operation *op) const { return stages.lookup(op); }

private:
  void assignListedStages();
  bool lowerToSources(mlir::Operation *op);
  bool raiseToUsers(mlir::Operation *op);
  void assignStages();
  std::string nameOf(mlir::Operation *op) const;
  OrderError explain(llvm::ArrayRef<LoopDependence> chain);
  llvm::SmallVector<LoopDependence>
  findChain(const LoopDependence &first,
            llvm::function_ref<bool(const LoopDependence &)> leads);
  llvm::LogicalResult checkStages(OrderError &error);
  llvm::LogicalResult checkCommits(OrderError &error);
  /// True if `from` must precede `to` in the body of the pipelined loop.
  bool delaysRole(mlir::Operation *op);
  bool constrains(const LoopDependence &dependence) const;
  int64_t getLastStep(mlir::Operation *op);
  llvm::LogicalResult place(mlir::Operation *op, OrderError &error);
  llvm::LogicalResult placeStep(int64_t index, OrderError &error);

  llvm::ArrayRef<LoopStep> steps;
  LoopDependences dependences;
  llvm::DenseMap<mlir::Operation *, int64_t> stages;
  /// The step of each listed op, and the last step that an op has to follow.
  llvm::DenseMap<mlir::Operation *, int64_t> listed, lastSteps;
  /// The earliest stage of ops that compute from listed ops.
  llvm::DenseMap<mlir::Operation *, int64_t> earliest;
  /// Listed ops, and ops that compute from them.
  llvm::DenseSet<mlir::Operation *> computed;
  /// Ops in the new order; those that are placed; those whose dependences are
  /// being placed.
  llvm::SmallVector<mlir::Operation *> placedOps;
  llvm::DenseSet<mlir::Operation *> placed, active;
};

/// True if the value is a tile with 32-bit elements or predicates that is
/// neither a row nor a column, so that each element occupies a register.
bool isLargeTile(mlir::Value value);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPSCHEDULE_H
