//===- KernelOptions.h - What kernels are made by ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELOPTIONS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELOPTIONS_H

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Schedule/ScheduleTable.h"

namespace fovea {

/// The chip that kernels are made for, and the pass's options.
struct KernelOptions {
  const TargetInfo *target;
  llvm::StringRef scheduleOverrides;
  /// Schedules that were measured, or null.
  const ScheduleTable *scheduleTable;
  /// Whether a remark says what the schedule was chosen for.
  bool explainSchedule;
  /// The pass's options of these names.
  bool accurateTanh = false, heldRows = true, finalTiles = true,
       overlapPrologue = true;

  /// The head dim of a tensor, padded to what products sum over.
  int64_t padHeadDim(mlir::RankedTensorType tensor) const;
};

/// Checks that the tensors are some that products take: elements and head dims.
mlir::LogicalResult checkTensors(const KernelOptions &options,
                                 attn::AttentionOpInterface op);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_KERNELOPTIONS_H
