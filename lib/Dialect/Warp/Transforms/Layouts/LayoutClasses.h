//===- LayoutClasses.h - Tiles that have one layout -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an op computes, it computes from tiles whose elements the same threads
// hold: operands and results of an op, and what a loop carries, are of one
// class. Classes meet in memory only.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_LAYOUTS_LAYOUTCLASSES_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_LAYOUTS_LAYOUTCLASSES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/IntEqClasses.h"

namespace fovea::warp {

/// The tile of a value's type, in registers or of a dot in flight; null if it
/// has none, or one that has its layout already.
mlir::RankedTensorType getUnassignedTile(mlir::Type type);

class LayoutClasses {
public:
  /// The classes of all tiles in `kernel` that have no layout yet. What is made
  /// of nothing but constants and scalars is made once for each of its uses
  /// first, so that it joins no classes.
  explicit LayoutClasses(mlir::Operation *kernel);

  /// A number below `size`; the value must have such a tile.
  unsigned lookup(mlir::Value value) const {
    return classes[numbers.lookup(value)];
  }
  unsigned size() const { return classes.getNumClasses(); }

private:
  void number(mlir::Value value);
  /// Those of them that are tiles are of one class.
  void join(mlir::ValueRange values);
  void joinEach(mlir::ValueRange left, mlir::ValueRange right);
  void joinOp(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::IntEqClasses classes;
};

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_LAYOUTS_LAYOUTCLASSES_H
