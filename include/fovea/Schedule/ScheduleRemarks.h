//===- ScheduleRemarks.h - Why a schedule was chosen ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Remarks of category "schedule" that explain a choice of `chooseSchedule` or
// `chooseBackwardPlans` to users (`--why`).
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_SCHEDULEREMARKS_H
#define FOVEA_SCHEDULE_SCHEDULEREMARKS_H

#include "fovea/Schedule/BackwardPlans.h"
#include "fovea/Schedule/ScheduleProblem.h"

namespace fovea {

class ScheduleTable;

/// The op and kernel that a schedule was chosen for.
struct ScheduleChoice {
  mlir::Operation *where;
  /// The kernel's name.
  llvm::StringRef kernel;
  /// The user-specified fields, and the table of measured schedules or null.
  llvm::StringRef overrides;
  const ScheduleTable *table = nullptr;
};

/// Emits remarks on the choice of `chooseSchedule`: the MMA unit, the fields,
/// and the reason for each field that a limit determines. The reason why a
/// larger value does not fit is the error of the planner's own check. Does
/// nothing if no remark engine is attached.
void remarkSchedule(const ScheduleChoice &choice,
                    const ScheduleProblem &problem, plan::KernelAttr plan);

/// The same for backward kernels.
void remarkBackwardPlans(const ScheduleChoice &choice,
                         const BackwardProblem &problem,
                         const BackwardPlans &plans);

} // namespace fovea

#endif // FOVEA_SCHEDULE_SCHEDULEREMARKS_H
