//===- RelativePositionValues.h - What depends on distances alone ---------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_RELATIVEPOSITIONVALUES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_RELATIVEPOSITIONVALUES_H

#include "Regions/CaptureReader.h"
#include "RegionAnalysis/RegionDependences.h"
#include "RegionAnalysis/AffineScoreBuilder.h"

namespace fovea {

/// Whether it takes more to find what `op` makes, of distances, than to bring
/// it to scores. In tiles of keys (`rowsAreKeys`) products of distances do,
/// too: a sum with them is no sum of a row's and a column's numbers any more.
bool isDearByDistance(mlir::Operation *op, const RegionDependences &dependences,
                      bool rowsAreKeys);

/// What depends on the distance of query and key alone is computed once for
/// each diagonal of a block, M+N values in place of MxN, where it takes more
/// than the few instructions that bring a diagonal to its scores. Distances are
/// those of the block's last query and so many keys: a block of one row.
class RegionDiagonals {
public:
  /// `scores` emits the region for the block of scores.
  RegionDiagonals(mlir::Region &region, const RegionDependences &dependences,
                  RegionEmitter &scores);

  /// Whether `op` is computed for diagonals.
  bool take(mlir::Operation *op, const AffineScoreBuilder &forms) const;
  /// Emits it so.
  mlir::LogicalResult emit(mlir::Operation *op);
  /// What a value that depends on distances alone is on diagonals, which is
  /// emitted if it was not.
  mlir::FailureOr<mlir::Value> get(mlir::Value value);

private:
  /// Whether `op` takes more than those few instructions.
  bool isDear(mlir::Operation *op, const AffineScoreBuilder &forms) const;
  /// Emits the coordinates of the row's query and keys.
  void emitCoordinates(mlir::Location loc);
  /// Emits, for the row, `op` and what it is computed from.
  mlir::LogicalResult emitOnRow(mlir::Operation *op);

  mlir::Region &region;
  const RegionDependences &dependences;
  RegionEmitter &scores;
  RegionContext context;
  RegionRanges ranges;
  RegionEmitter row;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_RELATIVEPOSITIONVALUES_H
