//===- BlockUniformLoads.h - One read for a whole block ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Reads of captured tensors at an index made of both query and key, as of a
/// table of distances: each score has a place of its own. Where the index is
/// clamped or divided, most blocks have one place in common; the interval of
/// the index over the block tells.
class BlockUniformLoads {
public:
  BlockUniformLoads(mlir::OpBuilder &builder, const RegionContext &context,
                  mlir::Region &region);

  /// Emits whether each such read has one place in this block; null if there is
  /// none, or if it can't be told.
  mlir::Value emitCondition();
  /// Their indices where that holds.
  const ExtractPlaces &getPlaces() const { return places; }

private:
  mlir::FailureOr<Interval> getInterval(mlir::Value value);
  mlir::FailureOr<Interval> inferInterval(mlir::Value value);
  /// The scalar in the kernel of a value that is one for the block.
  mlir::Value cloneUniform(mlir::Value value);
  /// Whether the captured tensor has such an index.
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
