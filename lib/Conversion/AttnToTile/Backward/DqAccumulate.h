//===- DqAccumulate.h - What tiles of keys add to dQ -------*- C++ -*------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_DQACCUMULATE_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_DQACCUMULATE_H

#include "Backward/BackwardLoads.h"

namespace fovea {

/// Adds what a tile of keys knows of a block's dQ to the sums in memory: from
/// the strips of its keys, and the derivatives by each one's scores. `hasTurn`
/// says where sums have an order whether the tile has a turn there; null: it
/// has. `emitMeanwhile` emits what is done while the first part's product is
/// made, where the plan lets that wait late, and ahead of it elsewhere.
llvm::LogicalResult
addToQuerySums(const BackwardKernel &kernel, const QueryPlace &place,
               llvm::ArrayRef<KeyRows> strips, mlir::ValueRange gradients,
               mlir::Value hasTurn,
               llvm::function_ref<llvm::LogicalResult()> emitMeanwhile);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_DQACCUMULATE_H
