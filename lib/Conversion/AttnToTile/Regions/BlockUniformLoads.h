//===- BlockUniformLoads.h - Loads with one index per block -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds loads of captured tensors whose index depends on query and key but is
// often the same for a whole block, so that one version of the block can use a
// scalar load.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_BLOCKUNIFORMLOADS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_BLOCKUNIFORMLOADS_H

#include "RegionAnalysis/RegionDependences.h"
#include "Regions/RegionToTile.h"

#include "fovea/Analysis/IntervalBuilder.h"
#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace fovea {

/// Loads of captured tensors at an index that depends on both query and key,
/// such as a table of relative positions. If the index is clamped or divided,
/// most blocks have a single one, which the interval of the index over the
/// block shows.
class BlockUniformLoads {
public:
  BlockUniformLoads(mlir::OpBuilder &builder, const RegionContext &context,
                    mlir::Region &region);

  /// Emits the condition that each such load has one index in this block; null
  /// if there are none, or if the intervals are unknown.
  mlir::Value emitCondition();
  /// The loads' indices if the condition holds.
  const ExtractPlaces &getPlaces() const { return places; }

private:
  mlir::FailureOr<Interval> getInterval(mlir::Value value);
  mlir::FailureOr<Interval> inferInterval(mlir::Value value);
  /// The kernel's scalar for a value that is uniform in the block.
  mlir::Value cloneUniform(mlir::Value value);
  /// True if the index is within the captured tensor.
  mlir::Value isInside(mlir::tensor::ExtractOp extract, int64_t dim,
                       mlir::Value index);

  mlir::OpBuilder &builder;
  const RegionContext &context;
  IntervalBuilder b;
  RegionDependences dependences;
  llvm::SmallVector<mlir::tensor::ExtractOp> extracts;
  mlir::IRMapping mapping;
  KnownIntervals intervals;
  ExtractPlaces places;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_BLOCKUNIFORMLOADS_H
