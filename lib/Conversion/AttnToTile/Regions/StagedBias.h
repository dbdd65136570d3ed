//===- StagedBias.h - Captured tensors read as blocks ------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_STAGEDBIAS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_STAGEDBIAS_H

#include "fovea/Dialect/Attn/IR/Attn.h"

namespace fovea {

/// The reads of score_mod that take a whole box of a captured tensor for each
/// block of scores: a bias for each query and key.
struct StagedBias {
  /// Numbers of the captured tensors, ascending.
  llvm::SmallVector<unsigned> captures;
  /// Bits that all of them read for one score.
  int64_t bits = 0;
};

/// Finds reads of 16-bit floats whose last index is the key and whose only
/// other index that varies within a block is the query, each up to a shift that
/// is the same for the whole block.
StagedBias findScoreBoxes(attn::ForwardOp op);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_STAGEDBIAS_H
