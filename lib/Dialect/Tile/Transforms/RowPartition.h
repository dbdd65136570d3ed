//===- RowPartition.h - Values that depend on rows --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_TILE_TRANSFORMS_ROWPARTITION_H
#define FOVEA_LIB_DIALECT_TILE_TRANSFORMS_ROWPARTITION_H

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/IntEqClasses.h"

namespace fovea::tile {

/// Finds the values of a kernel that differ between parts of its rows. Rows are
/// the first dimension of all dots' results. Two tile dimensions are equal if
/// an op requires it: for example, a dot's result has the rows of its first
/// operand, and operands of elementwise ops have equal dimensions. Tiles
/// created from constants and scalars are cloned per use first, so that they
/// relate no other tiles.
class RowPartition {
public:
  /// Computes the partition into `parts`; reports an error if the rows can't be
  /// split. Clones constant tiles.
  llvm::LogicalResult compute(mlir::Operation *kernel, int64_t parts);

  /// The rows of each part; 0 if there are no dots.
  int64_t getPartRows() const { return partRows; }
  /// True if the value has one version per part.
  bool isPartitioned(mlir::Value value) const { return parted.contains(value); }
  /// True if the value is a tile whose rows are split.
  bool hasRows(mlir::Value value) const;
  /// True if the op or an op in its regions uses or defines a split value.
  bool concerns(mlir::Operation *op) const;

private:
  using Classes = llvm::IntEqClasses;
  /// The class member of a tile's dimension.
  std::optional<unsigned> lookup(mlir::Value value, unsigned dim) const;
  void join(mlir::Value a, unsigned dimOfA, mlir::Value b, unsigned dimOfB);
  void joinTiles(mlir::ValueRange values);
  void joinEach(mlir::ValueRange left, mlir::ValueRange right);
  void joinOp(mlir::Operation *op);
  void joinOther(mlir::Operation *op);
  llvm::LogicalResult findRows(mlir::Operation *kernel, int64_t parts);
  llvm::LogicalResult checkRows(mlir::Operation *kernel);
  llvm::LogicalResult checkOp(mlir::Operation *op);
  /// Propagates the property through `op`; true if anything changed.
  bool spread(mlir::Operation *op);
  bool spreadAlong(llvm::ArrayRef<mlir::ValueRange> carried, bool all);
  void findPartitioned(mlir::Operation *kernel);

  llvm::DenseMap<mlir::Value, unsigned> numbers;
  Classes classes;
  unsigned rows = 0;
  int64_t partRows = 0;
  llvm::DenseSet<mlir::Value> parted;
};

} // namespace fovea::tile

#endif // FOVEA_LIB_DIALECT_TILE_TRANSFORMS_ROWPARTITION_H
