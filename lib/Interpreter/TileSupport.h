//===- TileSupport.h - Helpers for tile ops ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Helpers of the handlers of tile and warp ops: loads and stores of tiles,
// transposition and dots.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_TILESUPPORT_H
#define FOVEA_LIB_INTERPRETER_TILESUPPORT_H

#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Interpreter/Interpreter.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/ErrorHandling.h"

#include <optional>

#include <functional>

namespace fovea::interp {

/// A tile with uninitialised elements.
inline std::shared_ptr<Array> makeTile(Frame &frame,
                                       mlir::RankedTensorType type) {
  return std::make_shared<Array>(type.getShape(), frame.getStorage(type));
}

/// Calls `fn` with a value of the storage's C++ type.
template <typename Fn>
auto withStorage(Storage storage, Fn fn) {
  switch (storage) {
  case Storage::Int:
    return fn(int64_t());
  case Storage::F32:
    return fn(float());
  case Storage::F64:
    return fn(double());
  }
  llvm_unreachable("unknown storage");
}

/// Fails, with a diagnostic at `op`, if a tile in fragments is misaligned or
/// out of bounds.
llvm::LogicalResult checkFragments(mlir::Operation *op, Frame &frame,
                                   mlir::Value memory,
                                   mlir::OperandRange indices,
                                   const tile::BoxDims &dims,
                                   llvm::ArrayRef<int64_t> extents);

/// Memory with the indices of a tile's groups of rows, if it has a table of
/// them.
struct GroupTable {
  GroupTable() = default;
  GroupTable(Frame &frame, mlir::Value table, mlir::OperandRange indices);

  /// The index of a group; -1 if the table has none.
  int64_t lookup(int64_t group) const;

  const MemRefView *memory = nullptr;
  /// The element offset of the row of the last dimension, and the position of
  /// the first group in it.
  int64_t offset = 0, first = 0;
  bool isOutside = false;
};

/// Implements `tile.load`: the tile of `type`'s extents at `indices`, with
/// zeros outside the memref and at or past `limit` (null for none) along the
/// rows.
std::shared_ptr<Array> loadBox(Frame &frame, mlir::Value source,
                               mlir::OperandRange indices,
                               const tile::BoxDims &dims, mlir::Value limit,
                               const GroupTable &table,
                               mlir::RankedTensorType type);

/// A range of rows of a tile.
struct RowRange {
  int64_t first, count;
};

/// Implements `tile.store`: writes the part of the tile that is within the
/// memref and, along the rows, before `limit` (null for none); only `rows`, if
/// given. With `add` it is added to the contents of memory.
void storeBox(Frame &frame, const Array &value, mlir::Value target,
              mlir::OperandRange indices, const tile::BoxDims &dims,
              mlir::Value limit = {}, std::optional<RowRange> rows = {},
              bool add = false);

/// Prepares such a store for later execution: memory and indices are bound now.
std::function<void()>
prepareStore(Frame &frame, std::shared_ptr<const Array> value,
             mlir::Value target, mlir::OperandRange indices,
             const tile::BoxDims &dims, RowRange rows, bool add);

std::shared_ptr<Array> transpose(const Array &array);
/// Columns `first` to `first + count` of an array.
std::shared_ptr<Array> takeColumns(const Array &array, int64_t first,
                                   int64_t count);

/// acc + a * b, or acc + a * transposed b, as a tile of `type`.
llvm::FailureOr<std::shared_ptr<Array>>
multiply(Frame &frame, mlir::Operation *op, const Array &a, const Array &b,
         const Array &acc, bool transposeB, mlir::RankedTensorType type);

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_TILESUPPORT_H
