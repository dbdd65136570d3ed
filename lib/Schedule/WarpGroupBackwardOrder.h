//===- WarpGroupBackwardOrder.h - Order of a backward block -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of dots, loads and stores in an iteration of a Hopper kernel over
// key tiles, and what registers keep from one to the next.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_SCHEDULE_WARPGROUPBACKWARDORDER_H
#define FOVEA_LIB_SCHEDULE_WARPGROUPBACKWARDORDER_H

#include "WarpGroupBackwardLimits.h"

#include "fovea/Schedule/BackwardPlans.h"

namespace fovea::wgmma_backward {

/// Register budgets of roles if a warp group accumulates both dK and dV of its
/// keys, and the resulting options.
struct JointRegisters {
  int64_t ofCompute = kComputeRegisters, ofReduce = kReduceRegisters;
  /// Columns of a dQ chunk.
  int64_t partColumns = kDqChunkColumns;
  bool keepsGradients = false;
};

/// Returns true if a dQ chunk is computed while the previous chunk is
/// accumulated. With a score_mod, its values would be spilled; with sums by
/// relative position, that time is used for those sums.
bool addsDqAhead(const BackwardProblem &problem, KeyRoles keyRoles);

/// Returns the plan with the order of an iteration and with the entries that
/// state what registers keep and how dQ is accumulated.
plan::KernelAttr orderKeysBlock(plan::KernelAttr keys,
                                const BackwardProblem &problem,
                                KeyRoles keyRoles,
                                const JointRegisters &registers);

} // namespace fovea::wgmma_backward

#endif // FOVEA_LIB_SCHEDULE_WARPGROUPBACKWARDORDER_H
