//===- ContributionShares.h - What pairs add to sums ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where tiles of keys find gradients by captured values, a share is a value of
// score_gradient that they sum up over pairs: what a contribution adds, or, of
// contributions by key, what is left of it without the factors that are the
// same for all queries. Contributions may have one share together.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CONTRIBUTIONSHARES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CONTRIBUTIONSHARES_H

#include "Regions/RegionContext.h"

namespace fovea {

/// The shares of contributions by key, each once, with the first contribution
/// that has it.
llvm::SmallVector<Share> getKeyShares(attn::BackwardOp op);
/// The shares that leave for sums by query or distance, as getDistanceShares.
llvm::SmallVector<Share> getLeavingShares(attn::BackwardOp op);
/// Whether a value of score_gradient depends on the score.
bool readsScore(mlir::Value value);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CONTRIBUTIONSHARES_H
