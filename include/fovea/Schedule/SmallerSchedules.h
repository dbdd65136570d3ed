//===- SmallerSchedules.h - When registers don't suffice --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_SMALLERSCHEDULES_H
#define FOVEA_SCHEDULE_SMALLERSCHEDULES_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace fovea {

/// Schedules for a kernel whose own one has faults (Assemble.h), the fastest
/// first, as fields to override: two warp groups, which have more registers
/// than three, then narrower blocks. From the kernel's launch metadata; none if
/// that is not metadata with a schedule.
std::optional<std::vector<std::string>>
getSmallerSchedules(llvm::StringRef metadata);

} // namespace fovea

#endif // FOVEA_SCHEDULE_SMALLERSCHEDULES_H
