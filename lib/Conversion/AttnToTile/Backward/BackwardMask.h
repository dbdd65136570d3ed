//===- BackwardMask.h - Which pairs of a block count ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDMASK_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDMASK_H

#include "Backward/BackwardLoads.h"

namespace fovea {

/// A block's exponents, with -inf for what does not count: what mask_mod hides,
/// and queries and keys that do not exist.
mlir::FailureOr<mlir::Value> emitVisible(const BackwardKernel &kernel,
                                         const ScoreBlock &block,
                                         mlir::Value exponent);

/// The pairs whose weight counts, of rows that exist: a tile of i1.
mlir::Value emitCounted(const BackwardKernel &kernel, const ScoreBlock &block,
                        mlir::Value weight);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDMASK_H
