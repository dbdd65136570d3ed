//===- KeyRange.h - Intervals of keys ---------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_KEYRANGE_H
#define FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_KEYRANGE_H

#include "fovea/Analysis/IntervalBuilder.h"

namespace fovea::attn {

/// The keys `lo <= j < hi`; none if `guard` is false. Parts that are null do
/// not restrict. Nothing says that `lo <= hi`, or that the ends lie in the
/// sequence.
struct KeyRange {
  bool isEmpty = false;
  mlir::Value guard, lo, hi;

  static KeyRange all() { return {}; }
  static KeyRange empty() { return {true, {}, {}, {}}; }
  /// All keys if `condition`, else none.
  static KeyRange when(mlir::Value condition);
  bool isAll() const { return !isEmpty && !guard && !lo && !hi; }
};

/// Emits the operations on ranges of keys of one sequence.
class KeyRangeBuilder {
public:
  explicit KeyRangeBuilder(IntervalBuilder &builder) : b(builder) {}

  /// The keys in both.
  KeyRange intersect(KeyRange x, KeyRange y);
  /// A range that holds the keys of both.
  KeyRange hull(KeyRange x, KeyRange y);
  /// A range of keys that are in one of both: all of them if they touch, else
  /// the longer range.
  KeyRange join(KeyRange x, KeyRange y);
  /// `x` if `condition`, else `y`.
  KeyRange choose(mlir::Value condition, KeyRange x, KeyRange y);
  /// Number of keys of the sequence.
  mlir::Value getLength();
  /// Whether a hull took in keys, or a join left some out, that were not or
  /// were in the union.
  bool isExact() const { return numInexact == 0; }
  /// How often that was so.
  unsigned getNumInexact() const { return numInexact; }

private:
  /// The same keys without a guard.
  KeyRange dropGuard(KeyRange x);

  IntervalBuilder &b;
  mlir::Value length;
  unsigned numInexact = 0;
};

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_KEYRANGE_H
