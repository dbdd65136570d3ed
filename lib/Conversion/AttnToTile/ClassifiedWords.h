//===- ClassifiedWords.h - Blocks asked about at run time -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_CLASSIFIEDWORDS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_CLASSIFIEDWORDS_H

#include "BlockSummaries.h"
#include "RegionToTile.h"

namespace fovea {

/// What kv_classify says of blocks of columns, 32 at a time: the blocks of keys
/// that a tile of queries sees, or those of queries that see a tile of keys.
/// Whoever asks about a tile and a block is told the same.
class ClassifiedWords {
public:
  static constexpr int64_t kBlocks = tile::BallotOp::kColumns;
  /// A bit for each of 32 blocks, i32: whether some of its pairs are visible,
  /// and whether all are, which a mask may hide none of.
  struct Word {
    mlir::Value visible, full;
  };
  /// Makes what is wanted of a word, i32.
  using Choice =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(const Word &)>;

  /// `tile` is the context of a tile of rows, which are queries or keys,
  /// without columns; `firstCapture` the op's first captured operand.
  ClassifiedWords(KernelBuilder &kb, attn::AttentionOpInterface op,
                  const RegionContext &tile, unsigned firstCapture);

  /// Looks at the columns from `lower` to `upper`, multiples of a block and at
  /// most their number; in words that begin at a multiple of `alignment`
  /// blocks. `last` is the tile's last row.
  void setRange(mlir::Value lower, mlir::Value upper, mlir::Value last,
                int64_t alignment = 1);
  /// The blocks from number `start`, i32, on. None outside the range is
  /// visible.
  mlir::FailureOr<Word> emitBlocks(mlir::Value start);

  /// The range's words are numbered, i32; how many there are, index.
  mlir::Value getWordCount() const { return wordCount; }
  /// The number of word `number`'s first block.
  mlir::Value emitStart(mlir::Value number);
  mlir::FailureOr<Word> emitWord(mlir::Value number) {
    return emitBlocks(emitStart(number));
  }
  /// How many bits the range's words have, of each kind that is chosen. `first`
  /// is what is chosen of the first word.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  countBits(mlir::ValueRange first, Choice choose);
  /// A word's number and what is left of it; where none of the first kind's
  /// bits are, the next word that has some, or the last one.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  emitRefilled(mlir::Value number, mlir::ValueRange left, Choice choose);

  /// Whether some blocks may need no mask.
  bool hasFullBlocks() const { return hasFull; }
  bool haveRowsOfKeys() const { return context.rowsAreKeys; }
  /// Columns of a block, and the number of all columns.
  int64_t getColumns() const { return context.columns; }
  mlir::Value getLength() const {
    return context.rowsAreKeys ? context.queryLength : context.keyLength;
  }

private:
  /// Whether the range has the candidates, a column tile of their numbers.
  mlir::Value emitExist(mlir::Value candidates);
  mlir::FailureOr<mlir::ValueRange>
  emitSearch(mlir::Value number, mlir::TypeRange types, Choice choose);
  mlir::Value integer(int64_t value);
  mlir::Value toInteger(mlir::Value index);
  mlir::Value widen(mlir::Value value);
  template <typename OpTy, typename... Args>
  mlir::Value make(Args &&...args) {
    return OpTy::create(kb.builder, kb.getLoc(), std::forward<Args>(args)...)
        ->getResult(0);
  }

  KernelBuilder &kb;
  attn::AttentionOpInterface op;
  BlockSummaries summaries;
  RegionContext context;
  bool hasFull;
  mlir::Value last;
  /// Numbers of blocks, and of words, i32. Words begin at `firstBlock`; the
  /// range begins at `lowerBlock`, or there where that is null.
  mlir::Value firstBlock, lowerBlock, endBlock, words;
  mlir::Value wordCount;
  /// Whether all the tile's rows exist, i1: pairs of others need a mask.
  mlir::Value tileIsWhole;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_CLASSIFIEDWORDS_H
