//===- AffineScoreBuilder.h - Affine sums in score_mod ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes the ops of score_mod that only change an affine sum. Nothing is
// emitted for them until a tile is needed.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_AFFINESCOREBUILDER_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_AFFINESCOREBUILDER_H

#include "RegionAnalysis/AffineScore.h"
#include "RegionAnalysis/CoordinateSum.h"
#include "Regions/RegionEmitter.h"

namespace fovea {

/// The floats of score_mod that are sums. They are emitted on demand.
class AffineScoreBuilder {
public:
  AffineScoreBuilder(RegionEmitter &emitter, const CoordinateSums &integers)
      : emitter(emitter), integers(integers) {}

  void set(mlir::Value value, AffineScore form) {
    forms.try_emplace(value, std::move(form));
  }
  bool contains(mlir::Value value) const { return forms.contains(value); }
  /// True if `op` only changes a sum, which is then recorded for its result.
  bool note(mlir::Operation *op);
  /// The value as a sum; a sum of itself alone if none is known.
  AffineScore get(mlir::Value value) const;
  /// Emits the sum for a value, which then is a tile like any other.
  void emit(mlir::Value value);

private:
  std::optional<AffineScore> infer(mlir::Operation *op);
  std::optional<AffineScore> inferProduct(mlir::Operation *op);
  /// The value as a factor, if it is uniform.
  std::optional<Factor> getFactor(mlir::Value value) const;
  Factor invert(mlir::Location loc, Factor divisor) const;
  std::optional<AffineScore> convert(mlir::arith::SIToFPOp op);
  /// The value of a sum at the block's first element, i32.
  mlir::Value emitFirst(mlir::Location loc, const CoordinateSum &sum);
  mlir::Value emitScalars(mlir::Location loc, const CoordinateSum &sum);
  AffineScoreEmitter getEmitter(mlir::Location loc) const;

  RegionEmitter &emitter;
  const CoordinateSums &integers;
  llvm::DenseMap<mlir::Value, AffineScore> forms;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_AFFINESCOREBUILDER_H
