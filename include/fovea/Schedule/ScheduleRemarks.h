//===- ScheduleRemarks.h - Why a schedule was chosen ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_SCHEDULEREMARKS_H
#define FOVEA_SCHEDULE_SCHEDULEREMARKS_H

#include "fovea/Schedule/BackwardPlans.h"
#include "fovea/Schedule/Schedule.h"

namespace fovea {

class ScheduleTable;

/// Where and of what a schedule was chosen.
struct ScheduleChoice {
  mlir::Operation *where;
  /// The kernel's name.
  llvm::StringRef kernel;
  /// What was asked for, and the table that was looked at, or null.
  llvm::StringRef overrides;
  const ScheduleTable *table = nullptr;
};

/// Remarks of category "schedule" on what `chooseSchedule` chose: which unit,
/// which fields, and of each field that something binds what it is. Of what a
/// larger value would need, the planner's own check says it. Nothing where
/// nobody listens.
void remarkSchedule(const ScheduleChoice &choice,
                    const ScheduleProblem &problem, plan::KernelAttr plan);

/// The same of the kernels of gradients.
void remarkBackwardPlans(const ScheduleChoice &choice,
                         const BackwardProblem &problem,
                         const BackwardPlans &plans);

} // namespace fovea

#endif // FOVEA_SCHEDULE_SCHEDULEREMARKS_H
