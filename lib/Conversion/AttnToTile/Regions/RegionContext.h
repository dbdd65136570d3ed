//===- RegionContext.h - The block of a region ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONCONTEXT_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONCONTEXT_H

#include "fovea/Dialect/Attn/IR/Attn.h"

namespace fovea {

class CaptureMinMax;

/// A value of score_gradient that is summed up over pairs, and a contribution
/// that it is a part of (ContributionShares.h).
struct Share {
  attn::ContributeOp op;
  mlir::Value value;
};

/// What becomes of what a block's pairs contribute to the gradients by captured
/// values.
struct Contributions {
  /// It is added to memory: that of each captured value, or null.
  llvm::SmallVector<mlir::Value> targets;
  /// The pairs that count, a tile of i1.
  mlir::Value counts;
  /// Or else `take` takes each of these by its number, as a full tile.
  llvm::ArrayRef<Share> taken;
  llvm::function_ref<void(unsigned, mlir::Value)> take = nullptr;
};

/// The block of scores that a region is evaluated on.
struct RegionContext {
  /// Batch entry and query head of the CTA, as index.
  mlir::Value batch, head;
  /// First row and first key of the block, as index; null where the region
  /// does not see them. Rows are queries; or heads, the first one being `row`,
  /// with `queriesOfHead` rows each.
  mlir::Value row, key;
  int64_t queriesOfHead;
  /// Lengths of the current sequence, as index.
  mlir::Value queryLength, keyLength;
  /// Captured values: memrefs for tensors, scalars as they are.
  llvm::ArrayRef<mlir::Value> captures;
  /// Extents of a score tile.
  int64_t rows, columns;
  /// Set where a scalar of type index might not fit 32 bits.
  bool &hasWideIndex;
  /// Whether tanh is not the chip's approximation.
  bool accurateTanh = false;
  /// Where kv_classify has the extremes from that it asks for, or null.
  const CaptureMinMax *summaries = nullptr;
  /// Whether each warp keeps whole rows of one piece of a tile: those of a tile
  /// made of diagonals can neither be parted nor shared by columns.
  bool keepsRows = true;
  /// The tile lies the other way: its rows are keys, its columns queries of one
  /// head.
  bool rowsAreKeys = false;
  /// Null, or without anything that takes it: what contributes to gradients by
  /// captured values is left out, as another kernel adds it.
  const Contributions *contributions = nullptr;

  int64_t countQueries() const { return rowsAreKeys ? columns : rows; }
  int64_t countKeys() const { return rowsAreKeys ? rows : columns; }
  /// The tile's dimension that queries lie along, and that of keys.
  int64_t getQueryDim() const { return rowsAreKeys ? 1 : 0; }
  int64_t getKeyDim() const { return rowsAreKeys ? 0 : 1; }
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONCONTEXT_H
