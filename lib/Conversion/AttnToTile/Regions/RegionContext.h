//===- RegionContext.h - The score block of a region ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The score block that a region is evaluated on: coordinates, shape, captured
// values and options.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONCONTEXT_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONCONTEXT_H

#include "Kernel/PackedHeads.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

namespace fovea {

class CaptureMinMax;

/// A value of score_gradient that is accumulated over pairs, and a contribution
/// that it is a factor of (ContributionShares.h).
struct Share {
  attn::ContributeOp op;
  mlir::Value value;
};

/// The destination of a block's contributions to gradients with respect to
/// captured tensors: memory, or a callback.
struct Contributions {
  /// Memory per captured tensor to add to, or null.
  llvm::SmallVector<mlir::Value> targets;
  /// True for pairs that count, a tile of i1.
  mlir::Value counts;
  /// Otherwise: `take` receives each of these shares by its index, as a full
  /// tile.
  llvm::ArrayRef<Share> taken;
  llvm::function_ref<void(unsigned, mlir::Value)> take = nullptr;
};

/// The score block that a region is evaluated on.
struct RegionContext {
  /// Batch entry and query head of the CTA, as index.
  mlir::Value batch, head;
  /// First row and first key of the block, as index; null if the region does
  /// not use them. Rows are queries from `row` on. With PackGQA they are all
  /// queries of the heads from `row` on, or the adjacent heads, from `head` on,
  /// of the queries from `row` on.
  mlir::Value row, key;
  PackedHeads packedHeads;
  /// Lengths of the current sequence, as index.
  mlir::Value queryLength, keyLength;
  /// Captured values: memrefs for tensors, scalars as they are.
  llvm::ArrayRef<mlir::Value> captures;
  /// Extents of a score tile.
  int64_t rows, columns;
  /// Set if a scalar of type index might not fit 32 bits.
  bool &hasWideIndex;
  /// True if tanh must not use the GPU's approximation.
  bool accurateTanh = false;
  /// Block min/max buffers for kv_classify, or null.
  const CaptureMinMax *minMaxBuffers = nullptr;
  /// True if each warp owns whole rows of a tile: tiles computed per relative
  /// position can neither be split nor shared by columns.
  bool keepsRows = true;
  /// The tile is transposed: its rows are keys, its columns queries of one
  /// head.
  bool rowsAreKeys = false;
  /// Destination of contributions to gradients; if null or empty they are
  /// dropped, as another kernel adds them.
  const Contributions *contributions = nullptr;

  int64_t countQueries() const { return rowsAreKeys ? columns : rows; }
  int64_t countKeys() const { return rowsAreKeys ? rows : columns; }
  /// The tile's dimension of queries, and that of keys.
  int64_t getQueryDim() const { return rowsAreKeys ? 1 : 0; }
  int64_t getKeyDim() const { return rowsAreKeys ? 0 : 1; }
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONCONTEXT_H
