//===- CaptureReader.h - Loads of captured tensors --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the load of a captured tensor for a score block: scalar, tile, shared
// by adjacent keys, or gather.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_CAPTUREREADER_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_CAPTUREREADER_H

#include "Regions/RegionEmitter.h"

namespace fovea {

/// Loads captured tensors for a score block: a scalar if the indices are
/// uniform; a tile if they are coordinates up to a uniform shift; a scalar or
/// tile per group of adjacent keys that share an index; else a gather.
class CaptureReader {
public:
  explicit CaptureReader(RegionEmitter &emitter) : emitter(emitter) {}

  /// Registers an argument of the region as the coordinate along `dim` of the
  /// block, starting at `first`.
  void addCoordinate(mlir::BlockArgument argument, int64_t dim,
                     mlir::Value first);
  /// Tracks a coordinate plus or minus a scalar.
  void note(mlir::Operation *op);

  /// Emits a load; `lookup` returns the tile of a non-uniform index.
  void read(mlir::tensor::ExtractOp op,
            llvm::function_ref<mlir::Value(mlir::Value)> lookup);

private:
  /// A tile to load: the tensor's dimensions along the rows and the columns of
  /// the block, or -1, and the first indices.
  struct Box {
    llvm::SmallVector<int64_t, 2> dims = {-1, -1};
    llvm::SmallVector<mlir::Value> first;
    /// Set if an index is shared by so many adjacent keys; `sharedAt` is its
    /// position.
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
  /// Loads from `source` at `first`: a scalar, or a tile along `dims`.
  mlir::Value loadBox(mlir::Location loc, mlir::Value source,
                      llvm::ArrayRef<mlir::Value> first,
                      llvm::ArrayRef<int64_t> dims);
  /// Loads one element of `source`, or 0 if the index is past the end of
  /// dimension `position`.
  mlir::Value loadInside(mlir::Location loc, mlir::Value source,
                         llvm::ArrayRef<mlir::Value> indices, int64_t position);
  /// Loads an element or column once per group of adjacent keys that share it.
  mlir::Value loadForKeys(mlir::Location loc, mlir::Value source, Box box);
  mlir::Value gather(mlir::tensor::ExtractOp op, mlir::Value source,
                     llvm::function_ref<mlir::Value(mlir::Value)> lookup);

  RegionEmitter &emitter;
  llvm::DenseMap<mlir::Value, Shifted> shifted;
  /// The key coordinate; null if there is none.
  mlir::BlockArgument key;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_CAPTUREREADER_H
