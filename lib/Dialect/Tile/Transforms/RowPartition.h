//===- RowPartition.h - What depends on a tile's rows -----------*- C++ -*-===//
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

/// The values of a kernel that differ between parts of its rows, where rows are
/// those of all its dots' results. Two dimensions of tiles are one if some op
/// says so: a dot that its rows are its first operand's, arithmetic that its
/// operands lie on each other. What is made of constants and scalars is made
/// for each use before that, so that it joins nothing.
class RowPartition {
public:
  /// Fails with a diagnostic if rows can't be parted in `parts`. Changes the
  /// kernel as said above.
  llvm::LogicalResult compute(mlir::Operation *kernel, int64_t parts);

  /// The rows of each part; 0 if there are no dots.
  int64_t getPartRows() const { return partRows; }
  /// Whether there is one such value for each part.
  bool isParted(mlir::Value value) const { return parted.contains(value); }
  /// Whether it is a tile whose rows are parted.
  bool hasRows(mlir::Value value) const;
  /// Whether the op, or one inside, has to do with such values.
  bool concerns(mlir::Operation *op) const;

private:
  using Classes = llvm::IntEqClasses;
  /// The number of a tile's dimension.
  std::optional<unsigned> lookup(mlir::Value value, unsigned dim) const;
  void join(mlir::Value a, unsigned dimOfA, mlir::Value b, unsigned dimOfB);
  void joinTiles(mlir::ValueRange values);
  void joinEach(mlir::ValueRange left, mlir::ValueRange right);
  void joinOp(mlir::Operation *op);
  void joinOther(mlir::Operation *op);
  llvm::LogicalResult findRows(mlir::Operation *kernel, int64_t parts);
  llvm::LogicalResult checkRows(mlir::Operation *kernel);
  llvm::LogicalResult checkOp(mlir::Operation *op);
  /// Adds what follows from what is parted; whether that was anything.
  bool spread(mlir::Operation *op);
  bool spreadAlong(llvm::ArrayRef<mlir::ValueRange> carried, bool all);
  void findParted(mlir::Operation *kernel);

  llvm::DenseMap<mlir::Value, unsigned> numbers;
  Classes classes;
  unsigned rows = 0;
  int64_t partRows = 0;
  llvm::DenseSet<mlir::Value> parted;
};

} // namespace fovea::tile

#endif // FOVEA_LIB_DIALECT_TILE_TRANSFORMS_ROWPARTITION_H
