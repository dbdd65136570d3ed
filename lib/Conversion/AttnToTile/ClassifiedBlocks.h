//===- ClassifiedBlocks.h - Blocks found at run time ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_CLASSIFIEDBLOCKS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_CLASSIFIEDBLOCKS_H

#include "BlockSummaries.h"
#include "RegionToTile.h"
#include "VisitedBlocks.h"

namespace fovea {

/// The blocks of a range of keys that kv_classify says queries see, or those of
/// a range of queries that see keys, found 32 at a time: the partial ones
/// first, then the full ones. The loop carries the number of a word of 32
/// candidates and the bits of those that are left of it.
class ClassifiedBlocks final : public VisitedBlocks {
public:
  /// `tile` is the context of a tile of rows, which are queries or keys,
  /// without columns; `firstCapture` the op's first captured operand.
  ClassifiedBlocks(KernelBuilder &kb, attn::AttentionOpInterface op,
                   const RegionContext &tile, unsigned firstCapture);

  /// Counts the visible blocks of the columns from `lower` to `upper`,
  /// multiples of a block and at most their number. `last` is the tile's last
  /// row.
  mlir::LogicalResult emitCounts(mlir::Value lower, mlir::Value upper,
                                 mlir::Value last, bool runsOnce);
  mlir::LogicalResult emitVisit(mlir::Block &block) override;

private:
  /// One bit for each of 32 candidates, i32.
  struct Bits {
    mlir::Value partial, full;
  };
  /// The candidates of word `number`, i32.
  mlir::FailureOr<Bits> emitWord(mlir::Value number);
  /// Words of candidates from `lower` to `upper`; notes their blocks.
  mlir::Value emitWordCount(mlir::Value lower, mlir::Value upper);
  /// How many bits the words have, i32.
  mlir::FailureOr<Bits> countBits(mlir::Value wordCount);
  /// Where no block is `found`, index, one is visited all the same.
  void visitAtLeastOne(mlir::Value found);
  /// The next word, from `number` on, that has bits of the wanted kind.
  mlir::FailureOr<mlir::ValueRange> emitSearch(mlir::Value number,
                                               mlir::Value isPartial);
  /// The number of columns.
  mlir::Value getLength();
  mlir::Value integer(int64_t value);
  mlir::Value toInteger(mlir::Value index);
  template <typename OpTy, typename... Args>
  mlir::Value make(Args &&...args) {
    return OpTy::create(kb.builder, kb.getLoc(), std::forward<Args>(args)...)
        ->getResult(0);
  }

  KernelBuilder &kb;
  attn::AttentionOpInterface op;
  BlockSummaries summaries;
  RegionContext context;
  mlir::Value last;
  /// Numbers of blocks and of words, i32; the least number that is visited and
  /// the greatest one, or null. Where there is none, keys have a block past the
  /// last one; queries, to whose sums is added, the last one.
  mlir::Value firstBlock, endBlock, words, least, most;
  /// How many blocks are found to be partial, index.
  mlir::Value partial;
  /// Whether all the tile's rows exist, i1: pairs of others need a mask.
  mlir::Value tileIsWhole;
  Bits firstWord;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_CLASSIFIEDBLOCKS_H
