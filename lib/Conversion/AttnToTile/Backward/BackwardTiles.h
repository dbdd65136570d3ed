//===- BackwardTiles.h - Tiles of a backward kernel -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the body of a backward kernel for one query tile or one key tile.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDTILES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDTILES_H

#include "Backward/BackwardKernel.h"

namespace fovea {

/// A query tile processes all keys that it sees: dQ, delta, and sums for other
/// gradients; or only some of these (BackwardKernelPlan).
mlir::LogicalResult emitQueryTile(const BackwardKernel &kernel);

/// A key tile processes all queries that see it, of all heads that share it:
/// dK, dV, and contributions to dQ. Its scores are transposed, so that P and dS
/// are MMA operands without a transposition.
mlir::LogicalResult emitKeyTile(const BackwardKernel &kernel);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDTILES_H
