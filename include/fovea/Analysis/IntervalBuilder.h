//===- IntervalBuilder.h - Arithmetic on interval ends ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_ANALYSIS_INTERVALBUILDER_H
#define FOVEA_ANALYSIS_INTERVALBUILDER_H

#include "fovea/Analysis/StaticRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace fovea {

/// A closed interval. Ends are `index`, or `i1` for conditions.
struct Interval {
  mlir::Value lo, hi;
  /// True if both ends are values that the program itself computes for an
  /// element of the block, so that assumptions about overflow apply to them.
  bool attained = false;

  bool isPoint() const { return lo == hi; }
  bool isAttained() const { return attained || isPoint(); }
  Interval flipped() const { return {hi, lo, attained}; }
  explicit operator bool() const { return lo && hi; }
};

/// Cache of intervals; failure for values without a known interval.
using KnownIntervals = llvm::DenseMap<mlir::Value, llvm::FailureOr<Interval>>;

/// Returns the cached interval of `value`, or infers it.
llvm::FailureOr<Interval>
getOrInfer(KnownIntervals &known, mlir::Value value,
           llvm::function_ref<llvm::FailureOr<Interval>(mlir::Value)> infer);

/// True if all of [min, max] are values of the integer or index type `type`.
bool fitsType(mlir::Type type, int64_t min, int64_t max);

/// Emits arithmetic on `index` values and conditions, folded by constants and
/// static ranges.
class IntervalBuilder {
public:
  IntervalBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  StaticRanges &getRanges() { return ranges; }
  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }

  mlir::Value constant(int64_t value);
  mlir::Value boolean(bool value);
  /// Sign-extends an integer of any width to `index`; returns an i1 unchanged.
  mlir::Value toIndex(mlir::Value value);
  /// Truncates an index to the width of `type` and sign-extends it.
  mlir::Value wrap(mlir::Type type, mlir::Value index);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  /// Quotients rounded towards negative infinity, positive infinity, zero.
  mlir::Value floorDiv(mlir::Value a, mlir::Value b);
  mlir::Value ceilDiv(mlir::Value a, mlir::Value b);
  mlir::Value truncDiv(mlir::Value a, mlir::Value b);
  mlir::Value rem(mlir::Value a, mlir::Value b);
  mlir::Value shl(mlir::Value a, mlir::Value b);
  /// The arithmetic shift.
  mlir::Value shr(mlir::Value a, mlir::Value b);
  mlir::Value bitAnd(mlir::Value a, mlir::Value b);
  mlir::Value bitOr(mlir::Value a, mlir::Value b);
  mlir::Value bitXor(mlir::Value a, mlir::Value b);

  mlir::Value cmp(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                  mlir::Value b);
  mlir::Value le(mlir::Value a, mlir::Value b) {
    return cmp(mlir::arith::CmpIPredicate::sle, a, b);
  }
  mlir::Value lt(mlir::Value a, mlir::Value b) {
    return cmp(mlir::arith::CmpIPredicate::slt, a, b);
  }
  mlir::Value equal(mlir::Value a, mlir::Value b) {
    return cmp(mlir::arith::CmpIPredicate::eq, a, b);
  }
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b);
  mlir::Value logicalOr(mlir::Value a, mlir::Value b);
  mlir::Value logicalNot(mlir::Value a);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);

  /// Applies `emit` to both ends; once if both operands are points.
  template <typename Emit>
  Interval onEnds(Interval a, Interval b, Emit emit) {
    mlir::Value lo = emit(a.lo, b.lo);
    if (a.isPoint() && b.isPoint())
      return {lo, lo, true};
    bool attained =
        (a.isPoint() && b.isAttained()) || (b.isPoint() && a.isAttained());
    return {lo, emit(a.hi, b.hi), attained};
  }
  /// The interval with its ends sorted.
  Interval sorted(Interval interval) {
    if (interval.isPoint())
      return interval;
    return {min(interval.lo, interval.hi), max(interval.lo, interval.hi),
            interval.attained};
  }
  /// The smallest interval that contains all of `values`.
  Interval hull(llvm::ArrayRef<mlir::Value> values);
  /// The exclusive or of two conditions.
  Interval differ(Interval a, Interval b);
  /// Converts an interval of exact results to one of `type`: the range of the
  /// type if they may wrap. Fails for conditions, and if 64-bit ends may have
  /// overflowed although the program's values do not.
  llvm::FailureOr<Interval> fit(mlir::Type type, Interval interval);
  bool isNonNegative(Interval interval) {
    return ranges.isNonNegative(interval.lo);
  }

private:
  template <typename Op>
  mlir::Value create(mlir::Value a, mlir::Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }

  mlir::OpBuilder &builder;
  mlir::Location loc;
  StaticRanges ranges;
};

} // namespace fovea

#endif // FOVEA_ANALYSIS_INTERVALBUILDER_H
