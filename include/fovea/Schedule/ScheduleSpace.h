//===- ScheduleSpace.h - Which schedules to try -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_SCHEDULESPACE_H
#define FOVEA_SCHEDULE_SCHEDULESPACE_H

#include "fovea/Support/Target.h"

#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace fovea {

/// Tile sizes, warps and buffers for a search, as overrides of the schedule
/// that is chosen without one, which is the first, "auto". Whether they are
/// legal for a problem is up to `chooseSchedule`. In each list that is returned
/// the first legal one will do: the others differ by having fewer buffers.
std::vector<std::vector<std::string>>
getScheduleShapes(mlir::MLIRContext *context, const TargetInfo &target);

/// Changes of order and arithmetic that a search tries on the best shape, one
/// by one.
std::vector<std::string> getScheduleVariations(mlir::MLIRContext *context,
                                               const TargetInfo &target);

} // namespace fovea

#endif // FOVEA_SCHEDULE_SCHEDULESPACE_H
