//===- WorkShares.h - Equal shares of the blocks of tiles -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop over work items of which each CTA takes an equal share of all
// blocks. Items are tiles of rows of one head; the head varies fastest, since
// the heads of one sequence usually have the same blocks.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_WORKSHARES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_WORKSHARES_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// Most pieces of fixed size of a sequence: two per SM of large GPUs, and a
/// power of two, which most lengths are multiples of.
inline constexpr int64_t kPiecesOfSequence = 256;

/// The tiles of `tileM` of the `rows` of each head and batch entry.
struct SharedTiles {
  mlir::Value batch, heads, rows;
  int64_t tileM;
};
mlir::Value countSharedTiles(KernelBuilder &kb, const SharedTiles &tiles);
KernelBuilder::Work
decodeSharedTile(KernelBuilder &kb, const SharedTiles &tiles, mlir::Value item);

/// Starts the loop over `items`, of which `per` consecutive ones have the same
/// number of blocks, or of tiles and of blocks of each; moves the builder into
/// it. The regions for these numbers have an empty block.
void beginShares(KernelBuilder &kb, mlir::Value items, mlir::Value per,
                 bool hasTiles);
/// Moves the builder into such a region of the loop. Returns its arguments.
mlir::ValueRange beginRegion(KernelBuilder &kb, mlir::Region &region);

/// Adds the counters of `tile.arrive` as the kernel's last argument: one per
/// CTA of any GPU, with `minBlocks` CTAs per SM.
mlir::Value declareCounters(KernelBuilder &kb, int64_t minBlocks);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_WORKSHARES_H
