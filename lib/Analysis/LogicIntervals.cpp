//===- LogicIntervals.cpp - Intervals of conditions -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntervalModels.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

namespace {

//===----------------------------------------------------------------------===//
// Minimum, maximum, conversions, constants
//===----------------------------------------------------------------------===//

template <typename Op, bool isMin, bool isUnsigned>
struct MinMaxModel : ModelOf<MinMaxModel<Op, isMin, isUnsigned>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    // For i1, true is the larger unsigned and the smaller signed value.
    if (isCondition(op->getResult(0).getType()))
      return b.onEnds(x[0], x[1], [&](Value p, Value q) {
        return isMin == isUnsigned ? b.logicalAnd(p, q) : b.logicalOr(p, q);
      });
    // The result is one of the operands in any order.
    if (isUnsigned && !(b.isNonNegative(x[0]) && b.isNonNegative(x[1])))
      return Interval{b.min(x[0].lo, x[1].lo), b.max(x[0].hi, x[1].hi)};
    return b.onEnds(x[0], x[1], [&](Value p, Value q) {
      return isMin ? b.min(p, q) : b.max(p, q);
    });
  }
};

/// Conversions between widths; `isUnsigned` ones zero-extend.
template <typename Op, bool isUnsigned>
struct CastModel : ModelOf<CastModel<Op, isUnsigned>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
    if (isCondition(from)) {
      // Sign extension maps true to -1, the lower end.
      Value set = b.constant(isUnsigned ? 1 : -1), zero = b.constant(0);
      auto widen = [&](Value end) { return b.select(end, set, zero); };
      Value low = widen(x[0].lo);
      Interval result = {low, x[0].isPoint() ? low : widen(x[0].hi)};
      return isUnsigned ? result : result.flipped();
    }
    if (isCondition(to))
      return takeLowestBit(b, x[0]);
    // Lossless for any ends.
    if (!isUnsigned && isWide(from) && isWide(to))
      return x[0];
    if (!isUnsigned)
      return b.fit(to, x[0]);
    FailureOr<Interval> value = toUnsigned(b, from, x[0]);
    if (failed(value))
      return failure();
    return b.fit(to, *value);
  }
  FailureOr<AffineSum> getAffineSum(Operation *op, StaticRanges &ranges) const {
    Value from = op->getOperand(0);
    Type to = op->getResult(0).getType();
    if (isCondition(from.getType()) || isCondition(to) ||
        (isUnsigned && !ranges.isNonNegative(from)) ||
        !fitsType(to, ranges.getMin(from), ranges.getMax(from)))
      return failure();
    return AffineSum{{{from, 1}}};
  }

private:
  static Interval takeLowestBit(IntervalBuilder &b, Interval x) {
    Value one = b.constant(1);
    Value bit = b.equal(b.bitAnd(x.lo, one), one);
    if (x.isPoint())
      return {bit, bit};
    Value isPoint = b.equal(x.lo, x.hi);
    return {b.logicalAnd(isPoint, bit),
            b.logicalOr(b.logicalNot(isPoint), bit)};
  }
};

struct ConstantModel : ModelOf<ConstantModel, arith::ConstantOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval>) const {
    APInt value;
    if (!matchPattern(op, m_ConstantInt(&value)) || value.getBitWidth() > 64)
      return failure();
    Value end = isCondition(op->getResult(0).getType())
                    ? b.boolean(value.isOne())
                    : b.constant(value.getSExtValue());
    return Interval{end, end};
  }
  FailureOr<AffineSum> getAffineSum(Operation *op, StaticRanges &) const {
    APInt value;
    if (!matchPattern(op, m_ConstantInt(&value)) || value.getBitWidth() > 64)
      return failure();
    return AffineSum{{}, value.getSExtValue()};
  }
};

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

using Predicate = arith::CmpIPredicate;

Interval invert(IntervalBuilder &b, Interval x) {
  Value low = b.logicalNot(x.hi);
  return {low, x.isPoint() ? low : b.logicalNot(x.lo)};
}

struct CmpModel : ModelOf<CmpModel, arith::CmpIOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    Predicate predicate = cast<arith::CmpIOp>(op).getPredicate();
    Interval p = x[0], q = x[1];
    bool conditions = isCondition(op->getOperand(0).getType());
    switch (predicate) {
    case Predicate::eq:
      return conditions ? invert(b, b.differ(p, q)) : equal(b, p, q);
    case Predicate::ne:
      return conditions ? b.differ(p, q) : invert(b, equal(b, p, q));
    case Predicate::sgt:
    case Predicate::sge:
    case Predicate::ugt:
    case Predicate::uge:
      std::swap(p, q);
      break;
    default:
      break;
    }
    bool isStrict = predicate == Predicate::slt ||
                    predicate == Predicate::sgt ||
                    predicate == Predicate::ult || predicate == Predicate::ugt;
    bool isSigned = predicate == Predicate::slt ||
                    predicate == Predicate::sle ||
                    predicate == Predicate::sgt || predicate == Predicate::sge;
    if (conditions)
      return isSigned ? isLessCondition(b, q, p, isStrict)
                      : isLessCondition(b, p, q, isStrict);
    return isLess(b, p, q, isStrict, isSigned);
  }

private:
  static Interval equal(IntervalBuilder &b, Interval p, Interval q) {
    if (p.isPoint() && q.isPoint()) {
      Value same = b.equal(p.lo, q.lo);
      return {same, same};
    }
    return {b.logicalAnd(b.le(p.hi, q.lo), b.le(q.hi, p.lo)),
            b.logicalAnd(b.le(p.lo, q.hi), b.le(q.lo, p.hi))};
  }

  static Interval isLess(IntervalBuilder &b, Interval p, Interval q,
                         bool isStrict, bool isSigned) {
    // Signed and unsigned comparisons agree for non-negative values.
    if (!isSigned && b.isNonNegative(p) && b.isNonNegative(q))
      isSigned = true;
    if (!isSigned) {
      p = orderUnsigned(b, p);
      q = orderUnsigned(b, q);
    }
    Predicate predicate = isStrict
                              ? (isSigned ? Predicate::slt : Predicate::ult)
                              : (isSigned ? Predicate::sle : Predicate::ule);
    Value certain = b.cmp(predicate, p.hi, q.lo);
    if (p.isPoint() && q.isPoint())
      return {certain, certain};
    return {certain, b.cmp(predicate, p.lo, q.hi)};
  }

  /// The ends in unsigned order: across zero, the interval contains both 0 and
  /// -1, the largest value.
  static Interval orderUnsigned(IntervalBuilder &b, Interval x) {
    if (x.isPoint() || b.isNonNegative(x))
      return x;
    Value zero = b.constant(0);
    Value isAcross = b.logicalAnd(b.lt(x.lo, zero), b.le(zero, x.hi));
    return {b.select(isAcross, zero, x.lo),
            b.select(isAcross, b.constant(-1), x.hi)};
  }

  /// `p < q` or `p <= q` for conditions, with false less than true.
  static Interval isLessCondition(IntervalBuilder &b, Interval p, Interval q,
                                  bool isStrict) {
    return b.onEnds(invert(b, p), q, [&](Value x, Value y) {
      return isStrict ? b.logicalAnd(x, y) : b.logicalOr(x, y);
    });
  }
};

struct SelectModel : ModelOf<SelectModel, arith::SelectOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    Interval condition = x[0], p = x[1], q = x[2];
    if (condition.isPoint()) {
      auto emit = [&](Value s, Value t) {
        return b.select(condition.lo, s, t);
      };
      return b.onEnds(p, q, emit);
    }
    bool conditions = isCondition(op->getResult(0).getType());
    Value lower = conditions ? b.logicalAnd(p.lo, q.lo) : b.min(p.lo, q.lo);
    Value upper = conditions ? b.logicalOr(p.hi, q.hi) : b.max(p.hi, q.hi);
    auto choose = [&](Value certain, Value either, Value otherwise) {
      return b.select(condition.lo, certain,
                      b.select(condition.hi, either, otherwise));
    };
    return Interval{choose(p.lo, lower, q.lo), choose(p.hi, upper, q.hi)};
  }
};

} // namespace

void fovea::attachLogicModels(MLIRContext *context) {
  using namespace arith;
  MinSIOp::attachInterface<MinMaxModel<MinSIOp, true, false>>(*context);
  MaxSIOp::attachInterface<MinMaxModel<MaxSIOp, false, false>>(*context);
  MinUIOp::attachInterface<MinMaxModel<MinUIOp, true, true>>(*context);
  MaxUIOp::attachInterface<MinMaxModel<MaxUIOp, false, true>>(*context);
  IndexCastOp::attachInterface<CastModel<IndexCastOp, false>>(*context);
  IndexCastUIOp::attachInterface<CastModel<IndexCastUIOp, true>>(*context);
  ExtSIOp::attachInterface<CastModel<ExtSIOp, false>>(*context);
  ExtUIOp::attachInterface<CastModel<ExtUIOp, true>>(*context);
  TruncIOp::attachInterface<CastModel<TruncIOp, false>>(*context);
  ConstantOp::attachInterface<ConstantModel>(*context);
  CmpIOp::attachInterface<CmpModel>(*context);
  SelectOp::attachInterface<SelectModel>(*context);
}
