//===- WarpGroupSchedule.h - Schedules of specialised kernels ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_TARGET_WARPGROUPSCHEDULE_H
#define FOVEA_LIB_TARGET_WARPGROUPSCHEDULE_H

#include "fovea/Target/Schedule.h"

#include <optional>

namespace fovea {

/// The schedule of a kernel with a role that copies and warp groups that
/// compute, or nothing if the target or the problem rules that out. Its
/// recurrence is the best one, or the one that is asked for.
std::optional<ScheduleFields>
chooseWarpGroupFields(const ScheduleProblem &problem,
                      std::optional<tile::RecurrenceKind> recurrence);

/// The fields that follow from the number of warp groups that compute.
std::string getWarpGroupOverrides(int64_t groups);

/// Bytes of shared memory that such a kernel needs.
int64_t getWarpGroupSharedMemory(const ScheduleProblem &problem,
                                 tile::ScheduleAttr schedule);

/// Makes rows and register budgets, as far as they may be changed, those of as
/// many warp groups as there are warps for.
void fitToGroups(const ScheduleProblem &problem, bool rows, bool budget,
                 ScheduleFields &fields);

/// Gives the output a buffer of its own if there is room for one, if it may
/// instead of a third or fourth block of keys.
void chooseOutputStages(const ScheduleProblem &problem, bool mayTakeKeyStages,
                        ScheduleFields &fields);

/// Chooses how output gets to memory, once all other fields are known.
void chooseOutput(const ScheduleProblem &problem, bool mayTakeKeyStages,
                  ScheduleFields &fields);

/// What the instructions, registers and shared memory need of a schedule.
mlir::LogicalResult checkWarpGroupSchedule(
    const ScheduleProblem &problem, tile::ScheduleAttr schedule,
    llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace fovea

#endif // FOVEA_LIB_TARGET_WARPGROUPSCHEDULE_H
