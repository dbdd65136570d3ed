//===- BlockBitmap.h - Bitmap of the blocks of a tile -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The blocks that a tile processes as a bitmap of 32 blocks per word, from
// block-sparse lists (ListBitmap) or from kv_classify (PredicateBitmap).
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKBITMAP_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKBITMAP_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// The column blocks that a row tile processes, 32 at a time. All users of a
/// bitmap get the same answer for a tile and block.
class BlockBitmap {
public:
  static constexpr int64_t kBlocks = tile::BallotOp::kColumns;
  /// One bit per block, i32: some pairs are visible; all pairs are visible.
  struct Word {
    mlir::Value visible, full;
  };
  /// Selects bits of a word, i32.
  using Choice =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(const Word &)>;

  virtual ~BlockBitmap() = default;

  /// Restricts the bitmap to the columns from `lower` to `upper`, which are
  /// multiples of a block or the number of columns.
  void setRange(mlir::Value lower, mlir::Value upper);
  /// The word of the blocks from index `start`, i32, on. Blocks past the range
  /// are not visible.
  virtual mlir::FailureOr<Word> emitBlocks(mlir::Value start) = 0;

  /// Number of words of the range, index. Word indices are i32.
  mlir::Value getWordCount() const { return wordCount; }
  /// Index of the first block of word `number`.
  mlir::Value emitStart(mlir::Value number);
  mlir::FailureOr<Word> emitWord(mlir::Value number) {
    return emitBlocks(emitStart(number));
  }
  /// Number of set bits in the range, for each selection by `choose`. `first`
  /// is the selection from the first word.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  countBits(mlir::ValueRange first, Choice choose);
  /// The index of a word and its remaining bits. If the first selection has
  /// none, the next word that has some, or the last word.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  emitRefilled(mlir::Value number, mlir::ValueRange left, Choice choose);

  /// True if some blocks may need no mask.
  bool hasFullBlocks() const { return hasFull; }
  /// Columns of a block, and the number of all columns.
  int64_t getColumns() const { return columns; }
  mlir::Value getLength() const { return length; }

protected:
  BlockBitmap(KernelBuilder &kb, int64_t columns, mlir::Value length)
      : kb(kb), columns(columns), length(length) {}

  /// Indices of the blocks from `start` on, a column tile.
  mlir::Value emitCandidates(mlir::Value start);
  /// True for candidates before the end of the range.
  mlir::Value emitExist(mlir::Value candidates);
  mlir::Value widen(mlir::Value value);

  KernelBuilder &kb;
  int64_t columns;
  mlir::Value length;
  bool hasFull = true;

private:
  mlir::FailureOr<mlir::ValueRange>
  emitSearch(mlir::Value number, mlir::TypeRange types, Choice choose);

  /// Indices of blocks, and number of words, i32.
  mlir::Value firstBlock, endBlock, words;
  mlir::Value wordCount;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKBITMAP_H
