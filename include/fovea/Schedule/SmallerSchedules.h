//===- SmallerSchedules.h - Schedules with fewer registers ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fallback schedules for a kernel whose registers ptxas had to spill.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_SMALLERSCHEDULES_H
#define FOVEA_SCHEDULE_SMALLERSCHEDULES_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace fovea {

/// Returns schedules to try if the kernel's own one has faults (Assemble.h),
/// the fastest first, as fields to override: first two warp groups, which have
/// more registers per thread than three, then narrower blocks. Returns none if
/// `metadata` is not launch metadata with a schedule.
std::optional<std::vector<std::string>>
getSmallerSchedules(llvm::StringRef metadata);

} // namespace fovea

#endif // FOVEA_SCHEDULE_SMALLERSCHEDULES_H
