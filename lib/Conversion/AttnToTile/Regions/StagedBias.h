//===- StagedBias.h - Bias tiles in shared memory ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds captured tensors whose tiles score_mod reads whole, so that they can be
// staged in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_STAGEDBIAS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_STAGEDBIAS_H

#include "fovea/Dialect/Attn/IR/Attn.h"

namespace fovea {

/// The loads of score_mod that read a tile of a captured tensor per score
/// block: a bias per query and key.
struct StagedBias {
  /// Indices of the captured tensors, ascending.
  llvm::SmallVector<unsigned> captures;
  /// Bits that all of them read per score.
  int64_t bits = 0;
};

/// Finds loads of 16-bit floats whose last index is the key and whose only
/// other index that varies within a block is the query, each up to a shift that
/// is uniform in the block.
StagedBias findScoreBoxes(attn::ForwardOp op);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_STAGEDBIAS_H
