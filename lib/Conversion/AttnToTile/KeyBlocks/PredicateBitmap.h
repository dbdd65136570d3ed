//===- PredicateBitmap.h - Blocks asked about at run time -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_PREDICATEBITMAP_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_PREDICATEBITMAP_H

#include "Regions/CaptureMinMax.h"
#include "KeyBlocks/BlockBitmap.h"
#include "Regions/RegionToTile.h"

namespace fovea {

/// What kv_classify says of blocks of columns: the blocks of keys that a tile
/// of queries sees, or those of queries that see a tile of keys.
class PredicateBitmap final : public BlockBitmap {
public:
  /// `tile` is the context of a tile of rows, which are queries or keys,
  /// without columns; `firstCapture` the op's first captured operand.
  PredicateBitmap(KernelBuilder &kb, attn::AttentionOpInterface op,
                  const RegionContext &tile, unsigned firstCapture);

  /// The tile's last row; to be known first.
  void setLastRow(mlir::Value row);
  mlir::FailureOr<Word> emitBlocks(mlir::Value start) override;

  bool haveRowsOfKeys() const { return context.rowsAreKeys; }

private:
  attn::AttentionOpInterface op;
  CaptureMinMax summaries;
  RegionContext context;
  mlir::Value last;
  /// Whether all the tile's rows exist, i1: pairs of others need a mask.
  mlir::Value tileIsWhole;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KEYBLOCKS_PREDICATEBITMAP_H
