//===- BlockBitmap.h - Which blocks see a tile, by bits ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKBITMAP_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKBITMAP_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// Which blocks of columns a tile of rows meets, 32 at a time. Whoever asks
/// about a tile and a block is told the same.
class BlockBitmap {
public:
  static constexpr int64_t kBlocks = tile::BallotOp::kColumns;
  /// A bit for each of 32 blocks, i32: whether some of its pairs are visible,
  /// and whether a mask hides none of them.
  struct Word {
    mlir::Value visible, full;
  };
  /// Makes what is wanted of a word, i32.
  using Choice =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(const Word &)>;

  virtual ~BlockBitmap() = default;

  /// Looks at the columns from `lower` to `upper`, multiples of a block and at
  /// most their number.
  void setRange(mlir::Value lower, mlir::Value upper);
  /// The blocks from number `start`, i32, on. None behind the range is visible.
  virtual mlir::FailureOr<Word> emitBlocks(mlir::Value start) = 0;

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
  /// Columns of a block, and the number of all columns.
  int64_t getColumns() const { return columns; }
  mlir::Value getLength() const { return length; }

protected:
  BlockBitmap(KernelBuilder &kb, int64_t columns, mlir::Value length)
      : kb(kb), columns(columns), length(length) {}

  /// Numbers of the blocks from `start` on, a column tile.
  mlir::Value emitCandidates(mlir::Value start);
  /// Whether the candidates stand before the range's end.
  mlir::Value emitExist(mlir::Value candidates);
  mlir::Value widen(mlir::Value value);

  KernelBuilder &kb;
  int64_t columns;
  mlir::Value length;
  bool hasFull = true;

private:
  mlir::FailureOr<mlir::ValueRange>
  emitSearch(mlir::Value number, mlir::TypeRange types, Choice choose);

  /// Numbers of blocks, and of words, i32.
  mlir::Value firstBlock, endBlock, words;
  mlir::Value wordCount;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKBITMAP_H
