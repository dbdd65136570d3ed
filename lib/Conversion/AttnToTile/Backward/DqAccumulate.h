//===- DqAccumulate.h - Adds contributions to dq_accum ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Adds the dQ contributions of a key tile to dq_accum, chunk by chunk.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_DQACCUMULATE_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_DQACCUMULATE_H

#include "Backward/BackwardLoads.h"

namespace fovea {

/// Adds the key tile's contribution to the block's dQ, from the dS and the keys
/// of each M-chunk. With ordered accumulation, `hasTurn` tells if the tile has
/// a semaphore slot there; null means that it has. `emitMeanwhile` emits work
/// that overlaps the first chunk's MMA if the plan delays that wait, and
/// precedes it otherwise.
llvm::LogicalResult
accumulateDq(const BackwardKernel &kernel, const QueryPlace &place,
             llvm::ArrayRef<KeyRows> strips, mlir::ValueRange gradients,
             mlir::Value hasSlot,
             llvm::function_ref<llvm::LogicalResult()> emitMeanwhile);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_DQACCUMULATE_H
