//===- KernelOptions.h - Target and pass options ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The target and the options of attn-to-tile, with the checks of an op that
// depend on them.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELOPTIONS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELOPTIONS_H

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Schedule/GivenPlans.h"
#include "fovea/Schedule/ScheduleTable.h"

namespace fovea {

/// The target GPU and the options of the pass.
struct KernelOptions {
  const TargetInfo *target;
  llvm::StringRef scheduleOverrides;
  /// Plans that the user gives instead, or null.
  const GivenPlans *plans;
  /// Measured schedules, or null.
  const ScheduleTable *scheduleTable;
  /// True if a remark describes the problem that the schedule is chosen for.
  bool explainSchedule;
  /// The pass options of these names.
  bool accurateTanh = false, heldRows = true, finalTiles = true,
       overlapPrologue = true;

  /// The head dim of a tensor, padded to the reduction step of the MMA.
  int64_t padHeadDim(mlir::RankedTensorType tensor) const;
};

/// The name of the function of an op, and of its main kernel; empty if there is
/// none.
llvm::StringRef getFunctionName(mlir::Operation *op);

/// Reports tensors with element types or head dims that MMAs do not support.
mlir::LogicalResult checkTensors(const KernelOptions &options,
                                 attn::AttentionOpInterface op);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELOPTIONS_H
