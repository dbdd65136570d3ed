//===- PredicateBlocks.h - Blocks found at run time ------------*- C++ -*--===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_PREDICATEBLOCKS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_PREDICATEBLOCKS_H

#include "KeyBlocks/PredicateBitmap.h"
#include "KeyBlocks/BlockIterator.h"

namespace fovea {

/// The blocks of a range of keys that kv_classify says queries see, or those of
/// a range of queries that see keys: the partial ones first, then the full
/// ones. The loop carries the number of a word of 32 candidates and the bits of
/// those that are left of it.
class PredicateBlocks final : public BlockIterator {
public:
  PredicateBlocks(KernelBuilder &kb, attn::AttentionOpInterface op,
                   const RegionContext &tile, unsigned firstCapture)
      : kb(kb), words(kb, op, tile, firstCapture) {
    hasFull = words.hasFullBlocks();
  }

  /// Counts the visible blocks of the columns from `lower` to `upper`,
  /// multiples of a block and at most their number. `last` is the tile's last
  /// row.
  mlir::LogicalResult emitCounts(mlir::Value lower, mlir::Value upper,
                                 mlir::Value last, bool runsOnce);
  mlir::LogicalResult emitVisit(mlir::Block &block) override;

private:
  /// The partial and the full ones of a word.
  llvm::SmallVector<mlir::Value> parted(const PredicateBitmap::Word &word);
  /// Where no block is `found`, index, one is visited all the same.
  void visitAtLeastOne(mlir::Value found);

  KernelBuilder &kb;
  PredicateBitmap words;
  /// The least number of a block that is visited and the greatest one, i32, or
  /// null. Where there is none, keys have a block past the last one; queries,
  /// to whose sums is added, the last one.
  mlir::Value least, most;
  /// How many blocks are found to be partial, index.
  mlir::Value partial;
  /// Of the first word.
  mlir::Value firstFull;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_PREDICATEBLOCKS_H
