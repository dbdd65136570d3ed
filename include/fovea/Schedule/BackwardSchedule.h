//===- BackwardSchedule.h - Choice of backward plans ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The choice of the plans of a backward pass by planners. `attn-to-tile`
// requests them.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_BACKWARDSCHEDULE_H
#define FOVEA_SCHEDULE_BACKWARDSCHEDULE_H

#include "fovea/Schedule/BackwardPlans.h"

namespace fovea {

/// Returns the plans for `problem`. `overrides` is "auto" or a list of the
/// fields 'tile_n', 'stages', 'key_stages', 'work', 'output' and
/// 'producer_registers'; the latter is 0 for a kernel without roles. Fails with
/// a diagnostic on other fields and on values that do not fit the problem or
/// the target.
mlir::FailureOr<BackwardPlans>
chooseBackwardPlans(mlir::MLIRContext *context, const BackwardProblem &problem,
                    llvm::StringRef overrides,
                    llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace fovea

#endif // FOVEA_SCHEDULE_BACKWARDSCHEDULE_H
