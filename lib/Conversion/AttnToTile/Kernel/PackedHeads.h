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

#include <cstdint>

namespace fovea {

/// Query heads that share keys as rows of one tile: row `r` is query `r mod
/// queries` of the group's head `r div queries`.
struct PackedHeads {
  /// Heads of a group; 0 without PackGQA.
  int64_t heads = 0;
  /// Rows of a head: its queries, padded to a power of two.
  int64_t queries = 1;

  explicit operator bool() const { return heads != 0; }
  int64_t getRows() const { return heads * queries; }
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_PACKEDHEADS_H
