//===- AscendingBlocks.h - Blocks found at run time, in order ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_ASCENDINGBLOCKS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_ASCENDINGBLOCKS_H

#include "KeyBlocks/BlockBitmap.h"

namespace fovea {

/// The blocks of queries that see a tile of keys, from the first one on, as
/// tiles visit them that take turns. A tile that no block sees visits the last
/// one, where it has no turn.
class AscendingBlocks {
public:
  AscendingBlocks(KernelBuilder &kb, std::unique_ptr<BlockBitmap> words)
      : kb(kb), words(std::move(words)) {}

  mlir::LogicalResult emitCounts();
  /// How many blocks are visited, and what the loop carries, at first.
  mlir::Value getCount() const { return count; }
  mlir::ValueRange getInits() const { return inits; }
  /// Whether a block sees the tile, i1.
  mlir::Value getIsSeen() const { return isSeen; }

  /// A block: its first row, whether it may be masked, i1; and what the loop
  /// carries on.
  struct Visit {
    mlir::Value first, partial;
    llvm::SmallVector<mlir::Value> next;
  };
  mlir::FailureOr<Visit> emitVisit(mlir::ValueRange carried);

private:
  /// What the loop carries of a word.
  llvm::SmallVector<mlir::Value> carriedOf(const BlockBitmap::Word &word);

  KernelBuilder &kb;
  std::unique_ptr<BlockBitmap> words;
  mlir::Value count, isSeen;
  /// The greatest number of a block, i32.
  mlir::Value most;
  llvm::SmallVector<mlir::Value> inits;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_ASCENDINGBLOCKS_H
