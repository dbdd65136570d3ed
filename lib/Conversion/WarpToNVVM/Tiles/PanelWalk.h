//===- PanelWalk.h - Addresses in shared MMA operands -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order in which the instructions of a dot read an operand in swizzled
// panels, for the matrix descriptors of wgmma and tcgen05.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_PANELWALK_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_PANELWALK_H

#include "WarpToNVVM.h"

namespace fovea {

/// The address sequence of an operand in swizzled panels.
struct PanelWalk {
  /// Addresses in a descriptor are in units of 16 bytes, 14 bits of them.
  static constexpr int64_t kUnit = 16, kAddressMask = 0x3FFF;
  /// Rows of one repetition of a swizzle pattern.
  static constexpr int64_t kPatternRows = 8;
  /// Bytes of a row that one instruction reduces over.
  static constexpr int64_t kStepBytes = 32;

  int64_t rows, rowBytes, elementBytes;
  /// The reduction runs along columns, otherwise along rows.
  bool sumAlongColumns;
  /// Bytes from the buffer to the buffer of ones that continues its panel; 0
  /// without ones.
  int64_t toOnes = 0;
  /// Columns or rows of the result that the buffer holds before those of this
  /// dot.
  int64_t first = 0;

  int64_t getPanelBytes() const { return rows * rowBytes; }

  /// Distance between repetitions of the swizzle pattern, in units: the stride
  /// of a descriptor.
  int64_t getStride() const { return kPatternRows * rowBytes / kUnit; }

  /// A descriptor's lower half without the address.
  int64_t getLowerHalf() const {
    // Along columns the swizzle determines the next chunk.
    int64_t leading = sumAlongColumns ? kUnit
                      : toOnes        ? toOnes
                                      : getPanelBytes();
    return (leading / kUnit) << 16;
  }

  /// The increment of a descriptor for an advance by `bytes`. The ones stay in
  /// place, so the distance to them shrinks.
  int64_t getAdvance(int64_t bytes) const {
    int64_t units = bytes / kUnit;
    return toOnes ? units - (units << 16) : units;
  }

  /// The increment of a descriptor for k-step `step` and the result's columns
  /// from `column` on: rows of the buffer, or whole panels.
  int64_t getAdvanceTo(int64_t step, int64_t column = 0) const {
    column += first;
    int64_t toColumn = sumAlongColumns
                           ? column * rowBytes
                           : column * elementBytes / rowBytes * getPanelBytes();
    int64_t along = step * kStepBytes;
    int64_t bytes = sumAlongColumns
                        ? along / rowBytes * getPanelBytes() + along % rowBytes
                        : along / elementBytes * rowBytes;
    return getAdvance(toColumn + bytes);
  }
};

/// The walk through a shared operand whose reduction runs along its columns, or
/// along its rows.
PanelWalk getPanelWalk(mlir::MemRefType type, bool sumAlongColumns);

/// The lower half of the descriptor of a shared operand, i32. The base is
/// computed once, at the start of the role; a stage adds its offset. `ofGroup`
/// is the distance in bytes between the parts that consecutive warp groups of
/// the role read; 0 if all read the same.
mlir::Value emitLowerHalf(mlir::OpBuilder &builder, mlir::Location loc,
                          const SharedView &view, const PanelWalk &walk,
                          const Role &role, int64_t ofGroup = 0);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_TILES_PANELWALK_H
