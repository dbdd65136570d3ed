//===- ListBitmap.h - Listed blocks, by bits -------------------*- C++ -*--===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_LISTBITMAP_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_LISTBITMAP_H

#include "KeyBlocks/BlockBitmap.h"
#include "KeyBlocks/TransposeBlockLists.h"

namespace fovea {

/// Which blocks of queries list a tile of keys. One that is in both lists is
/// met once, as a partial one.
class ListBitmap final : public BlockBitmap {
public:
  /// The tile at `work`; tiles of `columns` queries, `length` in all. Words of
  /// the range are of whole numbers of 32 tiles.
  ListBitmap(KernelBuilder &kb, const BlockBits &bits,
              const KernelBuilder::Work &work, int64_t columns,
              mlir::Value length);

  mlir::FailureOr<Word> emitBlocks(mlir::Value start) override;

private:
  /// Word `number`, i32, of the tile's row of a list, or the last one.
  mlir::Value emitLoad(mlir::Value list, mlir::Value number);
  /// Which of the blocks that lie `places` behind the first one of word
  /// `number` are listed, a column tile of i1.
  mlir::Value emitListed(mlir::Value list, mlir::Value number,
                         mlir::Value places);

  BlockBits bits;
  KernelBuilder::Work work;
  int64_t tilesPerBlock;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_LISTBITMAP_H
