//===- BitIntervals.cpp - Intervals of shifts and bit operations ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntervalModels.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

namespace {

//===----------------------------------------------------------------------===//
// Shifts
//===----------------------------------------------------------------------===//

/// True for a shift by a constant that can't overflow 64-bit arithmetic.
std::optional<int64_t> getSmallShift(StaticRanges &ranges, Value shift) {
  std::optional<int64_t> known = ranges.getConstant(shift);
  return known && *known >= 0 && *known < 31 ? known : std::nullopt;
}

struct ShlModel : ModelOf<ShlModel, arith::ShLIOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    StaticRanges &ranges = b.getRanges();
    Type type = op->getResult(0).getType();
    int64_t least = ranges.getMin(x[1].lo), most = ranges.getMax(x[1].hi);
    // Bits shifted out of 64 bits would be lost silently.
    constexpr int64_t kLargest = int64_t(1) << 62;
    if (least < 0 || most > 61 ||
        ranges.getMin(x[0].lo) < -(kLargest >> most) ||
        ranges.getMax(x[0].hi) > kLargest >> most)
      return failure();
    auto emit = [&](Value p, Value q) { return b.shl(p, q); };
    if (x[1].isPoint())
      return b.fit(type, b.onEnds(x[0], x[1], emit));
    if (b.isNonNegative(x[0]))
      return b.fit(type, {emit(x[0].lo, x[1].lo), emit(x[0].hi, x[1].hi)});
    return b.fit(type, {b.min(emit(x[0].lo, x[1].lo), emit(x[0].lo, x[1].hi)),
                        b.max(emit(x[0].hi, x[1].lo), emit(x[0].hi, x[1].hi))});
  }
  FailureOr<AffineSum> getAffineSum(Operation *op, StaticRanges &ranges) const {
    std::optional<int64_t> shift = getSmallShift(ranges, op->getOperand(1));
    Value a = op->getOperand(0);
    auto exact = [&](int64_t x, int64_t) { return x * (int64_t(1) << *shift); };
    if (!shift || !isExact(ranges, a.getType(), a, a, exact))
      return failure();
    return AffineSum{{{a, int64_t(1) << *shift}}};
  }
};

/// Right shifts are divisions by powers of two, rounded down.
FailureOr<Interval> shiftRight(IntervalBuilder &b, Interval x, Interval shift) {
  StaticRanges &ranges = b.getRanges();
  if (getSmallShift(ranges, shift.lo) && shift.isPoint()) {
    Value divisor = b.constant(int64_t(1) << *ranges.getConstant(shift.lo));
    return divide(b, Rounding::Floor, x, {divisor, divisor});
  }
  auto emit = [&](Value p, Value q) { return b.shr(p, q); };
  if (shift.isPoint())
    return b.onEnds(x, shift, emit);
  if (ranges.getMin(shift.lo) < 0 || ranges.getMax(shift.hi) > 63)
    return failure();
  return Interval{b.min(emit(x.lo, shift.lo), emit(x.lo, shift.hi)),
                  b.max(emit(x.hi, shift.lo), emit(x.hi, shift.hi))};
}

template <typename Op, bool isUnsigned>
struct ShrModel : ModelOf<ShrModel<Op, isUnsigned>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    Type type = op->getResult(0).getType();
    if (isCondition(type))
      return failure();
    if (!isUnsigned)
      return shiftRight(b, x[0], x[1]);
    FailureOr<Interval> bits = toUnsigned(b, type, x[0]);
    if (failed(bits))
      return failure();
    FailureOr<Interval> result = shiftRight(b, *bits, x[1]);
    if (failed(result))
      return failure();
    return fromUnsigned(b, type, *result);
  }
  FailureOr<OperandBound> invertBound(Operation *op, IntervalBuilder &b,
                                      ArrayRef<Interval>, bool upper,
                                      Value bound) const {
    StaticRanges &ranges = b.getRanges();
    std::optional<int64_t> shift = getSmallShift(ranges, op->getOperand(1));
    Value dividend = op->getOperand(0);
    if (!shift || (isUnsigned && !ranges.isNonNegative(dividend)))
      return failure();
    FailureOr<Value> inverse = invertDivision(b, Rounding::Floor, upper, bound,
                                              b.constant(int64_t(1) << *shift));
    if (failed(inverse))
      return failure();
    return OperandBound{dividend, *inverse};
  }
};

//===----------------------------------------------------------------------===//
// And, or, exclusive or
//===----------------------------------------------------------------------===//

enum class Bits { And, Or, Xor };

Value emitBits(IntervalBuilder &b, Bits kind, Value p, Value q) {
  switch (kind) {
  case Bits::And:
    return b.bitAnd(p, q);
  case Bits::Or:
    return b.bitOr(p, q);
  case Bits::Xor:
    return b.bitXor(p, q);
  }
  llvm_unreachable("unknown operation");
}

/// The mask of the bits that may vary in an interval: all bits from the first
/// one in which its ends differ. Null if there are none.
Value getVaryingBits(IntervalBuilder &b, Interval x) {
  if (x.isPoint())
    return {};
  StaticRanges &ranges = b.getRanges();
  // Copies of the sign bit need no step. Also, a shift by the width of a type
  // that the ends fit would be invalid in that type.
  auto countBits = [](int64_t end) {
    return 65 - llvm::countl_zero(uint64_t(end < 0 ? ~end : end));
  };
  int width =
      std::max(countBits(ranges.getMin(x.lo)), countBits(ranges.getMax(x.hi)));
  if (b.isNonNegative(x))
    --width;
  Value bits = b.bitXor(x.lo, x.hi);
  for (int shift = 1; shift < width; shift *= 2)
    bits = b.bitOr(bits, b.shr(bits, b.constant(shift)));
  return bits;
}

/// `x & (2^k - 1)` is the non-negative remainder.
Interval takeLowBits(IntervalBuilder &b, Interval x, int64_t mask) {
  Value end = b.constant(mask), shift = b.constant(llvm::Log2_64(mask + 1));
  Value same = b.equal(b.shr(x.lo, shift), b.shr(x.hi, shift));
  return {b.select(same, b.bitAnd(x.lo, end), b.constant(0)),
          b.select(same, b.bitAnd(x.hi, end), end)};
}

Interval combineBits(IntervalBuilder &b, Type type, Bits kind, Interval x,
                     Interval y) {
  if (x.isPoint() && y.isPoint()) {
    Value value = emitBits(b, kind, x.lo, y.lo);
    return {value, value};
  }
  if (x.isPoint())
    std::swap(x, y);
  std::optional<int64_t> constant =
      y.isPoint() ? b.getRanges().getConstant(y.lo) : std::nullopt;
  if (kind == Bits::Xor && constant == -1)
    return {b.bitXor(x.hi, y.lo), b.bitXor(x.lo, y.lo)};
  if (kind == Bits::And && constant && *constant > 0 && *constant < INT64_MAX &&
      llvm::isPowerOf2_64(*constant + 1))
    return takeLowBits(b, x, *constant);

  // Varying bits are cleared in the low end and set in the high end.
  Value varyingX = getVaryingBits(b, x), varyingY = getVaryingBits(b, y);
  auto clear = [&](Value v, Value bits) {
    return bits ? b.bitAnd(v, b.bitXor(bits, b.constant(-1))) : v;
  };
  auto set = [&](Value v, Value bits) { return bits ? b.bitOr(v, bits) : v; };
  Value low, high;
  if (kind == Bits::Xor) {
    Value varying = varyingX && varyingY ? b.bitOr(varyingX, varyingY)
                                         : (varyingX ? varyingX : varyingY);
    Value known = b.bitXor(x.lo, y.lo);
    low = clear(known, varying);
    high = set(known, varying);
  } else {
    low = emitBits(b, kind, clear(x.lo, varyingX), clear(y.lo, varyingY));
    high = emitBits(b, kind, set(x.lo, varyingX), set(y.lo, varyingY));
  }
  bool isNonNegative = kind == Bits::And
                           ? b.isNonNegative(x) || b.isNonNegative(y)
                           : b.isNonNegative(x) && b.isNonNegative(y);
  if (isNonNegative) {
    Value zero = b.constant(0);
    return {b.max(low, zero), b.max(high, zero)};
  }
  // A varying sign bit is set in the low end and cleared in the high end.
  int64_t least =
      type.isIndex() ? INT64_MIN : llvm::minIntN(type.getIntOrFloatBitWidth());
  Value zero = b.constant(0);
  Value isVarying = b.logicalAnd(b.le(zero, low), b.lt(high, zero));
  return {b.select(isVarying, b.bitOr(low, b.constant(least)), low),
          b.select(isVarying, b.bitAnd(high, b.constant(~least)), high)};
}

template <typename Op, Bits kind>
struct BitsModel : ModelOf<BitsModel<Op, kind>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    Type type = op->getResult(0).getType();
    if (!isCondition(type))
      return combineBits(b, type, kind, x[0], x[1]);
    if (kind == Bits::Xor)
      return b.differ(x[0], x[1]);
    return b.onEnds(x[0], x[1], [&](Value p, Value q) {
      return kind == Bits::And ? b.logicalAnd(p, q) : b.logicalOr(p, q);
    });
  }
};

//===----------------------------------------------------------------------===//
// Integer math
//===----------------------------------------------------------------------===//

/// Absolute values.
struct AbsModel : ModelOf<AbsModel, math::AbsIOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    Type type = op->getResult(0).getType();
    if (b.getRanges().getMin(x[0].lo) == INT64_MIN)
      return failure();
    Value zero = b.constant(0);
    Value flipped = b.sub(zero, x[0].lo);
    if (x[0].isPoint()) {
      Value value = b.max(x[0].lo, flipped);
      return b.fit(type, {value, value});
    }
    Value low = b.max(b.max(x[0].lo, b.sub(zero, x[0].hi)), zero);
    return b.fit(type, {low, b.max(x[0].hi, flipped)});
  }
};

/// Bit counts: exact for a single value, otherwise between 0 and the width.
template <typename Op>
struct BitCountModel : ModelOf<BitCountModel<Op>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    Type type = op->getResult(0).getType();
    // Narrower types can't represent the width.
    if (type.isIndex() || type.getIntOrFloatBitWidth() < 8)
      return failure();
    unsigned width = type.getIntOrFloatBitWidth();
    OpBuilder &builder = b.getBuilder();
    Location loc = b.getLoc();
    Value narrow = builder.createOrFold<arith::IndexCastOp>(loc, type, x[0].lo);
    Value count = b.toIndex(Op::create(builder, loc, narrow));
    if (x[0].isPoint())
      return Interval{count, count};
    Value isPoint = b.equal(x[0].lo, x[0].hi);
    return Interval{b.select(isPoint, count, b.constant(0)),
                    b.select(isPoint, count, b.constant(width))};
  }
};

} // namespace

void fovea::attachBitModels(MLIRContext *context) {
  using namespace arith;
  ShLIOp::attachInterface<ShlModel>(*context);
  ShRSIOp::attachInterface<ShrModel<ShRSIOp, false>>(*context);
  ShRUIOp::attachInterface<ShrModel<ShRUIOp, true>>(*context);
  AndIOp::attachInterface<BitsModel<AndIOp, Bits::And>>(*context);
  OrIOp::attachInterface<BitsModel<OrIOp, Bits::Or>>(*context);
  XOrIOp::attachInterface<BitsModel<XOrIOp, Bits::Xor>>(*context);
}

void fovea::attachBitCountModels(MLIRContext *context) {
  using namespace math;
  AbsIOp::attachInterface<AbsModel>(*context);
  CtPopOp::attachInterface<BitCountModel<CtPopOp>>(*context);
  CountLeadingZerosOp::attachInterface<BitCountModel<CountLeadingZerosOp>>(
      *context);
  CountTrailingZerosOp::attachInterface<BitCountModel<CountTrailingZerosOp>>(
      *context);
}
