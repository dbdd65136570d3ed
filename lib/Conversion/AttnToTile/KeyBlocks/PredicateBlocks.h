//===- PredicateBlocks.h - Runtime-selected blocks --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Iterates over the blocks of a range that kv_classify selects at run time.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_PREDICATEBLOCKS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_PREDICATEBLOCKS_H

#include "KeyBlocks/BlockIterator.h"
#include "KeyBlocks/PredicateBitmap.h"

namespace fovea {

/// The key blocks of a range that queries see by kv_classify, or the query
/// blocks that see keys: the partial ones first, then the full ones. The loop
/// carries the index of a word of 32 candidates and its remaining bits.
class PredicateBlocks final : public BlockIterator {
public:
  PredicateBlocks(KernelBuilder &kb, attn::AttentionOpInterface op,
                  const RegionContext &tile, unsigned firstCapture)
      : kb(kb), words(kb, op, tile, firstCapture) {
    hasFull = words.hasFullBlocks();
  }

  /// Counts the visible blocks of the columns from `lower` to `upper`, which
  /// are multiples of a block or the number of columns. `last` is the tile's
  /// last row.
  mlir::LogicalResult emitCounts(mlir::Value lower, mlir::Value upper,
                                 mlir::Value last, bool runsOnce);
  mlir::LogicalResult emitVisit(mlir::Block &block) override;

private:
  /// The partial and the full blocks of a word.
  llvm::SmallVector<mlir::Value> parted(const PredicateBitmap::Word &word);
  /// Lets the loop process one block if no block is `found`, index.
  void visitAtLeastOne(mlir::Value found);

  KernelBuilder &kb;
  PredicateBitmap words;
  /// The smallest and the largest block index, i32, or null. If no block is
  /// visible, the loop processes a key block past the last one; or the last
  /// query block, since it accumulates to the block's memory.
  mlir::Value least, most;
  /// Number of partial blocks, index.
  mlir::Value partial;
  /// Full blocks of the first word.
  mlir::Value firstFull;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_PREDICATEBLOCKS_H
