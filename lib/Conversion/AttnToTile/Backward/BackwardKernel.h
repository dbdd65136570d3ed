//===- BackwardKernel.h - State of a backward kernel ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state shared by all emitters of one backward kernel: its plan, arguments
// and current tile, with the mapping of queries and keys to memory. It does not
// depend on what the kernel computes.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNEL_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNEL_H

#include "Backward/BackwardScratch.h"
#include "Regions/RegionContext.h"

namespace fovea {

/// The kernel's arguments; `lseGradient` is null if the op has none.
struct BackwardArguments {
  mlir::Value q, k, v, o, lse, outputGradient, lseGradient;
  llvm::SmallVector<mlir::Value> captures;

  static BackwardArguments of(KernelBuilder &kb, attn::BackwardOp op);
};

/// One tile of queries or keys, with its sequence.
struct BackwardTile {
  KernelBuilder::Work work;
  /// Lengths of the sequence.
  mlir::Value queries, keys;
  /// The head of K and V, and the number of query heads that share it.
  mlir::Value keyHead, group;
  /// Batch index in memory. For packed sequences, else null: the rows where the
  /// sequence's queries and keys begin, and where they end.
  mlir::Value memoryBatch, firstQuery, firstKey, queryLimit, keyLimit;
  /// Where the packed sequence's query blocks begin in scratch memory, or null.
  mlir::Value firstScratch;
};

/// Position of a query block: head, first query, and row in scratch memory.
struct QueryPlace {
  mlir::Value head, first, scratchRow;
};

/// A kernel under construction. The builder is inside the loop over tiles.
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
  /// Converts a position in the sequence to a row in memory.
  mlir::Value toQueryRow(mlir::Value query) const;
  mlir::Value toKeyRow(mlir::Value key) const;
  /// The position of the query block that begins with `first`.
  QueryPlace placeQueries(mlir::Value head, mlir::Value first) const;
  /// The kernel argument with that index.
  mlir::Value getScratch(std::optional<unsigned> number) const {
    return kb.kernel.getArgument(*number);
  }
  /// The type of a score tile, and a splat of that type.
  mlir::RankedTensorType getScoreType(mlir::Type element) const {
    return kb.tileType(part.getRows(), part.getColumns(), element);
  }
  mlir::Value splatScore(double value) const {
    return kb.splat(part.getRows(), part.getColumns(), value);
  }
  /// Context of the score block with that first query and key, which may be
  /// null.
  RegionContext makeContext(mlir::Value head, mlir::Value query,
                            mlir::Value key) const;
};

/// Number of each head's tiles that are scheduled last (tail tiles), for
/// `TileOrder::ShortestFirst`.
mlir::Value emitFinalTiles(KernelBuilder &kb, const BackwardKernelPlan &part,
                           mlir::Value keys);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNEL_H
