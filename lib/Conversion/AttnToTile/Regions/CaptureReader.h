//===- CaptureReader.h - Reads of captured tensors --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_CAPTUREREADER_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_CAPTUREREADER_H

#include "Regions/RegionEmitter.h"

namespace fovea {

/// Reads captured tensors for a block of scores: an element, where the indices
/// are the same for all of it; a box, where they are coordinates up to a shift;
/// an element or a box for each few keys that share one; else a gather.
class CaptureReader {
public:
  explicit CaptureReader(RegionEmitter &emitter) : emitter(emitter) {}

  /// Makes argument of the region a coordinate along `dim` of the block,
  /// from `first` on.
  void addCoordinate(mlir::BlockArgument argument, int64_t dim,
                     mlir::Value first);
  /// Follows a coordinate plus or minus a scalar.
  void note(mlir::Operation *op);

  /// Emits a read; `lookup` gives what stands for an index that differs.
  void read(mlir::tensor::ExtractOp op,
            llvm::function_ref<mlir::Value(mlir::Value)> lookup);

private:
  /// What is read: the tensor's dimensions along the rows and the columns of
  /// the block, or -1, and the first indices.
  struct Box {
    llvm::SmallVector<int64_t, 2> dims = {-1, -1};
    llvm::SmallVector<mlir::Value> first;
    /// Set if an index counts so many keys at a time: which one that is.
    std::optional<int64_t> sharedKeys;
    int64_t sharedAt = -1;
  };
  /// A coordinate plus a scalar.
  struct Shifted {
    int64_t dim;       // of the tile: 0 along its rows, 1 along its columns
    mlir::Value first; // coordinate of the block's first element, index
  };

  std::optional<Box> findBox(mlir::tensor::ExtractOp op);
  std::optional<int64_t> getSharedKeys(mlir::Value index);
  /// An element of `source`, whose uniform indices are `first`: a scalar, or a
  /// box along `dims`.
  mlir::Value loadBox(mlir::Location loc, mlir::Value source,
                      llvm::ArrayRef<mlir::Value> first,
                      llvm::ArrayRef<int64_t> dims);
  /// One element of `source`, or 0 where dimension `position` has fewer.
  mlir::Value loadInside(mlir::Location loc, mlir::Value source,
                         llvm::ArrayRef<mlir::Value> indices, int64_t position);
  /// What neighbouring keys share is loaded once for all of them.
  mlir::Value loadForKeys(mlir::Location loc, mlir::Value source, Box box);
  mlir::Value gather(mlir::tensor::ExtractOp op, mlir::Value source,
                     llvm::function_ref<mlir::Value(mlir::Value)> lookup);

  RegionEmitter &emitter;
  llvm::DenseMap<mlir::Value, Shifted> shifted;
  /// The coordinate along keys; null if there is none.
  mlir::BlockArgument key;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_CAPTUREREADER_H
