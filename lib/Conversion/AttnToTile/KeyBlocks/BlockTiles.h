//===- BlockTiles.h - Coordinates of a score block --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles with the coordinates of a score block: the queries and keys of its
// elements.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKTILES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKTILES_H

#include "Regions/RegionContext.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace fovea {

/// Coordinate tiles of a score block, and conversions to tiles of its shape.
class BlockTiles {
public:
  BlockTiles(mlir::OpBuilder &builder, const RegionContext &context)
      : builder(builder), context(context) {}

  mlir::RankedTensorType getType(llvm::ArrayRef<int64_t> shape,
                                 mlir::Type element) const;
  /// The type of all scores of the block.
  mlir::RankedTensorType getFullType(mlir::Type element) const {
    return getType({context.rows, context.columns}, element);
  }

  /// Coordinates of the block's keys, i32: a column tile, or a row tile if rows
  /// are keys.
  mlir::Value getKeyTile(mlir::Location loc) const;
  /// Coordinates of the block's queries, along the other dimension.
  mlir::Value getQueryTile(mlir::Location loc) const;
  /// The arguments b, h, i and j of regions; a value that is the same for all
  /// blocks is created by `scalars`.
  llvm::SmallVector<mlir::Value> getPlaces(mlir::Location loc,
                                           mlir::OpBuilder &scalars) const;
  /// `first + 0, 1, 2, ...` along `dim`; `first` is a multiple of `alignment`.
  /// Positions are non-negative and do not overflow, which the ops state (nsw)
  /// for users that compare them.
  mlir::Value makeCoordinates(mlir::Location loc, mlir::Value first,
                              int64_t alignment, mlir::RankedTensorType type,
                              int64_t dim) const;

  /// One element per row of a vector over heads, with PackGQA.
  mlir::Value loadOfHeads(mlir::Location loc, mlir::Value vector) const;
  /// Broadcasts a scalar or tile to a full tile.
  mlir::Value toFullTile(mlir::Location loc, mlir::Value value) const;

  /// The largest power of two that divides `value`.
  static int64_t getPowerOf2(int64_t value) { return value & -value; }

private:
  /// The type of `count` integers along `dim` of a tile.
  mlir::RankedTensorType getLineType(int64_t count, int64_t dim) const;
  /// Head and query of each row, if rows are several queries of each head.
  std::pair<mlir::Value, mlir::Value> getFoldedRows(mlir::Location loc) const;

  mlir::OpBuilder &builder;
  const RegionContext &context;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKTILES_H
