//===- BackwardKernel.h - A backward kernel and its tile --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every part of a backward kernel's program is emitted from. Nothing here
// knows what a kernel computes: only where its tile lies, and where in memory
// queries and keys do.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNEL_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNEL_H

#include "Backward/BackwardScratch.h"
#include "Regions/RegionContext.h"

namespace fovea {

/// The kernel's arguments; LSE's gradient is null where there is none.
struct BackwardArguments {
  mlir::Value q, k, v, o, lse, outputGradient, lseGradient;
  llvm::SmallVector<mlir::Value> captures;

  static BackwardArguments of(KernelBuilder &kb, attn::BackwardOp op);
};

/// One tile of queries or of keys, and its sequence.
struct BackwardTile {
  KernelBuilder::Work work;
  /// Lengths of the sequence.
  mlir::Value queries, keys;
  /// The head of K and V, and how many heads share one.
  mlir::Value keyHead, group;
  /// The batch entry in memory; rows where packed queries and keys begin there,
  /// or null; rows where packed queries, and keys, end that the tile may see,
  /// or null.
  mlir::Value memoryBatch, firstQuery, firstKey, queryLimit, keyLimit;
  /// Rows of scratch memory in blocks, where those of a packed sequence begin,
  /// or null.
  mlir::Value firstScratch;
};

/// A block of queries of a head: the first one, and its row of scratch memory.
struct QueryPlace {
  mlir::Value head, first, scratchRow;
};

/// A kernel, with what it was made from. The builder stands in the loop over
/// tiles.
struct BackwardKernel {
  KernelBuilder &kb;
  attn::BackwardOp op;
  const BackwardKernelPlan &part;
  const BackwardScratch &memory;
  BackwardArguments arguments;
  BackwardTile tile;

  /// Starts the loop over tiles.
  static BackwardKernel begin(KernelBuilder &kb, attn::BackwardOp op,
                              const BackwardKernelPlan &part,
                              const BackwardScratch &memory);

  mlir::Location getLoc() const { return kb.getLoc(); }
  /// Rows of memory of a query and of a key.
  mlir::Value toQueryRow(mlir::Value query) const;
  mlir::Value toKeyRow(mlir::Value key) const;
  /// The block of queries that begins with `first`.
  QueryPlace placeQueries(mlir::Value head, mlir::Value first) const;
  /// The argument in scratch memory of that number.
  mlir::Value getScratch(std::optional<unsigned> number) const {
    return kb.kernel.getArgument(*number);
  }
  /// The type of a tile of scores, and one that is the same everywhere.
  mlir::RankedTensorType getScoreType(mlir::Type element) const {
    return kb.tileType(part.getRows(), part.getColumns(), element);
  }
  mlir::Value splatScore(double value) const {
    return kb.splat(part.getRows(), part.getColumns(), value);
  }
  /// The block of scores with that first query and key, which may be null.
  RegionContext makeContext(mlir::Value head, mlir::Value query,
                            mlir::Value key) const;
};

/// Tiles of each head that are left for the end, when CTAs run out of work one
/// by one, where tiles of keys follow each other from the diagonal on.
mlir::Value emitFinalTiles(KernelBuilder &kb, const BackwardKernelPlan &part,
                           mlir::Value keys);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNEL_H
