//===- RegionRanges.h - Ranges of region integers ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integer ranges of a region's values, from upstream's range inference.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_REGIONRANGES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_REGIONRANGES_H

#include "fovea/Analysis/StaticRanges.h"

#include "mlir/IR/Region.h"

namespace fovea {

/// Ranges of the integers of a region of an attention op. Coordinates have
/// those of a sequence, sizes those of 32-bit parameters. Captured values are
/// unbounded.
class RegionRanges : public StaticRanges {
public:
  /// The last `captures` arguments are captured values; the two before them may
  /// exceed the longest sequence by `past`.
  RegionRanges(mlir::Region &region, unsigned captures, int64_t past = 0);
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_REGIONRANGES_H
