//===- PendingSums.h - Loop-carried outstanding sums ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PENDINGSUMS_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PENDINGSUMS_H

#include "fovea/Dialect/Warp/IR/Warp.h"

namespace fovea::warp {

/// Makes the loop of a dot carry its outstanding accumulator. The wait for the
/// sum follows the loop; `warp.await_reads` follows the dot. Fails after a
/// diagnostic if the loop does not carry the accumulator, reads it otherwise,
/// or may run zero times, or if the dot has an operand in registers.
llvm::LogicalResult carryPendingSum(DotOp dot);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PENDINGSUMS_H
