//===- BackwardBlocks.h - Blocks that a backward tile needs -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Key blocks that a query tile processes, and query blocks that a key tile
// processes, as ranges or block iterators, with the loops over them. The
// computation on a block is a callback.
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

/// The blocks that a tile processes: a range; or single blocks from an
/// iterator, in ascending order if the accumulation is ordered.
struct BackwardBlocks {
  RowRange range;
  std::unique_ptr<BlockIterator> visited;
  std::unique_ptr<AscendingBlocks> ordered;
  /// Number of keys, for masking. It is 0 if a key tile whose list is empty
  /// still runs one iteration: all pairs of that iteration are masked.
  mlir::Value keyEnd;
  /// The first query of the last block, if `visited` may yield blocks past it;
  /// otherwise null.
  mlir::Value lastQuery;
};

/// Key blocks that the kernel's query tile processes.
mlir::FailureOr<BackwardBlocks> emitKeyBlocks(const BackwardKernel &kernel);
/// Query blocks of the head that the kernel's key tile processes.
mlir::FailureOr<BackwardBlocks> emitQueryBlocks(const BackwardKernel &kernel,
                                                mlir::Value head);

/// The range of the head's queries that may see the key tile at `key`, from
/// `query_bounds`.
mlir::FailureOr<RowRange> emitQueryRange(const BackwardKernel &kernel,
                                         mlir::Value head, mlir::Value key);
/// Query blocks within the range that see the key tile at `key`, as a bitmap.
/// Both the loop over blocks and the count of semaphore slots use it.
std::unique_ptr<BlockBitmap> makeQueryWords(const BackwardKernel &kernel,
                                            mlir::Value head, mlir::Value key,
                                            const RowRange &range);

/// Computes one iteration: gets the block's first row, whether it may need a
/// mask and the accumulators, and returns the new accumulators.
using BlockBody =
    llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
        mlir::Value first, mlir::Value partial, mlir::ValueRange sums)>;
/// A query block of the loop: its first query, and the number of keys for
/// masking.
struct ExistingQueries {
  mlir::Value first, keyEnd;
};
/// The block at `first`. A block past the end becomes the last block with all
/// pairs masked, because dq_accum has no rows past the end.
ExistingQueries emitExistingQueries(KernelBuilder &kb,
                                    const BackwardBlocks &blocks,
                                    mlir::Value first);
/// Emits the loop over the blocks. Blocks of a range are processed in ascending
/// order if `upwards`, else in the order of the plan.
mlir::FailureOr<mlir::ValueRange>
emitBlockLoop(const BackwardKernel &kernel, const BackwardBlocks &blocks,
              bool upwards, mlir::ValueRange sums, BlockBody body);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDBLOCKS_H
