//===- KeyRange.h - Ranges of keys ------------------------------*- C++ -*-===//
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

/// The keys `lo <= j < hi`; none if `guard` is false. Null members do not
/// restrict. `lo` may exceed `hi`, and both may be outside of the sequence.
struct KeyRange {
  bool isEmpty = false;
  mlir::Value guard, lo, hi;

  static KeyRange all() { return {}; }
  static KeyRange empty() { return {true, {}, {}, {}}; }
  /// All keys if `condition`, else none.
  static KeyRange when(mlir::Value condition);
  bool isAll() const { return !isEmpty && !guard && !lo && !hi; }
};

/// Emits operations on key ranges of one sequence.
class KeyRangeBuilder {
public:
  explicit KeyRangeBuilder(IntervalBuilder &builder) : b(builder) {}

  /// The intersection.
  KeyRange intersect(KeyRange x, KeyRange y);
  /// The convex hull.
  KeyRange hull(KeyRange x, KeyRange y);
  /// A subset of the union that is a range: the union if the ranges touch, else
  /// the longer range.
  KeyRange join(KeyRange x, KeyRange y);
  /// `x` if `condition`, else `y`.
  KeyRange choose(mlir::Value condition, KeyRange x, KeyRange y);
  /// The number of keys of the sequence.
  mlir::Value getLength();
  /// True if all hulls and joins were equal to the union.
  bool isExact() const { return numInexact == 0; }
  /// The number of hulls and joins that were not.
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
