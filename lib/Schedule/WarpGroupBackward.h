//===- WarpGroupBackward.h - Backward schedules for wgmma -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_SCHEDULE_WARPGROUPBACKWARD_H
#define FOVEA_LIB_SCHEDULE_WARPGROUPBACKWARD_H

#include "fovea/Schedule/BackwardPlans.h"

namespace fovea {

/// The backward part of the wgmma planner.
std::optional<std::string>
findWarpGroupObstacle(const BackwardProblem &problem);
mlir::FailureOr<BackwardPlans>
planWarpGroupBackward(plan::MatrixUnitAttrInterface unit,
                      const BackwardProblem &problem,
                      const BackwardFields &asked,
                      llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace fovea

#endif // FOVEA_LIB_SCHEDULE_WARPGROUPBACKWARD_H
