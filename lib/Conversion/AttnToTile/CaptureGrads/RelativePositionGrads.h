//===- RelativePositionGrads.h - Relative-position gradients ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients with respect to captured tensors that are indexed by the relative
// position of query and key. The contributions of pairs are streamed through
// shared memory, as dS is anyway, to another role, which reduces them per
// relative position.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_RELATIVEPOSITIONGRADS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_RELATIVEPOSITIONGRADS_H

#include "Backward/BackwardLoads.h"

namespace fovea {

/// The rounded contributions of the pairs of a query block and a key tile: dS,
/// and the other values (getRelativeShares).
struct RelativeShares {
  mlir::Value gradients;
  llvm::ArrayRef<mlir::Value> others;
};

/// Adds the contributions to memory.
llvm::LogicalResult addRelativePositionGrads(const BackwardKernel &kernel,
                                             const QueryPlace &place,
                                             const KeyRows &keys,
                                             const RelativeShares &shares);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_RELATIVEPOSITIONGRADS_H
