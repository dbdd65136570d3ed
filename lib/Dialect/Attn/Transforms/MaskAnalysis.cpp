//===- MaskAnalysis.cpp - Which keys a block of queries sees ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskAnalysis.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace fovea;
using namespace fovea::attn;
using Predicate = arith::CmpIPredicate;

/// Arguments of both mask_mod and kv_bounds.
static constexpr unsigned kBatch = 0, kHead = 1, kQuery = 2, kKey = 3;

MaskAnalysis::MaskAnalysis(IntervalBuilder &builder, Block &mask, Block &bounds)
    : b(builder), keys(builder), mask(mask) {
  StaticRanges &ranges = b.getRanges();
  int64_t last = ForwardOp::kMaxSequenceLength - 1;
  for (Block *block : {&mask, &bounds}) {
    ranges.set(block->getArgument(kBatch), 0, INT32_MAX);
    ranges.set(block->getArgument(kHead), 0, INT32_MAX);
    ranges.set(block->getArgument(2), 0, last);
    ranges.set(block->getArgument(3), 0, last);
  }
  for (auto [index, argument] : llvm::enumerate(mask.getArguments()))
    if (index != kQuery && index != kKey)
      mapping.map(argument, bounds.getArgument(index));
  intervals.try_emplace(mask.getArgument(kQuery),
                        Interval{bounds.getArgument(2), bounds.getArgument(3)});
  dependence[mask.getArgument(kQuery)] = OnQuery;
  dependence[mask.getArgument(kKey)] = OnKey;
  for (Operation &op : mask) {
    unsigned on = None;
    for (Value operand : op.getOperands())
      on |= getDependence(operand);
    SetVector<Value> used;
    getUsedValuesDefinedAbove(op.getRegions(), used);
    for (Value value : used)
      on |= getDependence(value);
    for (Value result : op.getResults())
      dependence[result] = on;
  }
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

/// The ends of intervals are indices, which hold 64 bits.
static bool isSupportedInteger(Type type) {
  return type.isIndex() ||
         (type.isSignlessInteger() && type.getIntOrFloatBitWidth() <= 64);
}

Value MaskAnalysis::cloneUniform(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    cloneUniform(operand);
  SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value inner : used)
    cloneUniform(inner);
  b.getBuilder().clone(*op, mapping);
  return mapping.lookup(value);
}

FailureOr<Interval> MaskAnalysis::inferInterval(Value value) {
  if (!isSupportedInteger(value.getType()) || (getDependence(value) & OnKey))
    return failure();
  if (isUniform(value)) {
    Value end = b.toIndex(cloneUniform(value));
    return Interval{end, end};
  }
  auto op = value.getDefiningOp<FoveaIntervalOpInterface>();
  if (!op)
    return failure();
  SmallVector<Interval> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Interval> interval = getInterval(operand);
    if (failed(interval))
      return failure();
    operands.push_back(*interval);
  }
  return op.inferInterval(b, operands);
}

FailureOr<Interval> MaskAnalysis::getInterval(Value value) {
  auto known = intervals.find(value);
  if (known != intervals.end())
    return known->second;
  FailureOr<Interval> interval = inferInterval(value);
  intervals.try_emplace(value, interval);
  return interval;
}

//===----------------------------------------------------------------------===//
// Linear forms
//===----------------------------------------------------------------------===//

LogicalResult MaskAnalysis::decompose(Value value, int64_t factor,
                                      Linear &linear) {
  if (!isSupportedInteger(value.getType()))
    return failure();
  // Far from overflow, so that signs can be changed and small terms added.
  constexpr int64_t kMax = int64_t(1) << 48;
  if (auto op = value.getDefiningOp<FoveaIntervalOpInterface>()) {
    FailureOr<AffineSum> sum = op.getAffineSum(b.getRanges());
    if (succeeded(sum)) {
      int64_t constant;
      if (llvm::MulOverflow(factor, sum->constant, constant) ||
          constant < -kMax || constant > kMax ||
          std::abs(linear.constant += constant) > kMax)
        return failure();
      for (auto [term, inner] : sum->terms) {
        int64_t product;
        if (llvm::MulOverflow(factor, inner, product) || product < -kMax ||
            product > kMax || failed(decompose(term, product, linear)))
          return failure();
      }
      return success();
    }
  }
  auto &terms =
      getDependence(value) & OnKey ? linear.keyTerms : linear.queryTerms;
  auto *same =
      llvm::find_if(terms, [&](auto &term) { return term.first == value; });
  if (same == terms.end()) {
    terms.emplace_back(value, factor);
    return success();
  }
  same->second += factor;
  if (std::abs(same->second) > kMax)
    return failure();
  if (same->second == 0)
    terms.erase(same);
  return success();
}

FailureOr<Interval> MaskAnalysis::sumTerms(const Linear &linear, int64_t scale,
                                           Interval bound) {
  struct Term {
    Interval interval;
    int64_t factor;
  };
  StaticRanges &ranges = b.getRanges();
  int64_t constant = scale * linear.constant;
  SmallVector<Term> terms;
  auto append = [&](Interval interval, int64_t factor) -> LogicalResult {
    std::optional<int64_t> known =
        interval.isPoint() ? ranges.getConstant(interval.lo) : std::nullopt;
    int64_t product;
    if (!known) {
      terms.push_back({interval, factor});
      return success();
    }
    return failure(llvm::MulOverflow(factor, *known, product) ||
                   llvm::AddOverflow(constant, product, constant));
  };
  if (failed(append(bound, -scale)))
    return failure();
  for (auto [value, factor] : linear.queryTerms) {
    FailureOr<Interval> interval = getInterval(value);
    if (failed(interval) || failed(append(*interval, scale * factor)))
      return failure();
  }

  // A captured value that means "no limit" may be near the end of its type.
  // Where it stands alone among terms of known size, cutting it off above their
  // reach changes no comparison and keeps the sum from overflowing.
  constexpr int64_t kLarge = int64_t(1) << 32;
  auto getReach = [&](Value lo, Value hi, int64_t factor) {
    double reach = std::max(std::abs(double(ranges.getMin(lo))),
                            std::abs(double(ranges.getMax(hi))));
    return reach * std::abs(double(factor));
  };
  Term *large = nullptr;
  unsigned numLarge = 0;
  double reach = std::abs(double(constant));
  for (auto [value, factor] : linear.keyTerms)
    reach += getReach(value, value, factor);
  for (Term &term : terms) {
    double own = getReach(term.interval.lo, term.interval.hi, 1);
    if (own > double(kLarge)) {
      large = &term;
      ++numLarge;
    } else {
      reach += own * std::abs(double(term.factor));
    }
  }
  bool isUnit = large && std::abs(large->factor) == 1;
  if (numLarge == 1 && isUnit && large->interval.isPoint() &&
      reach < std::ldexp(1.0, 60)) {
    int64_t limit = llvm::PowerOf2Ceil(int64_t(reach) + 1);
    limit = std::max(limit, kLarge);
    Value cut = b.max(large->interval.lo, b.constant(-limit));
    cut = b.min(cut, b.constant(limit));
    large->interval = {cut, cut};
  }

  // Terms that are added come first: no negation is needed if there is one.
  Interval sum;
  for (bool isAdded : {true, false})
    for (const Term &term : terms) {
      if ((term.factor > 0) != isAdded)
        continue;
      Interval interval = term.interval;
      if (!isAdded)
        std::swap(interval.lo, interval.hi);
      Value factor = b.constant(std::abs(term.factor));
      interval = b.onEnds(interval, {factor, factor},
                          [&](Value p, Value q) { return b.mul(p, q); });
      if (!sum && isAdded) {
        sum = interval;
        continue;
      }
      if (!sum) {
        Value start = b.constant(constant);
        sum = {start, start};
        constant = 0;
      }
      sum = b.onEnds(sum, interval, [&](Value p, Value q) {
        return isAdded ? b.add(p, q) : b.sub(p, q);
      });
    }
  Value rest = b.constant(constant);
  if (!sum)
    return Interval{rest, rest};
  return b.onEnds(sum, {rest, rest},
                  [&](Value p, Value q) { return b.add(p, q); });
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

Cover MaskAnalysis::unknown() {
  ++numUnknown;
  return {};
}

Cover MaskAnalysis::analyzeTermBound(Value term, bool upper, Interval bound) {
  if (term == mask.getArgument(kKey)) {
    Value one = b.constant(1);
    Cover cover = {KeyRange::all(), KeyRange::all()};
    if (upper) {
      cover.may.hi = b.add(bound.hi, one);
      cover.must.hi = bound.isPoint() ? cover.may.hi : b.add(bound.lo, one);
    } else {
      cover.may.lo = bound.lo;
      cover.must.lo = bound.hi;
    }
    return cover;
  }
  auto op = term.getDefiningOp<FoveaIntervalOpInterface>();
  if (!op)
    return unknown();
  SmallVector<Interval> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Interval> interval = getInterval(operand);
    operands.push_back(succeeded(interval) ? *interval : Interval());
  }
  FailureOr<OperandBound> lo = op.invertBound(b, operands, upper, bound.lo);
  FailureOr<OperandBound> hi =
      bound.isPoint() ? lo : op.invertBound(b, operands, upper, bound.hi);
  Linear linear;
  if (failed(lo) || failed(hi) || failed(decompose(lo->operand, 1, linear)))
    return unknown();
  return analyzeBound(linear, upper, {lo->bound, hi->bound});
}

Cover MaskAnalysis::analyzeBound(const Linear &linear, bool upper,
                                 Interval bound) {
  if (linear.keyTerms.empty()) {
    FailureOr<Interval> sum = sumTerms(linear, 1, bound);
    if (failed(sum))
      return unknown();
    Value zero = b.constant(0);
    auto holds = [&](Value end) {
      return upper ? b.le(end, zero) : b.le(zero, end);
    };
    Value easy = upper ? sum->lo : sum->hi, hard = upper ? sum->hi : sum->lo;
    Value may = holds(easy);
    Value must = sum->isPoint() ? may : holds(hard);
    return {KeyRange::when(may), KeyRange::when(must)};
  }
  if (linear.keyTerms.size() != 1)
    return unknown();
  // factor * term + rest <= bound: term <= (bound - rest) / factor, with the
  // comparison turned round for a negative factor.
  auto [term, factor] = linear.keyTerms.front();
  FailureOr<Interval> limit = sumTerms(linear, factor > 0 ? -1 : 1, bound);
  if (failed(limit))
    return unknown();
  bool termUpper = factor > 0 ? upper : !upper;
  Value divisor = b.constant(std::abs(factor));
  Interval quotient =
      b.onEnds(*limit, {divisor, divisor}, [&](Value p, Value q) {
        return termUpper ? b.floorDiv(p, q) : b.ceilDiv(p, q);
      });
  return analyzeTermBound(term, termUpper, quotient);
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

Cover MaskAnalysis::conjunction(Cover x, Cover y) {
  return {keys.intersect(x.may, y.may), keys.intersect(x.must, y.must)};
}

Cover MaskAnalysis::disjunction(Cover x, Cover y) {
  return {keys.hull(x.may, y.may), keys.join(x.must, y.must)};
}

/// The signed comparison that says the same of values that are not negative.
static Predicate toSigned(Predicate predicate) {
  switch (predicate) {
  case Predicate::ult:
    return Predicate::slt;
  case Predicate::ule:
    return Predicate::sle;
  case Predicate::ugt:
    return Predicate::sgt;
  case Predicate::uge:
    return Predicate::sge;
  default:
    return predicate;
  }
}

Cover MaskAnalysis::analyzeCompare(arith::CmpIOp op, bool negated) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  Predicate predicate = op.getPredicate();
  if (negated)
    predicate = arith::invertPredicate(predicate);
  Linear difference;
  if (lhs.getType().isInteger(1) || failed(decompose(lhs, 1, difference)) ||
      failed(decompose(rhs, -1, difference)))
    return unknown();

  // `x <u n` with n >= 0 means 0 <= x < n.
  StaticRanges &ranges = b.getRanges();
  Predicate signedPredicate = toSigned(predicate);
  if (predicate != signedPredicate &&
      !(ranges.isNonNegative(lhs) && ranges.isNonNegative(rhs))) {
    bool isLess = predicate == Predicate::ult || predicate == Predicate::ule;
    Linear value;
    if (!ranges.isNonNegative(rhs) || failed(decompose(lhs, 1, value)))
      return unknown();
    Value end = b.constant(isLess ? 0 : -1);
    Cover sign = analyzeBound(value, /*upper=*/!isLess, {end, end});
    Value shift = b.constant(predicate == Predicate::ult   ? -1
                             : predicate == Predicate::ugt ? 1
                                                           : 0);
    Cover size = analyzeBound(difference, /*upper=*/isLess, {shift, shift});
    return isLess ? conjunction(sign, size) : disjunction(sign, size);
  }

  auto bound = [&](bool upper, int64_t value) {
    Value end = b.constant(value);
    return analyzeBound(difference, upper, {end, end});
  };
  switch (signedPredicate) {
  case Predicate::slt:
    return bound(true, -1);
  case Predicate::sle:
    return bound(true, 0);
  case Predicate::sgt:
    return bound(false, 1);
  case Predicate::sge:
    return bound(false, 0);
  case Predicate::eq:
    return conjunction(bound(true, 0), bound(false, 0));
  case Predicate::ne:
    // All keys but one: not an interval.
    if (difference.keyTerms.empty())
      return disjunction(bound(true, -1), bound(false, 1));
    return unknown();
  default:
    llvm_unreachable("unsigned predicates are gone");
  }
}

Cover MaskAnalysis::analyzeSelect(arith::SelectOp op, bool negated) {
  Value condition = op.getCondition();
  Cover x = analyze(op.getTrueValue(), negated);
  Cover y = analyze(op.getFalseValue(), negated);
  if (!isUniform(condition))
    return disjunction(conjunction(analyze(condition), x),
                       conjunction(analyze(condition, true), y));
  Value choice = cloneUniform(condition);
  return {keys.choose(choice, x.may, y.may),
          keys.choose(choice, x.must, y.must)};
}

Cover MaskAnalysis::analyze(Value condition, bool negated) {
  if (isUniform(condition)) {
    Value holds = cloneUniform(condition);
    KeyRange range = KeyRange::when(negated ? b.logicalNot(holds) : holds);
    return {range, range};
  }
  Operation *op = condition.getDefiningOp();
  if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op))
    return analyzeCompare(compare, negated);
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return analyzeSelect(select, negated);
  // Negation is pushed inwards: not (x and y) is (not x) or (not y).
  if (op && isa<arith::AndIOp, arith::OrIOp>(op)) {
    Cover x = analyze(op->getOperand(0), negated);
    Cover y = analyze(op->getOperand(1), negated);
    return isa<arith::AndIOp>(op) != negated ? conjunction(x, y)
                                             : disjunction(x, y);
  }
  if (op && isa<arith::XOrIOp>(op)) {
    Value x = op->getOperand(0), y = op->getOperand(1);
    if (isUniform(x))
      std::swap(x, y);
    if (matchPattern(y, m_One()))
      return analyze(x, !negated);
    if (isUniform(y)) {
      Cover kept = analyze(x, negated), flipped = analyze(x, !negated);
      Value flip = cloneUniform(y);
      return {keys.choose(flip, flipped.may, kept.may),
              keys.choose(flip, flipped.must, kept.must)};
    }
  }
  FailureOr<Interval> interval = getInterval(condition);
  if (failed(interval))
    return unknown();
  Value may = negated ? b.logicalNot(interval->lo) : interval->hi;
  Value must = negated ? b.logicalNot(interval->hi) : interval->lo;
  return {KeyRange::when(may), KeyRange::when(must)};
}
