//===- ScoreBounds.h - What scores can be -----------------------*- C++ -*-===//
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

/// From the least to the largest element, as far as roundings let one say;
/// either may be infinite. NaN may come besides.
struct ScoreBounds {
  double least, most;
};

/// Bounds of `scores`, a float or a tile of floats, but for what is masked
/// (-inf put in place by a select or branch). From constants, functions that
/// are bounded by themselves (tanh, erf, sine) or by their operands, and
/// clamps. None unless both ends are finite. A product of queries and keys, or
/// one with a scale from the kernel's arguments, has no bounds unless the
/// caller takes it to be within `largestProduct`.
std::optional<ScoreBounds>
getScoreBounds(mlir::Value scores,
               double largestProduct = std::numeric_limits<double>::infinity());

} // namespace fovea::tile

#endif // FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SCOREBOUNDS_H
