//===- LayoutClasses.h - Tiles that must share a layout ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups the register tiles of a kernel into classes that must have one layout.
// An op computes on elements that the same threads hold, so its operands, its
// results and the loop-carried values connected to them are in one class.
// Values pass between classes through memory only.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_LAYOUTS_LAYOUTCLASSES_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_LAYOUTS_LAYOUTCLASSES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/IntEqClasses.h"

namespace fovea::warp {

/// The tile of a type: a register tile, or the tile of an outstanding dot. Null
/// if the type has no tile or the tile has a layout already.
mlir::RankedTensorType getUnassignedTile(mlir::Type type);

class LayoutClasses {
public:
  /// Computes the classes of all tiles in `kernel` without a layout. Tiles
  /// computed from constants and scalars only are first cloned for each use, so
  /// that they do not merge classes.
  explicit LayoutClasses(mlir::Operation *kernel);

  /// The class index, less than `size()`. The value must have a tile without a
  /// layout.
  unsigned lookup(mlir::Value value) const {
    return classes[numbers.lookup(value)];
  }
  unsigned size() const { return classes.getNumClasses(); }

private:
  void number(mlir::Value value);
  /// Merges the classes of those values that are tiles.
  void join(mlir::ValueRange values);
  void joinEach(mlir::ValueRange left, mlir::ValueRange right);
  void joinOp(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::IntEqClasses classes;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_LAYOUTS_LAYOUTCLASSES_H
