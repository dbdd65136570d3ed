//===- BackwardBlocks.h - Which blocks a backward tile meets ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of keys that a tile of queries meets, and blocks of queries that a
// tile of keys does. Nothing here knows what is done with them.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDBLOCKS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDBLOCKS_H

#include "Backward/BackwardKernel.h"
#include "KeyBlocks/AscendingBlocks.h"

namespace fovea {

/// A range of rows, and the part of it that needs no mask, in whole blocks.
struct RowRange {
  mlir::Value lower, fullLower, fullUpper, upper;
};

/// The blocks that a tile meets: those of a range, or single ones, which may be
/// visited in order.
struct BackwardBlocks {
  RowRange range;
  std::unique_ptr<BlockIterator> visited;
  std::unique_ptr<AscendingBlocks> ordered;
  /// Where the tile's keys, or those of its blocks, end: before the first one
  /// where a tile of keys that no list has meets a block in any case.
  mlir::Value keyEnd;
};

/// The blocks of keys that the kernel's tile of queries meets.
mlir::FailureOr<BackwardBlocks> emitKeyBlocks(const BackwardKernel &kernel);
/// The blocks of the head's queries that the kernel's tile of keys meets.
mlir::FailureOr<BackwardBlocks> emitQueryBlocks(const BackwardKernel &kernel,
                                                mlir::Value head);

/// What bounds say of the queries of a head that see the tile of keys from
/// `key` on.
mlir::FailureOr<RowRange> emitQueryRange(const BackwardKernel &kernel,
                                         mlir::Value head, mlir::Value key);
/// Which blocks of queries within the bounds see the tile of keys from `key`
/// on, where these are single ones: for who visits them, and for who counts
/// turns.
std::unique_ptr<BlockBitmap> makeQueryWords(const BackwardKernel &kernel,
                                           mlir::Value head, mlir::Value key,
                                           const RowRange &range);

/// Sums over blocks: `body` gets a block's first row, whether it may be masked
/// and the sums so far, and gives the next ones.
using BlockBody =
    llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
        mlir::Value first, mlir::Value partial, mlir::ValueRange sums)>;
/// Emits the loop over the blocks. Those of a range are visited upwards, or as
/// the plan has it.
mlir::FailureOr<mlir::ValueRange>
emitBlockLoop(const BackwardKernel &kernel, const BackwardBlocks &blocks,
              bool upwards, mlir::ValueRange sums, BlockBody body);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDBLOCKS_H
