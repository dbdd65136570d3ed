//===- IntervalBuilder.cpp - Arithmetic on interval ends ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Analysis/IntervalBuilder.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

FailureOr<Interval>
fovea::getOrInfer(KnownIntervals &known, Value value,
                  function_ref<FailureOr<Interval>(Value)> infer) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  // Inferring adds entries for operands and may rehash.
  FailureOr<Interval> interval = infer(value);
  known.try_emplace(value, interval);
  return interval;
}

bool fovea::fitsType(Type type, int64_t min, int64_t max) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return llvm::isIntN(width, min) && llvm::isIntN(width, max);
}

//===----------------------------------------------------------------------===//
// IntervalBuilder
//===----------------------------------------------------------------------===//

Value IntervalBuilder::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value IntervalBuilder::boolean(bool value) {
  return arith::ConstantIntOp::create(builder, loc, builder.getI1Type(), value);
}

Value IntervalBuilder::toIndex(Value value) {
  if (value.getType().isIndex() || value.getType().isInteger(1))
    return value;
  return builder.createOrFold<arith::IndexCastOp>(loc, builder.getIndexType(),
                                                  value);
}

Value IntervalBuilder::wrap(Type type, Value index) {
  if (fitsType(type, ranges.getMin(index), ranges.getMax(index)))
    return index;
  Value bits = constant(64 - type.getIntOrFloatBitWidth());
  return shr(shl(index, bits), bits);
}

Value IntervalBuilder::add(Value a, Value b) {
  return create<arith::AddIOp>(a, b);
}
Value IntervalBuilder::sub(Value a, Value b) {
  return create<arith::SubIOp>(a, b);
}
Value IntervalBuilder::mul(Value a, Value b) {
  return create<arith::MulIOp>(a, b);
}

Value IntervalBuilder::min(Value a, Value b) {
  if (ranges.getMax(a) <= ranges.getMin(b))
    return a;
  if (ranges.getMax(b) <= ranges.getMin(a))
    return b;
  return create<arith::MinSIOp>(a, b);
}

Value IntervalBuilder::max(Value a, Value b) {
  if (ranges.getMin(a) >= ranges.getMax(b))
    return a;
  if (ranges.getMin(b) >= ranges.getMax(a))
    return b;
  return create<arith::MaxSIOp>(a, b);
}

Value IntervalBuilder::floorDiv(Value a, Value b) {
  // Non-negative values use the unsigned division, and a power of two a shift,
  // which rounds down.
  if (ranges.isNonNegative(a) && ranges.isNonNegative(b))
    return create<arith::DivUIOp>(a, b);
  std::optional<int64_t> divisor = ranges.getConstant(b);
  if (divisor && *divisor > 0 && llvm::isPowerOf2_64(*divisor))
    return create<arith::ShRSIOp>(a, constant(llvm::Log2_64(*divisor)));
  return create<arith::FloorDivSIOp>(a, b);
}

Value IntervalBuilder::ceilDiv(Value a, Value b) {
  std::optional<int64_t> divisor = ranges.getConstant(b);
  if (divisor && *divisor == 1)
    return a;
  int64_t sum;
  if (divisor && *divisor > 0 &&
      !llvm::AddOverflow(ranges.getMax(a), *divisor, sum))
    return floorDiv(add(a, constant(*divisor - 1)), b);
  return create<arith::CeilDivSIOp>(a, b);
}

Value IntervalBuilder::truncDiv(Value a, Value b) {
  if (ranges.isNonNegative(a) && ranges.isNonNegative(b))
    return create<arith::DivUIOp>(a, b);
  return create<arith::DivSIOp>(a, b);
}

Value IntervalBuilder::rem(Value a, Value b) {
  if (ranges.isNonNegative(a) && ranges.isNonNegative(b))
    return create<arith::RemUIOp>(a, b);
  return create<arith::RemSIOp>(a, b);
}

Value IntervalBuilder::shl(Value a, Value b) {
  return create<arith::ShLIOp>(a, b);
}
Value IntervalBuilder::shr(Value a, Value b) {
  return create<arith::ShRSIOp>(a, b);
}
Value IntervalBuilder::bitAnd(Value a, Value b) {
  return create<arith::AndIOp>(a, b);
}
Value IntervalBuilder::bitOr(Value a, Value b) {
  return create<arith::OrIOp>(a, b);
}
Value IntervalBuilder::bitXor(Value a, Value b) {
  return create<arith::XOrIOp>(a, b);
}

/// The result of the comparison, if the ranges determine it.
static std::optional<bool> compareRanges(StaticRanges &ranges,
                                         arith::CmpIPredicate predicate,
                                         Value a, Value b) {
  using Predicate = arith::CmpIPredicate;
  switch (predicate) {
  case Predicate::sle:
    if (ranges.getMax(a) <= ranges.getMin(b))
      return true;
    if (ranges.getMin(a) > ranges.getMax(b))
      return false;
    return std::nullopt;
  case Predicate::sge:
    return compareRanges(ranges, Predicate::sle, b, a);
  case Predicate::slt:
  case Predicate::sgt: {
    bool isLess = predicate == Predicate::slt;
    std::optional<bool> opposite =
        compareRanges(ranges, Predicate::sle, isLess ? b : a, isLess ? a : b);
    return opposite ? std::optional<bool>(!*opposite) : std::nullopt;
  }
  default:
    return std::nullopt;
  }
}

Value IntervalBuilder::cmp(arith::CmpIPredicate predicate, Value a, Value b) {
  if (std::optional<bool> known = compareRanges(ranges, predicate, a, b))
    return boolean(*known);
  return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
}

Value IntervalBuilder::logicalAnd(Value a, Value b) {
  if (matchPattern(a, m_Zero()) || matchPattern(b, m_One()))
    return a;
  return create<arith::AndIOp>(a, b);
}

Value IntervalBuilder::logicalOr(Value a, Value b) {
  if (matchPattern(a, m_One()) || matchPattern(b, m_Zero()))
    return a;
  return create<arith::OrIOp>(a, b);
}

Value IntervalBuilder::logicalNot(Value a) {
  return create<arith::XOrIOp>(a, boolean(true));
}

Value IntervalBuilder::select(Value condition, Value a, Value b) {
  return builder.createOrFold<arith::SelectOp>(loc, condition, a, b);
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

Interval IntervalBuilder::hull(ArrayRef<Value> values) {
  Interval result = {values.front(), values.front()};
  for (Value value : values.drop_front())
    result = {min(result.lo, value), max(result.hi, value)};
  return result;
}

Interval IntervalBuilder::differ(Interval a, Interval b) {
  if (a.isPoint() && b.isPoint()) {
    Value value = bitXor(a.lo, b.lo);
    return {value, value};
  }
  // Known to differ; may differ.
  auto oneOf = [&](Value p, Value notQ, Value notP, Value q) {
    return logicalOr(logicalAnd(p, notQ), logicalAnd(notP, q));
  };
  return {oneOf(a.lo, logicalNot(b.hi), logicalNot(a.hi), b.lo),
          oneOf(a.hi, logicalNot(b.lo), logicalNot(a.lo), b.hi)};
}

FailureOr<Interval> IntervalBuilder::fit(Type type, Interval interval) {
  if (type.isInteger(1))
    return failure();
  int64_t least = ranges.getMin(interval.lo), most = ranges.getMax(interval.hi);
  constexpr int64_t kFar = int64_t(1) << 62;
  bool isExact = least >= -kFar && most <= kFar;
  if (type.isIndex() || type.isInteger(64)) {
    if (interval.isAttained() || isExact)
      return interval;
    return failure();
  }
  if (!isExact)
    return failure();
  if (fitsType(type, least, most))
    return interval;
  if (interval.isPoint()) {
    Value wrapped = wrap(type, interval.lo);
    return Interval{wrapped, wrapped};
  }
  unsigned width = type.getIntOrFloatBitWidth();
  Value first = constant(llvm::minIntN(width));
  Value last = constant(llvm::maxIntN(width));
  Value fits = logicalAnd(le(first, interval.lo), le(interval.hi, last));
  auto choose = [&](Value end, Value otherwise) {
    Value chosen = select(fits, end, otherwise);
    // Bounds that range inference does not derive. A folded select has other
    // users.
    if (auto op = chosen.getDefiningOp<arith::SelectOp>();
        op && op.getCondition() == fits)
      ranges.set(chosen, llvm::minIntN(width), llvm::maxIntN(width));
    return chosen;
  };
  return Interval{choose(interval.lo, first), choose(interval.hi, last)};
}
