//===- TensorMemorySchedule.h - Schedules of many roles ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_TARGET_TENSORMEMORYSCHEDULE_H
#define FOVEA_LIB_TARGET_TENSORMEMORYSCHEDULE_H

#include "fovea/Target/Schedule.h"

#include <optional>

namespace fovea {

/// The schedule of a kernel whose dots accumulate in tensor memory, with a role
/// for each thing that it does, or nothing if the target or the problem rules
/// that out.
std::optional<ScheduleFields>
chooseTensorMemoryFields(const ScheduleProblem &problem);

/// Makes rows, warps and the output's buffer, as far as they were not asked
/// for, what the other fields need.
void fitToRowTiles(bool asksForRows, bool asksForWarps, bool asksForBuffer,
                   ScheduleFields &fields);

/// Bytes of shared memory that such a kernel needs.
int64_t getTensorMemoryShared(const ScheduleProblem &problem,
                              tile::ScheduleAttr schedule);

/// What the instructions and both memories need of a schedule.
mlir::LogicalResult checkTensorMemorySchedule(
    const ScheduleProblem &problem, tile::ScheduleAttr schedule,
    llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace fovea

#endif // FOVEA_LIB_TARGET_TENSORMEMORYSCHEDULE_H
