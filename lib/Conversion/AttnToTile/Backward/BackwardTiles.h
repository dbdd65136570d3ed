//===- BackwardTiles.h - What a backward kernel's tile finds ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDTILES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDTILES_H

#include "Backward/BackwardKernel.h"

namespace fovea {

/// A tile of queries meets all keys that it sees: dQ, and on the way D and sums
/// of other gradients. Or only some of these (BackwardKernelPlan).
mlir::LogicalResult emitQueryTile(const BackwardKernel &kernel);

/// A tile of keys meets all queries that see it, of all heads that share it: dK
/// and dV, and what it adds to dQ. The scores lie the other way there, so that
/// they are operands as they are.
mlir::LogicalResult emitKeyTile(const BackwardKernel &kernel);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDTILES_H
