//===- ArithIntervals.cpp - Intervals of sums and quotients ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntervalModels.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

//===----------------------------------------------------------------------===//
// Unsigned numbers
//===----------------------------------------------------------------------===//

FailureOr<Interval> fovea::toUnsigned(IntervalBuilder &b, Type type,
                                      Interval x) {
  if (b.isNonNegative(x))
    return x;
  if (type.isIndex() || type.getIntOrFloatBitWidth() > 32)
    return failure();
  Value zero = b.constant(0);
  Value modulus = b.constant(int64_t(1) << type.getIntOrFloatBitWidth());
  Value isLowNegative = b.lt(x.lo, zero);
  if (x.isPoint()) {
    Value value = b.select(isLowNegative, b.add(x.lo, modulus), x.lo);
    return Interval{value, value};
  }
  // An interval across zero contains both 0 and the largest unsigned number.
  Value isHighNegative = b.lt(x.hi, zero);
  Value wrapped = b.select(isHighNegative, b.add(x.lo, modulus), zero);
  Value largest = b.sub(modulus, b.constant(1));
  Value low = b.select(isLowNegative, wrapped, x.lo);
  Value high = b.select(isHighNegative, b.add(x.hi, modulus),
                        b.select(isLowNegative, largest, x.hi));
  return Interval{b.max(low, zero), b.max(high, zero)};
}

Interval fovea::fromUnsigned(IntervalBuilder &b, Type type, Interval x) {
  if (isWide(type))
    return x;
  int64_t half = int64_t(1) << (type.getIntOrFloatBitWidth() - 1);
  if (b.getRanges().getMax(x.hi) < half)
    return x;
  Value modulus = b.constant(2 * half), limit = b.constant(half);
  Value isLowBig = b.le(limit, x.lo), isHighBig = b.le(limit, x.hi);
  auto wrap = [&](Value isBig, Value v) {
    return b.select(isBig, b.sub(v, modulus), v);
  };
  if (x.isPoint()) {
    Value value = wrap(isLowBig, x.lo);
    return Interval{value, value};
  }
  // If the ends are on both sides of the sign boundary, it contains all values.
  Value isSplit = b.logicalAnd(isHighBig, b.logicalNot(isLowBig));
  return {b.select(isSplit, b.constant(-half), wrap(isLowBig, x.lo)),
          b.select(isSplit, b.constant(half - 1), wrap(isHighBig, x.hi))};
}

namespace {

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

struct AddModel : ModelOf<AddModel, arith::AddIOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    auto emit = [&](Value p, Value q) { return b.add(p, q); };
    return b.fit(op->getResult(0).getType(), b.onEnds(x[0], x[1], emit));
  }
  FailureOr<AffineSum> getAffineSum(Operation *op, StaticRanges &ranges) const {
    Value a = op->getOperand(0), b = op->getOperand(1);
    auto exact = [](int64_t x, int64_t y) { return x + y; };
    if (!isExact(ranges, a.getType(), a, b, exact))
      return failure();
    return AffineSum{{{a, 1}, {b, 1}}};
  }
};

struct SubModel : ModelOf<SubModel, arith::SubIOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    auto emit = [&](Value p, Value q) { return b.sub(p, q); };
    return b.fit(op->getResult(0).getType(),
                 b.onEnds(x[0], x[1].flipped(), emit));
  }
  FailureOr<AffineSum> getAffineSum(Operation *op, StaticRanges &ranges) const {
    Value a = op->getOperand(0), b = op->getOperand(1);
    auto exact = [](int64_t x, int64_t y) { return x - y; };
    if (!isExact(ranges, a.getType(), a, b, exact))
      return failure();
    return AffineSum{{{a, 1}, {b, -1}}};
  }
};

/// The exact products, which may not fit `type`.
Interval multiply(IntervalBuilder &b, Interval x, Interval y) {
  StaticRanges &ranges = b.getRanges();
  auto emit = [&](Value p, Value q) { return b.mul(p, q); };
  if (b.isNonNegative(x) && b.isNonNegative(y))
    return b.onEnds(x, y, emit);
  if (!y.isPoint())
    std::swap(x, y);
  if (!y.isPoint())
    return b.hull({emit(x.lo, y.lo), emit(x.lo, y.hi), emit(x.hi, y.lo),
                   emit(x.hi, y.hi)});
  Interval result = b.onEnds(x, y, emit);
  return ranges.getMax(y.lo) <= 0     ? result.flipped()
         : ranges.isNonNegative(y.lo) ? result
                                      : b.sorted(result);
}

struct MulModel : ModelOf<MulModel, arith::MulIOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    return b.fit(op->getResult(0).getType(), multiply(b, x[0], x[1]));
  }
  FailureOr<AffineSum> getAffineSum(Operation *op, StaticRanges &ranges) const {
    Value a = op->getOperand(0), b = op->getOperand(1);
    if (!ranges.getConstant(b))
      std::swap(a, b);
    std::optional<int64_t> factor = ranges.getConstant(b);
    auto exact = [](int64_t x, int64_t y) { return x * y; };
    if (!factor || !isExact(ranges, a.getType(), a, b, exact))
      return failure();
    return AffineSum{{{a, *factor}}};
  }
};

//===----------------------------------------------------------------------===//
// Quotients and remainders
//===----------------------------------------------------------------------===//

Value emitDivision(IntervalBuilder &b, Rounding rounding, Value p, Value q) {
  switch (rounding) {
  case Rounding::Floor:
    return b.floorDiv(p, q);
  case Rounding::Ceil:
    return b.ceilDiv(p, q);
  case Rounding::Trunc:
    return b.truncDiv(p, q);
  }
  llvm_unreachable("unknown rounding");
}

} // namespace

FailureOr<Interval> fovea::divide(IntervalBuilder &b, Rounding rounding,
                                  Interval x, Interval y) {
  StaticRanges &ranges = b.getRanges();
  auto emit = [&](Value p, Value q) { return emitDivision(b, rounding, p, q); };
  bool isPositive = ranges.getMin(y.lo) >= 1;
  if (y.isPoint()) {
    if (ranges.getConstant(y.lo) == 0)
      return failure();
    Interval result = b.onEnds(x, y, emit);
    // Quotients are monotone in the dividend if the divisor is positive.
    return isPositive                ? result
           : ranges.getMax(y.lo) < 0 ? result.flipped()
                                     : b.sorted(result);
  }
  if (isPositive && b.isNonNegative(x))
    return Interval{emit(x.lo, y.hi), emit(x.hi, y.lo)};
  if (isPositive || ranges.getMax(y.hi) < 0)
    return b.hull({emit(x.lo, y.lo), emit(x.lo, y.hi), emit(x.hi, y.lo),
                   emit(x.hi, y.hi)});
  // Division by any integer does not increase the magnitude.
  if (ranges.getMin(x.lo) == INT64_MIN)
    return failure();
  Value zero = b.constant(0);
  Value largest = b.max(b.max(x.hi, b.sub(zero, x.lo)), zero);
  return Interval{b.sub(zero, largest), largest};
}

FailureOr<Value> fovea::invertDivision(IntervalBuilder &b, Rounding rounding,
                                       bool upper, Value bound, Value divisor) {
  StaticRanges &ranges = b.getRanges();
  int64_t limit = int64_t(1) << 62, product;
  for (int64_t end : {ranges.getMin(bound), ranges.getMax(bound)})
    if (llvm::MulOverflow(end, ranges.getMax(divisor), product) ||
        product > limit || product < -limit)
      return failure();
  Value least = b.mul(bound, divisor);
  Value slack = b.sub(divisor, b.constant(1));
  Value widened = upper ? b.add(least, slack) : b.sub(least, slack);
  if (rounding == Rounding::Floor)
    return upper ? widened : least;
  if (rounding == Rounding::Ceil)
    return upper ? least : widened;
  // Rounding to zero is rounding down for positive and up for negative values.
  Value zero = b.constant(0);
  Value away = upper ? b.le(zero, bound) : b.le(bound, zero);
  return b.select(away, widened, least);
}

namespace {

template <typename Op, Rounding rounding, bool isUnsigned>
struct DivModel : ModelOf<DivModel<Op, rounding, isUnsigned>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    Type type = op->getResult(0).getType();
    if (isCondition(type))
      return failure();
    if (!isUnsigned) {
      FailureOr<Interval> result = divide(b, rounding, x[0], x[1]);
      if (failed(result))
        return failure();
      return b.fit(type, *result);
    }
    FailureOr<Interval> dividend = toUnsigned(b, type, x[0]);
    FailureOr<Interval> divisor = toUnsigned(b, type, x[1]);
    if (failed(dividend) || failed(divisor))
      return failure();
    FailureOr<Interval> result = divide(b, rounding, *dividend, *divisor);
    if (failed(result))
      return failure();
    return fromUnsigned(b, type, *result);
  }
  FailureOr<OperandBound> invertBound(Operation *op, IntervalBuilder &b,
                                      ArrayRef<Interval> x, bool upper,
                                      Value bound) const {
    Value dividend = op->getOperand(0);
    StaticRanges &ranges = b.getRanges();
    bool isNonNegative = ranges.isNonNegative(dividend);
    if (!x[1] || !x[1].isPoint() || ranges.getMin(x[1].lo) < 1 ||
        (isUnsigned && !isNonNegative))
      return failure();
    Rounding exact = rounding == Rounding::Trunc && isNonNegative
                         ? Rounding::Floor
                         : rounding;
    FailureOr<Value> inverse = invertDivision(b, exact, upper, bound, x[1].lo);
    if (failed(inverse))
      return failure();
    return OperandBound{dividend, *inverse};
  }
};

/// The largest magnitude of the divisor.
Value getMagnitude(IntervalBuilder &b, Interval x) {
  StaticRanges &ranges = b.getRanges();
  if (ranges.isNonNegative(x.lo))
    return x.hi;
  // The magnitude of the smallest integer is not representable. The next one
  // suffices, since remainders are smaller than both.
  Value low = b.max(x.lo, b.constant(-INT64_MAX));
  Value flipped = b.sub(b.constant(0), low);
  return ranges.getMax(x.hi) <= 0 ? flipped : b.max(x.hi, flipped);
}

/// Remainders with the sign of the dividend, as in `remsi`.
FailureOr<Interval> remainder(IntervalBuilder &b, Interval x, Interval y) {
  StaticRanges &ranges = b.getRanges();
  if (y.isPoint() && ranges.getConstant(y.lo) == 0)
    return failure();
  if (x.isPoint() && y.isPoint()) {
    Value value = b.rem(x.lo, y.lo);
    return Interval{value, value};
  }
  Value divisor = getMagnitude(b, y);
  Value zero = b.constant(0), largest = b.sub(divisor, b.constant(1));
  Interval wide = {zero, b.min(b.max(x.hi, zero), largest)};
  if (!b.isNonNegative(x))
    wide.lo = b.max(b.min(x.lo, zero), b.sub(zero, largest));
  if (!y.isPoint())
    return wide;
  // Between two multiples of the divisor, remainders are monotone in the
  // dividend.
  Value same = b.equal(b.truncDiv(x.lo, divisor), b.truncDiv(x.hi, divisor));
  return Interval{b.select(same, b.rem(x.lo, divisor), wide.lo),
                  b.select(same, b.rem(x.hi, divisor), wide.hi)};
}

template <typename Op, bool isUnsigned>
struct RemModel : ModelOf<RemModel<Op, isUnsigned>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    Type type = op->getResult(0).getType();
    if (isCondition(type))
      return failure();
    if (!isUnsigned)
      return remainder(b, x[0], x[1]);
    FailureOr<Interval> divisor = toUnsigned(b, type, x[1]);
    FailureOr<Interval> dividend = toUnsigned(b, type, x[0]);
    if (failed(divisor))
      return failure();
    if (succeeded(dividend)) {
      FailureOr<Interval> result = remainder(b, *dividend, *divisor);
      if (failed(result))
        return failure();
      return fromUnsigned(b, type, *result);
    }
    // A negative 64-bit divisor is a large unsigned one; remainders are small.
    Value zero = b.constant(0);
    auto clamp = [&](Value v) { return b.max(v, zero); };
    FailureOr<Interval> result =
        remainder(b, {clamp(x[0].lo), clamp(x[0].hi)}, *divisor);
    if (failed(result))
      return failure();
    Value isKnown = b.le(zero, x[0].lo);
    Value largest = b.sub(divisor->hi, b.constant(1));
    return Interval{b.select(isKnown, result->lo, zero),
                    b.select(isKnown, result->hi, largest)};
  }
};

} // namespace

void fovea::attachArithmeticModels(MLIRContext *context) {
  using namespace arith;
  AddIOp::attachInterface<AddModel>(*context);
  SubIOp::attachInterface<SubModel>(*context);
  MulIOp::attachInterface<MulModel>(*context);
  DivSIOp::attachInterface<DivModel<DivSIOp, Rounding::Trunc, false>>(*context);
  DivUIOp::attachInterface<DivModel<DivUIOp, Rounding::Floor, true>>(*context);
  FloorDivSIOp::attachInterface<DivModel<FloorDivSIOp, Rounding::Floor, false>>(
      *context);
  CeilDivSIOp::attachInterface<DivModel<CeilDivSIOp, Rounding::Ceil, false>>(
      *context);
  CeilDivUIOp::attachInterface<DivModel<CeilDivUIOp, Rounding::Ceil, true>>(
      *context);
  RemSIOp::attachInterface<RemModel<RemSIOp, false>>(*context);
  RemUIOp::attachInterface<RemModel<RemUIOp, true>>(*context);
}
