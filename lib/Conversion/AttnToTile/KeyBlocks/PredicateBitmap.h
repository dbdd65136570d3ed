//===- PredicateBitmap.h - Bitmap from kv_classify --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bitmap of blocks that a tile sees, from the runtime predicate
// kv_classify.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_PREDICATEBITMAP_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_PREDICATEBITMAP_H

#include "KeyBlocks/BlockBitmap.h"
#include "Regions/CaptureMinMax.h"
#include "Regions/RegionToTile.h"

namespace fovea {

/// The results of kv_classify for column blocks: key blocks that a query tile
/// sees, or query blocks that see a key tile.
class PredicateBitmap final : public BlockBitmap {
public:
  /// `tile` is the context of a row tile, of queries or keys, without columns;
  /// `firstCapture` is the op's first captured operand.
  PredicateBitmap(KernelBuilder &kb, attn::AttentionOpInterface op,
                  const RegionContext &tile, unsigned firstCapture);

  /// Sets the tile's last row; call it first.
  void setLastRow(mlir::Value row);
  mlir::FailureOr<Word> emitBlocks(mlir::Value start) override;

  bool haveRowsOfKeys() const { return context.rowsAreKeys; }

private:
  attn::AttentionOpInterface op;
  CaptureMinMax minMaxBuffers;
  RegionContext context;
  mlir::Value last;
  /// True if all rows of the tile exist, i1: otherwise its pairs need a mask.
  mlir::Value tileIsWhole;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_PREDICATEBITMAP_H
