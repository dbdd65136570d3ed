//===- PackedHeads.h - PackGQA: query heads in tile rows --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PackGQA in the forward: with few queries, the query heads of a group share a
// tile.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_PACKEDHEADS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_PACKEDHEADS_H

#include "llvm/Support/MathExtras.h"

#include <cstdint>

namespace fovea {

/// Query heads that share keys as rows of one tile.
struct PackedHeads {
  /// Heads of a group; 0 without PackGQA.
  int64_t heads = 0;
  /// If tiles have all queries: rows of a head, its queries padded to a power
  /// of two. Row `r` is query `r mod queries` of the group's head `r div
  /// queries`.
  int64_t queries = 1;
  /// The heads of a query are adjacent rows, padded to a power of two: row `r`
  /// is head `r mod getRowsPerQuery()` of query `r div getRowsPerQuery()`.
  /// `queries` are the most of a sequence, a hint, or 0.
  bool areAdjacent = false;

  explicit operator bool() const { return heads != 0; }
  /// True if rows are heads of all queries.
  bool hasAllQueries() const { return heads != 0 && !areAdjacent; }
  /// True if each row is another head of one query.
  bool hasOneQuery() const { return hasAllQueries() && queries == 1; }
  /// Most rows that share keys; 0 if unknown.
  int64_t getRows() const {
    return (areAdjacent ? getRowsPerQuery() : heads) * queries;
  }
  /// Rows of each query, if its heads are adjacent.
  int64_t getRowsPerQuery() const {
    return areAdjacent ? int64_t(llvm::PowerOf2Ceil(heads)) : 1;
  }
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_PACKEDHEADS_H
