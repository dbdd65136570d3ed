//===- BackwardPlan.h - What is decided of a backward pass ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDPLAN_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDPLAN_H

#include "Backward/BackwardKernelPlan.h"
#include "Kernel/KernelOptions.h"

namespace fovea {

/// Whether a mask or lists of blocks say which keys queries see.
bool mayHideKeys(attn::BackwardOp op);

/// What is decided of a backward pass before any of it is emitted; no IR.
struct BackwardPlan {
  /// The kernels, in the order in which they run.
  llvm::SmallVector<BackwardKernelPlan> parts;
  /// The last one over tiles of keys, if there is one: what the op counts its
  /// work by. The others are its prologue and epilogue.
  unsigned mainPart = 0;
  /// The plan of kernels whose tiles are keys.
  plan::KernelAttr keys;
  /// One kernel of keys adds what it knows of dQ to sums in memory; tiles of
  /// keys take turns at these.
  bool sumsQueries = false, ordersSums = false;
  /// Tiles' turns differ from their numbers.
  bool hasTurnTable = false;

  const BackwardKernelPlan &getMain() const { return parts[mainPart]; }
};

/// The plan for an op, by the target's planner. Says what has no lowering to
/// kernels yet.
mlir::FailureOr<BackwardPlan> planBackward(attn::BackwardOp op,
                                           const KernelOptions &options);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDPLAN_H
