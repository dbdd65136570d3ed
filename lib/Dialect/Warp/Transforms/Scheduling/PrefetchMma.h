//===- PrefetchMma.h - Prefetch dots in tensor memory -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prefetches the issue of dots whose accumulator is in memory (`warp.dot_into`)
// by one iteration. `warp-schedule-loops` uses it for kernels with such dots.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PREFETCHMMA_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PREFETCHMMA_H

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fovea::warp {

/// Issues `dots` of the loop body one iteration ahead: those of the first
/// iteration before the loop, those of the next iteration after the last op
/// that uses the memory that they overwrite. The pipeline ops that load their
/// operands move with them; all other ops stay. The loop must run at least
/// once. Fails without changes if the dots depend on results of the current
/// iteration, or if two dots or two operands share a pipeline op.
llvm::LogicalResult prefetchDots(mlir::scf::ForOp loop,
                                 llvm::ArrayRef<DotIntoOp> dots);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PREFETCHMMA_H
