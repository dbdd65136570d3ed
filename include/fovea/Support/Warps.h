//===- Warps.h - How threads are grouped ------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What PTX fixes for every chip. What chips differ in stands in TargetInfo.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_WARPS_H
#define FOVEA_SUPPORT_WARPS_H

#include <cstdint>

namespace fovea {

/// Threads of a warp.
inline constexpr int64_t kLanes = 32;
/// Warps of a CTA at most.
inline constexpr int64_t kMaxWarps = 32;
/// Warps of a warp group, which issues wgmma and changes its number of
/// registers together, and their threads.
inline constexpr int64_t kGroupWarps = 4, kGroupThreads = kLanes * kGroupWarps;
/// Registers of a thread that setmaxnreg takes: from, to, in steps of.
inline constexpr int64_t kLeastBudget = 24, kMostBudget = 256, kBudgetStep = 8;

} // namespace fovea

#endif // FOVEA_SUPPORT_WARPS_H
