//===- RowIndex.h - Offsets of attention's rows -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offsets of rows in attention's tensors, for both layouts.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_ATTENTION_ROWINDEX_H
#define FOVEA_LIB_INTERPRETER_ATTENTION_ROWINDEX_H

#include "fovea/Dialect/Attn/IR/Attn.h"

#include <cmath>
#include <limits>

namespace fovea::interp {

/// Indexes a tensor of rank 4 or 3 by rows of (batch, head, position),
/// independent of its layout.
struct RowIndex {
  RowIndex(llvm::ArrayRef<int64_t> shape, attn::Layout layout)
      : width(shape.size() == 4 ? shape[3] : 1) {
    bool sequenceFirst = shape.size() == 4 && layout == attn::Layout::BSHD;
    unsigned head = sequenceFirst ? 2 : 1, position = sequenceFirst ? 1 : 2;
    heads = shape[head];
    positions = shape[position];
    batchStride = heads * positions * width;
    headStride = (sequenceFirst ? 1 : positions) * width;
    positionStride = (sequenceFirst ? heads : 1) * width;
  }
  int64_t operator()(int64_t batch, int64_t head, int64_t position) const {
    return batch * batchStride + head * headStride + position * positionStride +
           firstColumn;
  }
  /// The same rows, restricted to `count` columns.
  RowIndex takeColumns(int64_t first, int64_t count) const {
    RowIndex columns = *this;
    columns.firstColumn += first;
    columns.width = count;
    return columns;
  }
  int64_t width, heads, positions, batchStride, headStride, positionStride;
  int64_t firstColumn = 0;
};

template <typename T>
constexpr T kNegativeInfinity = -std::numeric_limits<T>::infinity();

/// The larger one; NaN if either is.
template <typename T>
T maximum(T a, T b) {
  return a > b || std::isnan(a) ? a : b;
}

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_ATTENTION_ROWINDEX_H
