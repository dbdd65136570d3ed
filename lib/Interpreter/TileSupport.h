//===- TileSupport.h - Helpers for ops on tiles -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// A tile whose elements are not set yet.
inline std::shared_ptr<Array> makeTile(Frame &frame,
                                       mlir::RankedTensorType type) {
  return std::make_shared<Array>(type.getShape(), frame.getStorage(type));
}

/// Calls `fn` with a value of the C++ type that elements are held as.
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

/// Fails, with a diagnostic at `op`, where a box of fragments is no whole one.
llvm::LogicalResult checkFragments(mlir::Operation *op, Frame &frame,
                                   mlir::Value memory,
                                   mlir::OperandRange indices,
                                   const tile::BoxDims &dims,
                                   llvm::ArrayRef<int64_t> extents);

/// What `tile.load` reads: the box of `type`'s extents at `indices`, with zeros
/// outside the memref and at or past `limit` (null for none) along the rows.
std::shared_ptr<Array> loadBox(Frame &frame, mlir::Value source,
                               mlir::OperandRange indices,
                               const tile::BoxDims &dims, mlir::Value limit,
                               mlir::RankedTensorType type);

/// Some neighbouring rows of a tile.
struct RowRange {
  int64_t first, count;
};

/// What `tile.store` writes: the part of the box that lies in the memref and,
/// along the rows, before `limit` (null for none); only `rows`, if given. With
/// `add` it is added to what memory holds.
void storeBox(Frame &frame, const Array &value, mlir::Value target,
              mlir::OperandRange indices, const tile::BoxDims &dims,
              mlir::Value limit = {}, std::optional<RowRange> rows = {},
              bool add = false);

/// The same for later: memory and indices are those of now.
std::function<void()>
prepareStore(Frame &frame, std::shared_ptr<const Array> value,
             mlir::Value target, mlir::OperandRange indices,
             const tile::BoxDims &dims, RowRange rows, bool add);

std::shared_ptr<Array> transpose(const Array &array);
/// `count` of its columns, from `first` on.
std::shared_ptr<Array> takeColumns(const Array &array, int64_t first,
                                   int64_t count);

/// acc + a * b, or acc + a * transposed b, as a tile of `type`.
llvm::FailureOr<std::shared_ptr<Array>>
multiply(Frame &frame, mlir::Operation *op, const Array &a, const Array &b,
         const Array &acc, bool transposeB, mlir::RankedTensorType type);

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_TILESUPPORT_H
