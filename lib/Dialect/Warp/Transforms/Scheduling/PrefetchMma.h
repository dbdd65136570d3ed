//===- PrefetchMma.h - Dots in memory form a round ahead --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PREFETCHMMA_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PREFETCHMMA_H

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fovea::warp {

/// Issues `dots`, which stand in the loop's body, a round ahead: those of the
/// first round before the loop, those of the next one behind the last op that
/// uses what they overwrite. What brings their operands moves with them; all
/// else stays. The loop must run at least once. Fails, without a change, if
/// they need what the round they stand in has just found, or if two of them, or
/// two operands, have one verb of a pipeline in common.
llvm::LogicalResult issueAhead(mlir::scf::ForOp loop,
                               llvm::ArrayRef<DotIntoOp> dots);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PREFETCHMMA_H
