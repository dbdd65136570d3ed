//===- BlockIterator.h - Blocks from lists ----------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKITERATOR_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKITERATOR_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// What a loop goes by that visits single blocks: how many there are, how many
/// of them, the first ones, need a mask, and what the visits carry.
class BlockIterator {
public:
  virtual ~BlockIterator() = default;
  /// Fills the visit region.
  virtual mlir::LogicalResult emitVisit(mlir::Block &block) = 0;

  mlir::Value getCount() const { return count; }
  mlir::Value getMasked() const { return masked; }
  mlir::ValueRange getInits() const { return inits; }
  /// Whether some blocks may need no mask.
  bool hasFullBlocks() const { return hasFull; }

protected:
  mlir::Value count, masked;
  llvm::SmallVector<mlir::Value> inits;
  bool hasFull = true;
};

/// Lists of the blocks of columns that blocks of rows see, in a kernel: tensors
/// as the operands of the clause `blocks` are.
struct BlockLists {
  struct List {
    mlir::Value counts, indices;
  };
  List partial;
  std::optional<List> full;
  /// Rows and columns of a block.
  int64_t rows, columns;
  /// Made by a kernel of ours (TransposeBlockLists): entries are blocks that exist, in
  /// ascending order; those that count are written, and the first one.
  bool areTurned = false;

  /// The op's own lists, by which queries see keys.
  static BlockLists of(KernelBuilder &kb, attn::AttentionOpInterface op);
};

/// The blocks of `columns` columns that a tile of rows visits by lists: the
/// partial ones first, then the full ones.
class ListedBlocks final : public BlockIterator {
public:
  ListedBlocks(KernelBuilder &kb, const BlockLists &lists, int64_t columns);

  /// What a loop visits that runs at least once where nothing is listed: a
  /// block past the last one, or the last one.
  enum class Else { Nothing, PastBlock, LastBlock };

  /// Reads how many there are for a tile, of `length` columns.
  void emitCounts(const KernelBuilder::Work &work, mlir::Value length,
                  Else otherwise);
  mlir::LogicalResult emitVisit(mlir::Block &block) override;

  /// Whether nothing is listed, i1; null where the loop need not run.
  mlir::Value getIsEmpty() const { return isEmpty; }

private:
  /// A list, and where the tile's row of it lies.
  struct Row {
    BlockLists::List list;
    llvm::SmallVector<mlir::Value> place;
    mlir::Value last; // the last entry that can be read
  };
  Row makeRow(const BlockLists::List &list, const KernelBuilder::Work &work,
              mlir::Value block);
  /// Tiles that the row's entries are; of turned lists those that exist, of
  /// `tiles` in all.
  mlir::Value emitCount(Row &row, mlir::Value tiles);
  /// Of a turned list's `entries`: the tiles that the last block does not have.
  mlir::Value emitMissing(const Row &row, mlir::Value entries,
                          mlir::Value tiles);
  /// The number of the block of columns at tile `n` of the row.
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
  /// The greatest number that is visited, and the least one or null.
  mlir::Value most, least;
  mlir::Value isEmpty;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_BLOCKITERATOR_H
