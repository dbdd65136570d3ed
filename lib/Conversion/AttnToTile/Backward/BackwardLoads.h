//===- BackwardLoads.h - Queries and keys of a block ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a block of scores is computed from, as it is read. Nothing here knows
// of scores or masks.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDLOADS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDLOADS_H

#include "Backward/BackwardKernel.h"

namespace fovea {

/// A block of queries: Q and O's gradient; what the rows' LSE adds to
/// exponents, and -delta, or null where these are in scratch memory and read
/// when they are needed.
struct QueryRows {
  QueryPlace place;
  mlir::Value queries, outputGradients, exponents, minusDelta;
};

/// A block of keys, from the first one on, or one strip of a tile of them.
struct KeyRows {
  mlir::Value first, keys, values;
  int64_t strip = 0;
};

/// A block of scores: of those queries and keys.
struct ScoreBlock {
  QueryRows queries;
  KeyRows keys;
  /// Whether some of its pairs may be masked, i1.
  mlir::Value partial;
  /// Where keys end: before the first one where a tile of keys that no list
  /// has meets a block in any case.
  mlir::Value keyEnd;
};

/// Reads a block of queries, but for what scratch memory has of it.
QueryRows loadQueries(const BackwardKernel &kernel, const QueryPlace &place);
/// Reads the block of keys that begins with `first`, or the strip of it.
KeyRows loadKeys(const BackwardKernel &kernel, mlir::Value first,
                 int64_t strip = 0);

/// A value of each query of a block from memory, which has a dimension for each
/// of batch entry, head and row: f32, along the side of the tile of scores that
/// queries lie along.
mlir::Value loadOfQueries(const BackwardKernel &kernel, mlir::Value memref,
                          const QueryPlace &place);
/// The same from scratch memory, which is in fragments where dQ's sums are.
mlir::Value loadScratch(const BackwardKernel &kernel,
                        std::optional<unsigned> number, const QueryPlace &place,
                        llvm::StringRef name);
/// -delta of a block of queries, from scratch memory; 0 after the end of a
/// packed sequence.
mlir::Value loadDelta(const BackwardKernel &kernel, const QueryPlace &place);

/// A tile's rows of Q, O or O's gradient, as f32. Those behind a packed
/// sequence are another one's.
mlir::Value loadWide(const BackwardKernel &kernel, mlir::Value memref,
                     int64_t columns, const QueryPlace &place);

/// -delta of the tile's rows, from O and its gradient: the number that all of a
/// row's dP are added to. It goes to memory, too, where others read it, and so
/// does what a row's pairs share in their exponents. It is negative because a
/// product that starts from it needs no other addition.
mlir::FailureOr<mlir::Value> emitDelta(const BackwardKernel &kernel,
                                       const QueryPlace &place);

/// Which of a block's queries there are: a row or a column of i1.
mlir::Value emitQueriesExist(const BackwardKernel &kernel,
                             const QueryPlace &place);
/// Which rows see nothing, or count as such, by their LSE.
mlir::Value emitSeesNothing(KernelBuilder &kb, mlir::Value lse);
/// A tile like `tile` whose elements are all `value`.
mlir::Value splatLike(KernelBuilder &kb, mlir::Value tile, double value);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDLOADS_H
