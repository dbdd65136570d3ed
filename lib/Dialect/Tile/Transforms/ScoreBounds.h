//===- ScoreBounds.h - Bounds of scores -------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SCOREBOUNDS_H
#define FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SCOREBOUNDS_H

#include "mlir/IR/Value.h"

#include <limits>
#include <optional>

namespace fovea::tile {

/// Range of the elements, up to rounding; either bound may be infinite.
/// Elements may be NaN, too.
struct ScoreBounds {
  double least, most;
};

/// Bounds of the unmasked elements of `scores`, a float or a tile of floats.
/// Masked elements are -inf from a select or a branch. Bounds come from
/// constants, bounded functions (tanh, erf, sine), functions of bounded
/// operands, and clamps. nullopt unless both bounds are finite. A product of
/// queries and keys, also one with a run-time scale, is assumed to be within
/// `largestProduct`.
std::optional<ScoreBounds>
getScoreBounds(mlir::Value scores,
               double largestProduct = std::numeric_limits<double>::infinity());

} // namespace fovea::tile

#endif // FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SCOREBOUNDS_H
