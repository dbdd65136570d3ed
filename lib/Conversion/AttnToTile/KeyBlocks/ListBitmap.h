//===- ListBitmap.h - Bitmap from block-sparse lists ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bitmap of query blocks that see a key tile, from transposed block-sparse
// lists.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_LISTBITMAP_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_LISTBITMAP_H

#include "KeyBlocks/BlockBitmap.h"
#include "KeyBlocks/TransposeBlockLists.h"

namespace fovea {

/// The query blocks that list a key tile. A block in both lists counts once, as
/// partial.
class ListBitmap final : public BlockBitmap {
public:
  /// The key tile at `work`; query tiles of `columns` queries, `length` in all.
  /// Words of the range cover 32 tiles each.
  ListBitmap(KernelBuilder &kb, const BlockBits &bits,
             const KernelBuilder::Work &work, int64_t columns,
             mlir::Value length);

  mlir::FailureOr<Word> emitBlocks(mlir::Value start) override;

private:
  /// Word `number`, i32, of the tile's row of a list, or the last word.
  mlir::Value emitLoad(mlir::Value list, mlir::Value number);
  /// True for the blocks at offsets `places` from the first block of word
  /// `number` that are in the list, a column tile of i1.
  mlir::Value emitListed(mlir::Value list, mlir::Value number,
                         mlir::Value places);

  BlockBits bits;
  KernelBuilder::Work work;
  int64_t tilesPerBlock;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_LISTBITMAP_H
