//===- RelativePositionGrads.h - Sums over pairs by distance ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients by captured values that pairs read by the distance of query and
// key. What pairs contribute goes to another role through shared memory, as
// their derivatives by scores do anyway, and that role adds it up along
// diagonals.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_RELATIVEPOSITIONGRADS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_RELATIVEPOSITIONGRADS_H

#include "Backward/BackwardLoads.h"

namespace fovea {

/// What the pairs of a block of queries and a tile of keys contribute, rounded:
/// derivatives by scores, and what there is beside them (getDistanceShares).
struct DistanceShares {
  mlir::Value gradients;
  llvm::ArrayRef<mlir::Value> others;
};

/// Adds them to those sums.
llvm::LogicalResult addToDistanceSums(const BackwardKernel &kernel,
                                      const QueryPlace &place,
                                      const KeyRows &keys,
                                      const DistanceShares &shares);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_RELATIVEPOSITIONGRADS_H
