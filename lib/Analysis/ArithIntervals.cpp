//===- ArithIntervals.cpp - Interval models of arith ops --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Analysis/IntervalOpInterface.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

#include "fovea/Analysis/IntervalOpInterface.cpp.inc"

namespace {

/// `interval` if no value in it wraps in `type`.
FailureOr<Interval> checkFits(IntervalBuilder &b, Type type,
                              Interval interval) {
  StaticRanges &ranges = b.getRanges();
  // 64-bit arithmetic does not overflow, by contract.
  if (!type.isIndex() && !type.isInteger(64) &&
      !fitsType(type, ranges.getMin(interval.lo), ranges.getMax(interval.hi)))
    return failure();
  return interval;
}

/// True if `a op b`, computed exactly by `exact`, can't wrap in `type`. The
/// operands of types below 64 bits are below 32 bits or refused, so that the
/// exact result is an int64_t.
template <typename Exact>
bool isExact(StaticRanges &ranges, Type type, Value a, Value b, Exact exact) {
  if (type.isIndex() || type.isInteger(64))
    return true;
  if (type.getIntOrFloatBitWidth() > 32)
    return false;
  for (int64_t x : {ranges.getMin(a), ranges.getMax(a)})
    for (int64_t y : {ranges.getMin(b), ranges.getMax(b)})
      if (int64_t result = exact(x, y); !fitsType(type, result, result))
        return false;
  return true;
}

/// Base of the models: `Model` implements what it can.
template <typename Model, typename Op>
using ModelOf = FoveaIntervalOpInterface::ExternalModel<Model, Op>;

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

struct AddModel : ModelOf<AddModel, arith::AddIOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    auto emit = [&](Value p, Value q) { return b.add(p, q); };
    return checkFits(b, op->getResult(0).getType(), b.onEnds(x[0], x[1], emit));
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
    Interval flipped = {x[1].hi, x[1].lo};
    auto emit = [&](Value p, Value q) { return b.sub(p, q); };
    return checkFits(b, op->getResult(0).getType(),
                     b.onEnds(x[0], flipped, emit));
  }
  FailureOr<AffineSum> getAffineSum(Operation *op, StaticRanges &ranges) const {
    Value a = op->getOperand(0), b = op->getOperand(1);
    auto exact = [](int64_t x, int64_t y) { return x - y; };
    if (!isExact(ranges, a.getType(), a, b, exact))
      return failure();
    return AffineSum{{{a, 1}, {b, -1}}};
  }
};

struct MulModel : ModelOf<MulModel, arith::MulIOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    Interval factor = x[1], other = x[0];
    if (!factor.isPoint())
      std::swap(factor, other);
    StaticRanges &ranges = b.getRanges();
    Type type = op->getResult(0).getType();
    auto emit = [&](Value p, Value q) { return b.mul(p, q); };
    bool isPositive =
        b.isNonNegative(factor) && (factor.isPoint() || b.isNonNegative(other));
    if (isPositive)
      return checkFits(b, type, b.onEnds(other, factor, emit));
    if (!factor.isPoint())
      return failure();
    Interval result = b.onEnds({other.hi, other.lo}, factor, emit);
    if (ranges.getMax(factor.lo) > 0 && !other.isPoint())
      result = {b.min(result.lo, result.hi), b.max(result.lo, result.hi)};
    return checkFits(b, type, result);
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

struct ShlModel : ModelOf<ShlModel, arith::ShLIOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    std::optional<int64_t> shift = getShift(op, b.getRanges());
    if (!shift)
      return failure();
    Value factor = b.constant(int64_t(1) << *shift);
    auto emit = [&](Value p, Value q) { return b.mul(p, q); };
    return checkFits(b, op->getResult(0).getType(),
                     b.onEnds(x[0], {factor, factor}, emit));
  }
  FailureOr<AffineSum> getAffineSum(Operation *op, StaticRanges &ranges) const {
    std::optional<int64_t> shift = getShift(op, ranges);
    Value a = op->getOperand(0);
    auto exact = [&](int64_t x, int64_t) { return x * (int64_t(1) << *shift); };
    if (!shift || !isExact(ranges, a.getType(), a, a, exact))
      return failure();
    return AffineSum{{{a, int64_t(1) << *shift}}};
  }

private:
  static std::optional<int64_t> getShift(Operation *op, StaticRanges &ranges) {
    std::optional<int64_t> shift = ranges.getConstant(op->getOperand(1));
    return shift && *shift >= 0 && *shift < 31 ? shift : std::nullopt;
  }
};

//===----------------------------------------------------------------------===//
// Quotients and remainders
//===----------------------------------------------------------------------===//

enum class Rounding { Floor, Ceil, Trunc };

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

/// Quotients grow with the dividend if the divisor is positive.
FailureOr<Interval> divideInterval(IntervalBuilder &b, Rounding rounding,
                                   Interval dividend, Interval divisor) {
  StaticRanges &ranges = b.getRanges();
  if (ranges.getConstant(divisor.lo) == 0 && divisor.isPoint())
    return failure();
  auto emit = [&](Value p, Value q) { return emitDivision(b, rounding, p, q); };
  if (!divisor.isPoint()) {
    if (!b.isNonNegative(dividend) || ranges.getMin(divisor.lo) < 1)
      return failure();
    return Interval{emit(dividend.lo, divisor.hi),
                    emit(dividend.hi, divisor.lo)};
  }
  Interval result = b.onEnds(dividend, divisor, emit);
  if (ranges.getMin(divisor.lo) >= 1 || dividend.isPoint())
    return result;
  if (ranges.getMax(divisor.lo) <= 0)
    return Interval{result.hi, result.lo};
  return Interval{b.min(result.lo, result.hi), b.max(result.lo, result.hi)};
}

/// `dividend / c <= bound` as a bound on the dividend, for `c >= 1`. Fails if
/// the product of bound and divisor might overflow.
FailureOr<Value> invertDivision(IntervalBuilder &b, Rounding rounding,
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
  // Rounding to zero is rounding down above zero and up below it.
  Value zero = b.constant(0);
  Value away = upper ? b.le(zero, bound) : b.le(bound, zero);
  return b.select(away, widened, least);
}

template <typename Op, Rounding rounding, bool isUnsigned>
struct DivModel : ModelOf<DivModel<Op, rounding, isUnsigned>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    if (isUnsigned && !(b.isNonNegative(x[0]) && b.isNonNegative(x[1])))
      return failure();
    FailureOr<Interval> result = divideInterval(b, rounding, x[0], x[1]);
    if (failed(result))
      return failure();
    return checkFits(b, op->getResult(0).getType(), *result);
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

/// Shifts to the right by a constant: divisions by a power of two, rounded
/// down.
template <typename Op, bool isUnsigned>
struct ShrModel : ModelOf<ShrModel<Op, isUnsigned>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    std::optional<int64_t> shift = b.getRanges().getConstant(op->getOperand(1));
    if (!shift || *shift < 0 || *shift >= 31 ||
        (isUnsigned && !b.isNonNegative(x[0])))
      return failure();
    Value divisor = b.constant(int64_t(1) << *shift);
    return divideInterval(b, Rounding::Floor, x[0], {divisor, divisor});
  }
  FailureOr<OperandBound> invertBound(Operation *op, IntervalBuilder &b,
                                      ArrayRef<Interval>, bool upper,
                                      Value bound) const {
    StaticRanges &ranges = b.getRanges();
    std::optional<int64_t> shift = ranges.getConstant(op->getOperand(1));
    Value dividend = op->getOperand(0);
    if (!shift || *shift < 0 || *shift >= 31 ||
        (isUnsigned && !ranges.isNonNegative(dividend)))
      return failure();
    FailureOr<Value> inverse = invertDivision(b, Rounding::Floor, upper, bound,
                                              b.constant(int64_t(1) << *shift));
    if (failed(inverse))
      return failure();
    return OperandBound{dividend, *inverse};
  }
};

template <typename Op, bool isUnsigned>
struct RemModel : ModelOf<RemModel<Op, isUnsigned>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    Interval dividend = x[0], divisor = x[1];
    bool isNonNegative = b.isNonNegative(dividend);
    if (!divisor.isPoint() ||
        (isUnsigned && !(isNonNegative && b.isNonNegative(divisor))))
      return failure();
    if (dividend.isPoint()) {
      Value value = b.rem(dividend.lo, divisor.lo);
      return Interval{value, value};
    }
    if (b.getRanges().getMin(divisor.lo) < 1)
      return failure();
    // The remainder has the dividend's sign and is no larger than it.
    Value zero = b.constant(0), largest = b.sub(divisor.lo, b.constant(1));
    Value hi = b.min(b.max(dividend.hi, zero), largest);
    if (isNonNegative)
      return Interval{zero, hi};
    return Interval{b.max(b.min(dividend.lo, zero), b.sub(zero, largest)), hi};
  }
};

//===----------------------------------------------------------------------===//
// Minimum, maximum, conversions, constants
//===----------------------------------------------------------------------===//

template <typename Op, bool isMin, bool isUnsigned>
struct MinMaxModel : ModelOf<MinMaxModel<Op, isMin, isUnsigned>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    if (isUnsigned && !(b.isNonNegative(x[0]) && b.isNonNegative(x[1])))
      return failure();
    return b.onEnds(x[0], x[1], [&](Value p, Value q) {
      return isMin ? b.min(p, q) : b.max(p, q);
    });
  }
};

/// Conversions that keep the value; `isUnsigned` ones those of non-negative
/// values.
template <typename Op, bool isUnsigned>
struct CastModel : ModelOf<CastModel<Op, isUnsigned>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
    if (from.isInteger(1) && isUnsigned) {
      auto widen = [&](Value condition) {
        return b.select(condition, b.constant(1), b.constant(0));
      };
      Value lo = widen(x[0].lo);
      return Interval{lo, x[0].isPoint() ? lo : widen(x[0].hi)};
    }
    StaticRanges &ranges = b.getRanges();
    if (from.isInteger(1) || to.isInteger(1) ||
        (isUnsigned && !b.isNonNegative(x[0])) ||
        !fitsType(to, ranges.getMin(x[0].lo), ranges.getMax(x[0].hi)))
      return failure();
    return x[0];
  }
  FailureOr<AffineSum> getAffineSum(Operation *op, StaticRanges &ranges) const {
    Value from = op->getOperand(0);
    Type to = op->getResult(0).getType();
    if (from.getType().isInteger(1) || to.isInteger(1) ||
        (isUnsigned && !ranges.isNonNegative(from)) ||
        !fitsType(to, ranges.getMin(from), ranges.getMax(from)))
      return failure();
    return AffineSum{{{from, 1}}};
  }
};

struct ConstantModel : ModelOf<ConstantModel, arith::ConstantOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval>) const {
    APInt value;
    if (!matchPattern(op, m_ConstantInt(&value)) || value.getBitWidth() > 64)
      return failure();
    Value end = op->getResult(0).getType().isInteger(1)
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

struct CmpModel : ModelOf<CmpModel, arith::CmpIOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    using Predicate = arith::CmpIPredicate;
    if (op->getOperand(0).getType().isInteger(1))
      return failure();
    Interval p = x[0], q = x[1];
    bool isNonNegative = b.isNonNegative(p) && b.isNonNegative(q);
    switch (cast<arith::CmpIOp>(op).getPredicate()) {
    case Predicate::eq:
      return equal(b, p, q);
    case Predicate::ne: {
      Interval same = equal(b, p, q);
      return Interval{b.logicalNot(same.hi), b.logicalNot(same.lo)};
    }
    case Predicate::sge:
      std::swap(p, q);
      [[fallthrough]];
    case Predicate::sle:
      return Interval{b.le(p.hi, q.lo), b.le(p.lo, q.hi)};
    case Predicate::sgt:
      std::swap(p, q);
      [[fallthrough]];
    case Predicate::slt:
      return Interval{b.lt(p.hi, q.lo), b.lt(p.lo, q.hi)};
    case Predicate::uge:
      std::swap(p, q);
      [[fallthrough]];
    case Predicate::ule:
      if (!isNonNegative)
        return failure();
      return Interval{b.le(p.hi, q.lo), b.le(p.lo, q.hi)};
    case Predicate::ugt:
      std::swap(p, q);
      [[fallthrough]];
    case Predicate::ult:
      if (!isNonNegative)
        return failure();
      return Interval{b.lt(p.hi, q.lo), b.lt(p.lo, q.hi)};
    }
    llvm_unreachable("unknown predicate");
  }

private:
  static Interval equal(IntervalBuilder &b, Interval p, Interval q) {
    return {b.logicalAnd(b.le(p.hi, q.lo), b.le(q.hi, p.lo)),
            b.logicalAnd(b.le(p.lo, q.hi), b.le(q.lo, p.hi))};
  }
};

template <typename Op>
struct LogicModel : ModelOf<LogicModel<Op>, Op> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    if (!op->getResult(0).getType().isInteger(1))
      return failure();
    return b.onEnds(x[0], x[1], [&](Value p, Value q) {
      return std::is_same_v<Op, arith::AndIOp> ? b.logicalAnd(p, q)
                                               : b.logicalOr(p, q);
    });
  }
};

struct XorModel : ModelOf<XorModel, arith::XOrIOp> {
  FailureOr<Interval> inferInterval(Operation *op, IntervalBuilder &b,
                                    ArrayRef<Interval> x) const {
    if (!op->getResult(0).getType().isInteger(1))
      return failure();
    // Certainly one is true and the other false; possibly so.
    auto differ = [&](Value p, Value notQ, Value notP, Value q) {
      return b.logicalOr(b.logicalAnd(p, notQ), b.logicalAnd(notP, q));
    };
    Value lo =
        differ(x[0].lo, b.logicalNot(x[1].hi), b.logicalNot(x[0].hi), x[1].lo);
    Value hi =
        differ(x[0].hi, b.logicalNot(x[1].lo), b.logicalNot(x[0].lo), x[1].hi);
    return Interval{lo, hi};
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
    bool isCondition = op->getResult(0).getType().isInteger(1);
    Value lower = isCondition ? b.logicalAnd(p.lo, q.lo) : b.min(p.lo, q.lo);
    Value upper = isCondition ? b.logicalOr(p.hi, q.hi) : b.max(p.hi, q.hi);
    auto choose = [&](Value certain, Value either, Value otherwise) {
      return b.select(condition.lo, certain,
                      b.select(condition.hi, either, otherwise));
    };
    return Interval{choose(p.lo, lower, q.lo), choose(p.hi, upper, q.hi)};
  }
};

} // namespace

void fovea::registerIntervalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    using namespace arith;
    AddIOp::attachInterface<AddModel>(*context);
    SubIOp::attachInterface<SubModel>(*context);
    MulIOp::attachInterface<MulModel>(*context);
    ShLIOp::attachInterface<ShlModel>(*context);
    DivSIOp::attachInterface<DivModel<DivSIOp, Rounding::Trunc, false>>(
        *context);
    DivUIOp::attachInterface<DivModel<DivUIOp, Rounding::Floor, true>>(
        *context);
    FloorDivSIOp::attachInterface<
        DivModel<FloorDivSIOp, Rounding::Floor, false>>(*context);
    CeilDivSIOp::attachInterface<DivModel<CeilDivSIOp, Rounding::Ceil, false>>(
        *context);
    CeilDivUIOp::attachInterface<DivModel<CeilDivUIOp, Rounding::Ceil, true>>(
        *context);
    ShRSIOp::attachInterface<ShrModel<ShRSIOp, false>>(*context);
    ShRUIOp::attachInterface<ShrModel<ShRUIOp, true>>(*context);
    RemSIOp::attachInterface<RemModel<RemSIOp, false>>(*context);
    RemUIOp::attachInterface<RemModel<RemUIOp, true>>(*context);
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
    AndIOp::attachInterface<LogicModel<AndIOp>>(*context);
    OrIOp::attachInterface<LogicModel<OrIOp>>(*context);
    XOrIOp::attachInterface<XorModel>(*context);
    SelectOp::attachInterface<SelectModel>(*context);
  });
}
