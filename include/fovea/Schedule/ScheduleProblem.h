//===- ScheduleProblem.h - Properties that decide a schedule ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The properties of an attention problem on which its forward schedule depends.
// Planners and tables of measured schedules read them.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_SCHEDULEPROBLEM_H
#define FOVEA_SCHEDULE_SCHEDULEPROBLEM_H

#include "fovea/Support/Target.h"

#include <numeric>

namespace fovea {

/// Bits of an element of each stream in shared memory, and of the output.
struct StreamBits {
  int64_t query = 16, key = 16, value = 16, output = 16;
};

/// The properties of a problem that determine its schedule.
struct ScheduleProblem {
  const TargetInfo *target;
  StreamBits bits;
  /// Head dims of Q and K, and of V, padded to the requirements of the
  /// instructions.
  int64_t headDim, valueHeadDim;
  /// Query tiles iterate over different numbers of keys.
  bool uneven = false;
  /// Elements have the exponent range of f32 (bf16).
  bool wideExponent = true;
  /// The MMA unit multiplies the values only if keys are contiguous.
  bool transposesValues() const { return bits.value == 8; }
  /// The log-sum-exp is an output, in full precision.
  bool lse = true;
  /// Maximum number of rows of a tile if known, else 0.
  int64_t rows = 0;
  /// Number of key heads if known, else 0.
  int64_t keyHeads = 0;
  /// There is a score_mod.
  bool scoreMod = false;
  /// Dropout changes P after its row sum and before its product with V.
  bool dropout = false;
  /// A captured value is loaded per score, indexed by query and key.
  bool loadsPerScore = false;
  /// Size in queries and keys of the blocks of a block-sparse mask; 0 if there
  /// is none. Tile sizes divide it.
  int64_t queryBlock = 0, keyBlock = 0;
  /// Rows of a page if K and V are page pools, else 0. `tile_n` divides it.
  int64_t page = 0;
  /// The kernel can evaluate, block by block, which key blocks a query tile
  /// sees.
  bool classifies = false;
  /// Bits per score of captured tensors that are copied in tiles.
  int64_t scoreBits = 0;
  /// Rows may see few keys: the mask has block lists, a runtime block
  /// predicate, or a lower bound.
  bool sparse = false;
  /// Bits per key of captured values.
  int64_t keyBits = 0;
  /// The iterated blocks depend on captured values.
  bool blocksByCaptures = false;
  /// Number of adjacent keys that share a captured value, or 1. `tile_n` is
  /// best a multiple of it.
  int64_t keyChunk = 1;
  /// Sequences are packed: their lengths are known only on the device.
  bool packed = false;
  /// Some items may have few rows and many keys, others many rows.
  bool fewRows = false;
  /// The bits of a sequence's results must not depend on other sequences.
  bool invariant = false;
  /// A sequence may end before the tensor does.
  bool endsEarly = false;

  /// True if an order of sequences may help.
  bool hasLongestFirst() const { return packed && endsEarly; }
  /// True if all rows that share keys fit one tile, so that there may be fewer
  /// tiles than CTAs, or if some tiles may have few rows and many keys.
  bool mayHaveFewTiles(int64_t tileM) const {
    return fewRows || (rows != 0 && rows <= tileM);
  }
  /// Keys of the shortest pieces of split keys, if cuts must not depend on
  /// other sequences, or else 0: long enough to hide that each piece starts and
  /// stores a state of its own. Sequences with few key heads have few pieces,
  /// and shorter ones use more SMs.
  int64_t getSplit() const {
    constexpr int64_t kFewHeads = 4, kSplit = 1024, kSplitOfFewHeads = 512;
    if (!invariant)
      return 0;
    return keyHeads != 0 && keyHeads < kFewHeads ? kSplitOfFewHeads : kSplit;
  }
  /// Pages of a multiple of so many rows may share a tile: the rows of one
  /// repetition of a swizzle pattern. The rows of other pages are copied by
  /// threads, each of which finds its rows in the page table.
  static constexpr int64_t kPageStep = 8;
  bool copiesRows() const { return page % kPageStep != 0; }
  /// True if a tile of so many keys is in one page, or is whole pages, or if
  /// that does not matter.
  bool fitsPages(int64_t tileN) const {
    return page == 0 || copiesRows() || page % tileN == 0 || tileN % page == 0;
  }
  /// True if a tile of so many keys also divides the blocks of lists.
  bool fitsKeys(int64_t tileN) const {
    return keyBlock % tileN == 0 && fitsPages(tileN);
  }
};

} // namespace fovea

#endif // FOVEA_SCHEDULE_SCHEDULEPROBLEM_H
