//===- BlockIterator.h - Iteration over single blocks -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of block iterators for `tile.for_blocks` and
// `tile.softmax_sum`, and the iterator over block-sparse lists.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKITERATOR_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKITERATOR_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// The iteration over single blocks: their number; the number of blocks that
/// need a mask, which come first; and the loop-carried values.
class BlockIterator {
public:
  virtual ~BlockIterator() = default;
  /// Fills the `visit` region.
  virtual mlir::LogicalResult emitVisit(mlir::Block &block) = 0;

  mlir::Value getCount() const { return count; }
  mlir::Value getMasked() const { return masked; }
  mlir::ValueRange getInits() const { return inits; }
  /// True if some blocks may need no mask.
  bool hasFullBlocks() const { return hasFull; }

protected:
  mlir::Value count, masked;
  llvm::SmallVector<mlir::Value> inits;
  bool hasFull = true;
};

/// Block-sparse lists in a kernel: for each row block the column blocks that it
/// sees, as the tensors of the clause `blocks`.
struct BlockLists {
  struct List {
    mlir::Value counts, indices;
  };
  List partial;
  std::optional<List> full;
  /// Rows and columns of a block.
  int64_t rows, columns;
  /// True if made by TransposeBlockLists: the listed entries are existing
  /// blocks in ascending order; the first entry is written even if the list is
  /// empty.
  bool areTransposed = false;

  /// The op's own lists, from queries to keys.
  static BlockLists of(KernelBuilder &kb, attn::AttentionOpInterface op);
  /// The op's own transposed lists. Like those above, they are unchecked user
  /// data.
  static BlockLists ofQueries(KernelBuilder &kb, attn::AttentionOpInterface op);
};

/// The blocks of `columns` columns that a row tile processes by lists: the
/// partial ones first, then the full ones.
class ListedBlocks final : public BlockIterator {
public:
  ListedBlocks(KernelBuilder &kb, const BlockLists &lists, int64_t columns);

  /// The block of a loop that runs at least once if the lists are empty: a
  /// block past the last one, or the last one.
  enum class Else { Nothing, PastBlock, LastBlock };

  /// Reads the number of blocks for a tile with `length` columns.
  void emitCounts(const KernelBuilder::Work &work, mlir::Value length,
                  Else otherwise);
  mlir::LogicalResult emitVisit(mlir::Block &block) override;

  /// True if the lists are empty, i1; null if the loop need not run then.
  mlir::Value getIsEmpty() const { return isEmpty; }

private:
  /// A list, and the indices of the tile's row in it.
  struct Row {
    BlockLists::List list;
    llvm::SmallVector<mlir::Value> place;
    mlir::Value last; // the last entry that can be read
  };
  Row makeRow(const BlockLists::List &list, const KernelBuilder::Work &work,
              mlir::Value block);
  /// Number of tiles in the row's entries; in transposed lists only existing
  /// ones, of `tiles` in all.
  mlir::Value emitCount(Row &row, mlir::Value tiles);
  /// Number of tiles in a transposed list's `entries` that are past the end of
  /// the last block.
  mlir::Value emitMissing(const Row &row, mlir::Value entries,
                          mlir::Value tiles);
  /// Index of the column block of the row's tile `n`.
  mlir::Value emitEntry(const Row &row, mlir::Value n);
  template <typename OpTy>
  mlir::Value compute(mlir::Value x, mlir::Value y) {
    return kb.builder.createOrFold<OpTy>(kb.getLoc(), x, y);
  }

  KernelBuilder &kb;
  BlockLists lists;
  int64_t columns, tilesPerBlock;
  Row partial;
  std::optional<Row> full;
  /// The largest block index, and the smallest one or null.
  mlir::Value most, least;
  mlir::Value isEmpty;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKITERATOR_H
