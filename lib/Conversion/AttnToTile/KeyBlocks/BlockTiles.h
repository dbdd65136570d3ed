//===- BlockTiles.h - Coordinates of a block of scores ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKTILES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKTILES_H

#include "Regions/RegionContext.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace fovea {

/// Tiles of a block of scores: which queries and keys its elements are of, and
/// what rows and columns are when they are as large as the block.
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

  /// Coordinates of the block's keys, i32: a column tile, or a row tile where
  /// rows are keys.
  mlir::Value getKeyTile(mlir::Location loc) const;
  /// Those of the block's queries, the other way.
  mlir::Value getQueryTile(mlir::Location loc) const;
  /// What regions see as b, h, i and j; a number that is the same for all
  /// blocks is made by `scalars`.
  llvm::SmallVector<mlir::Value> getPlaces(mlir::Location loc,
                                           mlir::OpBuilder &scalars) const;
  /// `first + 0, 1, 2, ...` along `dim`; `first` is a multiple of
  /// `alignment`. Positions are not negative and do not overflow; who compares
  /// them is told.
  mlir::Value makeCoordinates(mlir::Location loc, mlir::Value first,
                              int64_t alignment, mlir::RankedTensorType type,
                              int64_t dim) const;

  /// What a vector with an element for each head has for each row, where rows
  /// are heads.
  mlir::Value loadOfHeads(mlir::Location loc, mlir::Value vector) const;
  /// A scalar or tile as a full tile.
  mlir::Value toFullTile(mlir::Location loc, mlir::Value value) const;

  /// The largest power of two that divides `value`.
  static int64_t getPowerOf2(int64_t value) { return value & -value; }

private:
  /// The type of `count` integers along `dim` of a tile.
  mlir::RankedTensorType getLineType(int64_t count, int64_t dim) const;
  /// Head and query of each row, where rows are several queries of each head.
  std::pair<mlir::Value, mlir::Value> getFoldedRows(mlir::Location loc) const;

  mlir::OpBuilder &builder;
  const RegionContext &context;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKTILES_H
