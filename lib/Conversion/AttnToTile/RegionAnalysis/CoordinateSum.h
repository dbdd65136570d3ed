//===- CoordinateSum.h - Integers as sums of coordinates --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes the integers of a region that are affine in the coordinates of a
// score block.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_COORDINATESUM_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_COORDINATESUM_H

#include "RegionAnalysis/RegionDependences.h"
#include "RegionAnalysis/RegionRanges.h"

namespace fovea {

/// A sum of the query and key coordinates times constants, a constant, and
/// integers that are uniform in the block.
struct CoordinateSum {
  struct Scalar {
    mlir::Value value; // of the region, an index
    int64_t sign;
  };
  int64_t row = 0, key = 0, constant = 0;
  llvm::SmallVector<Scalar, 2> scalars;

  /// True if it varies within the block.
  bool isOfBlock() const { return row != 0 || key != 0; }
  /// Adds `sign` times another sum.
  void add(const CoordinateSum &other, int64_t sign);
};

/// The integers of a region that are coordinate sums. They cannot have wrapped
/// around, so a sum may be computed in any order and width.
class CoordinateSums {
public:
  CoordinateSums(mlir::Region &region, const RegionDependences &dependences,
                 const RegionRanges &ranges);

  /// Returns the value as a coordinate sum, if it is one.
  std::optional<CoordinateSum> find(mlir::Value value) const;

private:
  std::optional<CoordinateSum> infer(mlir::Operation &op) const;

  const RegionDependences &dependences;
  llvm::DenseMap<mlir::Value, CoordinateSum> sums;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_COORDINATESUM_H
