//===- ScheduleSpace.h - Candidate schedules of a search --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enumerates the schedules that `fovea-run --tune` measures.
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

/// Returns tile sizes, warps and buffers to try, as overrides of the default
/// schedule; the first entry is "auto". `chooseSchedule` decides whether they
/// are legal for a problem. Each inner list is ordered by decreasing numbers of
/// buffers; only its first legal schedule needs to be measured.
std::vector<std::vector<std::string>>
getScheduleShapes(mlir::MLIRContext *context, const TargetInfo &target);

/// Returns changes of order and arithmetic that a search applies one by one to
/// the best shape.
std::vector<std::string> getScheduleVariations(mlir::MLIRContext *context,
                                               const TargetInfo &target);

} // namespace fovea

#endif // FOVEA_SCHEDULE_SCHEDULESPACE_H
