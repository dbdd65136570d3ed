//===- Schedule.h - Chooses tile sizes, stages, warps -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The choice of a forward kernel's schedule by planners. `attn-to-tile`
// requests a schedule and stores the resulting plan in `launch.abi`.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_SCHEDULE_H
#define FOVEA_SCHEDULE_SCHEDULE_H

#include "fovea/Schedule/ScheduleFields.h"
#include "fovea/Schedule/ScheduleProblem.h"

namespace fovea {

/// Returns the bytes of shared memory that a forward kernel with these fields
/// needs.
int64_t getSharedMemory(mlir::MLIRContext *context,
                        const ScheduleProblem &problem,
                        const ScheduleFields &fields);

/// Returns the plan of a kernel with these fields, which must be valid.
plan::KernelAttr makePlan(mlir::MLIRContext *context,
                          const ScheduleFields &fields);

/// Returns the multiple to which head dims are padded: the reduction step of
/// all MMA units of the target that support elements of this width.
int64_t getSumStep(mlir::MLIRContext *context, const TargetInfo &target,
                   int64_t elementBits);

class ScheduleTable;

/// Returns the plan for `problem`. A field has the value of `overrides`, else
/// of `table` (which may be null), else of the planner's rules. `overrides` is
/// "auto" or a list such as "tile_n=32,stages=3". Fails with a diagnostic on
/// unknown fields and on schedules that do not fit the target.
mlir::FailureOr<plan::KernelAttr>
chooseSchedule(mlir::MLIRContext *context, const ScheduleProblem &problem,
               llvm::StringRef overrides, const ScheduleTable *table,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace fovea

#endif // FOVEA_SCHEDULE_SCHEDULE_H
