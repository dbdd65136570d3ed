//===- BackwardMask.h - Masks of a score block ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks the pairs of a score block that do not count: hidden by mask_mod, or
// with a query or key past the end.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDMASK_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDMASK_H

#include "Backward/BackwardLoads.h"

namespace fovea {

/// The block's exponents, -inf for masked pairs.
mlir::FailureOr<mlir::Value> emitVisible(const BackwardKernel &kernel,
                                         const ScoreBlock &block,
                                         mlir::Value exponent);

/// True for pairs with nonzero P whose query exists: a tile of i1.
mlir::Value emitCounted(const BackwardKernel &kernel, const ScoreBlock &block,
                        mlir::Value weight);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDMASK_H
