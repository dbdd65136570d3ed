//===- AscendingBlocks.h - Runtime-selected blocks, in order ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Iterates over the query blocks in a BlockBitmap in ascending order, as
// ordered accumulation requires.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_ASCENDINGBLOCKS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_ASCENDINGBLOCKS_H

#include "KeyBlocks/BlockBitmap.h"

namespace fovea {

/// The query blocks that see a key tile, in ascending order. If there is none,
/// the loop processes the last block, where the tile has no semaphore slot.
class AscendingBlocks {
public:
  AscendingBlocks(KernelBuilder &kb, std::unique_ptr<BlockBitmap> words)
      : kb(kb), words(std::move(words)) {}

  mlir::LogicalResult emitCounts();
  /// Number of iterations, and the initial loop-carried values.
  mlir::Value getCount() const { return count; }
  mlir::ValueRange getInits() const { return inits; }
  /// True if a block sees the tile, i1.
  mlir::Value getIsSeen() const { return isSeen; }

  /// A block: its first row; whether it may need a mask, i1; and the next
  /// loop-carried values.
  struct Visit {
    mlir::Value first, partial;
    llvm::SmallVector<mlir::Value> next;
  };
  mlir::FailureOr<Visit> emitVisit(mlir::ValueRange carried);

private:
  /// The loop-carried parts of a word.
  llvm::SmallVector<mlir::Value> carriedOf(const BlockBitmap::Word &word);

  KernelBuilder &kb;
  std::unique_ptr<BlockBitmap> words;
  mlir::Value count, isSeen;
  /// The largest block index, i32.
  mlir::Value most;
  llvm::SmallVector<mlir::Value> inits;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_ASCENDINGBLOCKS_H
