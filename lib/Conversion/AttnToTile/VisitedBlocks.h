//===- VisitedBlocks.h - Blocks of keys from lists --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_VISITEDBLOCKS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_VISITEDBLOCKS_H

#include "KernelBuilder.h"

namespace fovea {

/// The blocks of `columns` keys that a tile of queries visits by the op's
/// lists: the partial ones first, then the full ones.
class ListedBlocks {
public:
  ListedBlocks(KernelBuilder &kb, attn::ForwardOp op, int64_t columns);

  /// Reads how many there are. With `runsOnce` there is at least one, past the
  /// last of `keys` keys if nothing is listed.
  void emitCounts(const KernelBuilder::Work &work, mlir::Value keys,
                  bool runsOnce);
  /// Fills the visit region.
  void emitVisit(mlir::Block &block);

  mlir::Value getCount() const { return count; }
  mlir::Value getMasked() const { return masked; }

private:
  /// One of the op's lists, and where the tile's row of it lies.
  struct List {
    mlir::Value counts, indices;
    llvm::SmallVector<mlir::Value> row;
    mlir::Value last; // the last entry that exists
  };
  List makeList(unsigned index, const KernelBuilder::Work &work,
                mlir::Value block);
  /// Tiles that the list's entries are.
  mlir::Value emitCount(const List &list);
  /// The number of the block of keys at tile `n` of the list.
  mlir::Value emitEntry(const List &list, mlir::Value n);
  template <typename OpTy>
  mlir::Value compute(mlir::Value x, mlir::Value y) {
    return kb.builder.createOrFold<OpTy>(kb.getLoc(), x, y);
  }

  KernelBuilder &kb;
  attn::ForwardOp op;
  int64_t columns, tilesPerBlock;
  List partial;
  std::optional<List> full;
  mlir::Value count, masked, listed, keyBlocks, least;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_VISITEDBLOCKS_H
