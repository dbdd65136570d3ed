//===- BackwardLoads.h - Loads of queries and keys --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the operands of a score block: Q, dO, K, V, the scaled LSE and delta.
// Also computes delta. Scores and masks are computed elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDLOADS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDLOADS_H

#include "Backward/BackwardKernel.h"

namespace fovea {

/// A query block: Q, dO, the rows' softmax constants (scaled -LSE) and -delta;
/// the last two are null if they are loaded from scratch memory at their use.
struct QueryRows {
  QueryPlace place;
  mlir::Value queries, outputGradients, exponents, minusDelta;
};

/// A key block that begins with `first`, or one M-chunk of a key tile.
struct KeyRows {
  mlir::Value first, keys, values;
  int64_t strip = 0;
};

/// A score block of those queries and keys.
struct ScoreBlock {
  QueryRows queries;
  KeyRows keys;
  /// True if some pairs may be masked, i1.
  mlir::Value partial;
  /// Number of keys, for masking; 0 if all pairs of the block are masked (see
  /// BackwardBlocks).
  mlir::Value keyEnd;
};

/// Loads a query block, without the values in scratch memory.
QueryRows loadQueries(const BackwardKernel &kernel, const QueryPlace &place);
/// Loads the key block that begins with `first`, or its M-chunk.
KeyRows loadKeys(const BackwardKernel &kernel, mlir::Value first,
                 int64_t strip = 0);

/// Loads one f32 value per query from `memref`, which has dimensions for batch
/// entry, head and row, along the query dimension of a score tile.
mlir::Value loadOfQueries(const BackwardKernel &kernel, mlir::Value memref,
                          const QueryPlace &place);
/// Loads one value per query from scratch memory, which is in fragments if the
/// kernel accumulates dQ.
mlir::Value loadScratch(const BackwardKernel &kernel,
                        std::optional<unsigned> number, const QueryPlace &place,
                        llvm::StringRef name);
/// Loads -delta of a query block from scratch memory; 0 past the end of a
/// packed sequence.
mlir::Value loadDelta(const BackwardKernel &kernel, const QueryPlace &place);

/// Loads the tile's rows of Q, O or dO as f32. Rows past the end of a packed
/// sequence belong to the next one.
mlir::Value loadWide(const BackwardKernel &kernel, mlir::Value memref,
                     int64_t columns, const QueryPlace &place);

/// Computes -delta = -rowsum(dO * O) of the tile's rows, which is added to all
/// dP of a row, and stores it and the rows' softmax constants if other kernels
/// need them. It is negated so that dP's accumulator can start from it.
mlir::FailureOr<mlir::Value> emitDelta(const BackwardKernel &kernel,
                                       const QueryPlace &place);

/// True for the queries of a block that exist: a row or column tile of i1.
mlir::Value emitQueriesExist(const BackwardKernel &kernel,
                             const QueryPlace &place);
/// True for rows without a visible key, by their LSE.
mlir::Value emitSeesNothing(KernelBuilder &kb, mlir::Value lse);
/// A splat of the same type as `tile`.
mlir::Value splatLike(KernelBuilder &kb, mlir::Value tile, double value);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDLOADS_H
