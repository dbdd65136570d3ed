//===- BackwardPlan.h - Plan of a backward pass -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the kernels of a backward pass and their plans, from the op and the
// target's planner or the user. Emits no IR.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDPLAN_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDPLAN_H

#include "Backward/BackwardKernelPlan.h"
#include "Kernel/KernelOptions.h"

namespace fovea {

/// True if a mask or block-sparse lists restrict the keys that queries see.
bool mayHideKeys(attn::BackwardOp op);

/// The plan of a backward pass. Contains no IR.
struct BackwardPlan {
  /// The kernels in launch order.
  llvm::SmallVector<BackwardKernelPlan> parts;
  /// Index of the main kernel: the last one over key tiles, if any. The op's
  /// work is counted by it; the other kernels are its prologue and epilogue.
  unsigned mainPart = 0;
  /// The plan of kernels over key tiles.
  plan::KernelAttr keys;
  /// How the keys kernel adds to dq_accum, if it does.
  plan::StorePlan dqAccum;
  /// Semaphore slots differ from tile indices and are read from a table.
  bool hasSlotTable = false;

  const BackwardKernelPlan &getMain() const { return parts[mainPart]; }
};

/// Plans the op's kernels with the target's planner. Reports an error if the op
/// cannot be lowered.
mlir::FailureOr<BackwardPlan> planBackward(attn::BackwardOp op,
                                           const KernelOptions &options);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDPLAN_H
