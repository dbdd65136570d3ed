//===- Warps.h - Warps and warp groups --------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants that PTX fixes for all GPUs. TargetInfo has those that differ
// between GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_WARPS_H
#define FOVEA_SUPPORT_WARPS_H

#include <cstdint>

namespace fovea {

/// Number of threads of a warp.
inline constexpr int64_t kLanes = 32;
/// Maximum number of warps of a CTA.
inline constexpr int64_t kMaxWarps = 32;
/// Number of warps of a warp group, which issues wgmma and changes its register
/// budget together, and of its threads.
inline constexpr int64_t kGroupWarps = 4, kGroupThreads = kLanes * kGroupWarps;
/// Register budgets that setmaxnreg accepts: minimum, maximum and step.
inline constexpr int64_t kLeastBudget = 24, kMostBudget = 256, kBudgetStep = 8;

} // namespace fovea

#endif // FOVEA_SUPPORT_WARPS_H
