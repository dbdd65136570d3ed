//===- ContributionShares.h - Values that key tiles accumulate --*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A share is a value of score_gradient that key tiles accumulate over pairs for
// gradients of captured tensors: the value that a contribution adds, or, if its
// index depends on the key, that value without the factors that are the same
// for all queries. Contributions may have a common share.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CONTRIBUTIONSHARES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CONTRIBUTIONSHARES_H

#include "Regions/RegionContext.h"

namespace fovea {

/// The distinct shares of contributions indexed by key, each with the first
/// contribution that has it.
llvm::SmallVector<Share> getKeyShares(attn::BackwardOp op);
/// The shares that are streamed to the role that reduces them by query or
/// relative position (getRelativeShares).
llvm::SmallVector<Share> getLeavingShares(attn::BackwardOp op);
/// True if a value of score_gradient depends on the score.
bool readsScore(mlir::Value value);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CONTRIBUTIONSHARES_H
