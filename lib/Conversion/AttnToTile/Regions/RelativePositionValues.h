//===- RelativePositionValues.h - Relative-position values ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes values that depend only on the relative position of query and key
// once per relative position of a block.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_RELATIVEPOSITIONVALUES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_RELATIVEPOSITIONVALUES_H

#include "RegionAnalysis/AffineScoreBuilder.h"
#include "RegionAnalysis/RegionDependences.h"
#include "Regions/CaptureReader.h"

namespace fovea {

/// True if computing the result of `op` per relative position is cheaper than
/// per score. In key tiles (`rowsAreKeys`) this includes products of relative
/// positions: with them the score is no sum of row and column terms.
bool isExpensiveRelative(mlir::Operation *op,
                         const RegionDependences &dependences,
                         bool rowsAreKeys);

/// Computes values that depend on the relative position alone once per relative
/// position, M+N values instead of MxN, if they take more than the few
/// instructions that broadcast them to scores. They are evaluated on a block of
/// one row: the block's last query and M+N keys.
class RelativePositionEmitter {
public:
  /// `scores` emits the region for the score block.
  RelativePositionEmitter(mlir::Region &region,
                          const RegionDependences &dependences,
                          RegionEmitter &scores);

  /// True if `op` is computed per relative position.
  bool take(mlir::Operation *op, const AffineScoreBuilder &forms) const;
  /// Emits `op` per relative position.
  mlir::LogicalResult emit(mlir::Operation *op);
  /// The tile per relative position of a value, emitted on demand.
  mlir::FailureOr<mlir::Value> get(mlir::Value value);

private:
  /// True if `op` takes more than those few instructions.
  bool isExpensive(mlir::Operation *op, const AffineScoreBuilder &forms) const;
  /// Emits the coordinates of the row's query and keys.
  void emitCoordinates(mlir::Location loc);
  /// Emits `op` and its operands on the row.
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
