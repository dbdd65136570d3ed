//===- MaskAnalysis.cpp - Interval analysis of masks ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskAnalysis.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <utility>

using namespace mlir;
using namespace fovea;
using namespace fovea::attn;
using Predicate = arith::CmpIPredicate;

/// Argument numbers of mask_mod, kv_bounds and kv_classify.
static constexpr unsigned kBatch = 0, kHead = 1, kQuery = 2, kKey = 3;
static constexpr unsigned kFirstQuery = 2, kFirstKey = 4;

/// The values that `op` and its regions use but do not define. The block of
/// `op` may have no parent region, which upstream's utilities require.
static SetVector<Value> getReadValues(Operation &op) {
  SetVector<Value> read;
  op.walk([&](Operation *inner) {
    for (Value value : inner->getOperands()) {
      Operation *around = value.getParentBlock()->getParentOp();
      if (!around || !op.isAncestor(around))
        read.insert(value);
    }
  });
  return read;
}

MaskAnalysis::MaskAnalysis(IntervalBuilder &builder, Block &mask, Block &body,
                           bool overKeys)
    : b(builder), keys(builder), mask(mask), body(body), overKeys(overKeys) {
  StaticRanges &ranges = b.getRanges();
  auto setRange = [&](Block &block, unsigned first, unsigned count,
                      int64_t last) {
    for (BlockArgument argument : block.getArguments().slice(first, count))
      ranges.set(argument, 0, last);
  };
  unsigned bodyArguments = overKeys ? AttentionOpInterface::kKVClassifyArguments
                                    : AttentionOpInterface::kKVBoundsArguments;
  constexpr int64_t kLast = AttentionOpInterface::kMaxSequenceLength - 1;
  setRange(mask, 0, kQuery, INT32_MAX);
  setRange(mask, kQuery, 2, kLast);
  setRange(body, 0, kFirstQuery, INT32_MAX);
  setRange(body, kFirstQuery, bodyArguments - kFirstQuery, kLast);

  mapping.map(mask.getArgument(kBatch), body.getArgument(kBatch));
  mapping.map(mask.getArgument(kHead), body.getArgument(kHead));
  mapping.map(
      mask.getArguments().drop_front(AttentionOpInterface::kMaskModArguments),
      body.getArguments().drop_front(bodyArguments));
  auto addCoordinate = [&](unsigned argument, unsigned first) {
    Interval interval = {body.getArgument(first), body.getArgument(first + 1),
                         /*attained=*/true};
    intervals.try_emplace(mask.getArgument(argument), interval);
    dependence[mask.getArgument(argument)] = OnBlock;
  };
  addCoordinate(kQuery, kFirstQuery);
  if (overKeys)
    addCoordinate(kKey, kFirstKey);
  else
    dependence[mask.getArgument(kKey)] = OnKey;
  for (Operation &op : mask) {
    unsigned on = None;
    for (Value value : getReadValues(op))
      on |= getDependence(value);
    for (Value result : op.getResults())
      dependence[result] = on;
  }
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

/// Interval ends are of type index, which has 64 bits.
static bool isSupportedInteger(Type type) {
  return type.isIndex() ||
         (type.isSignlessInteger() && type.getIntOrFloatBitWidth() <= 64);
}

Value MaskAnalysis::cloneUniform(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value read : getReadValues(*op))
    cloneUniform(read);
  // Upstream folds a cast from index to a narrow integer and back, although it
  // may truncate; it does not fold a truncation from i64.
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op) &&
      op->getOperand(0).getType().isIndex() && !value.getType().isInteger(64)) {
    OpBuilder &builder = b.getBuilder();
    Value wide = builder.createOrFold<arith::IndexCastOp>(
        b.getLoc(), builder.getI64Type(), mapping.lookup(op->getOperand(0)));
    mapping.map(value, builder.createOrFold<arith::TruncIOp>(
                           b.getLoc(), value.getType(), wide));
  } else {
    b.getBuilder().clone(*op, mapping);
  }
  return mapping.lookup(value);
}

/// An element at the query or the key is between the block min and max.
FailureOr<Interval> MaskAnalysis::inferExtract(tensor::ExtractOp op) {
  auto captured = dyn_cast<BlockArgument>(op.getTensor());
  if (!overKeys || !captured || captured.getOwner() != &mask)
    return failure();
  std::optional<int64_t> dim;
  SmallVector<Value> others;
  for (auto [position, index] : llvm::enumerate(op.getIndices())) {
    if (isUniform(index)) {
      others.push_back(cloneUniform(index));
      continue;
    }
    bool isCoordinate =
        index == mask.getArgument(kQuery) || index == mask.getArgument(kKey);
    if (dim || !isCoordinate)
      return failure();
    dim = position;
  }
  if (!dim)
    return failure();
  bool isQuery = op.getIndices()[*dim] == mask.getArgument(kQuery);
  unsigned first = isQuery ? kFirstQuery : kFirstKey;
  Value tensor = mapping.lookup(op.getTensor());
  auto read = [&](auto extreme) -> Value {
    using Extreme = decltype(extreme);
    return b.toIndex(Extreme::create(
        b.getBuilder(), b.getLoc(), op.getResult().getType(), tensor, others,
        body.getArgument(first), body.getArgument(first + 1),
        b.getBuilder().getI64IntegerAttr(*dim)));
  };
  Value low = read(BlockMinOp());
  return Interval{low, read(BlockMaxOp())};
}

FailureOr<Interval> MaskAnalysis::inferInterval(Value value) {
  if (!isSupportedInteger(value.getType()) || (getDependence(value) & OnKey))
    return failure();
  if (isUniform(value)) {
    Value end = b.toIndex(cloneUniform(value));
    return Interval{end, end};
  }
  if (auto extract = value.getDefiningOp<tensor::ExtractOp>())
    return inferExtract(extract);
  return fovea::inferInterval(
      value, b, [&](Value operand) { return getInterval(operand); });
}

FailureOr<Interval> MaskAnalysis::getInterval(Value value) {
  return getOrInfer(intervals, value,
                    [&](Value value) { return inferInterval(value); });
}

//===----------------------------------------------------------------------===//
// Linear forms
//===----------------------------------------------------------------------===//

bool MaskAnalysis::isLargeUniform(Value value) {
  constexpr int64_t kLarge = int64_t(1) << 48;
  StaticRanges &ranges = b.getRanges();
  return isUniform(value) && !ranges.getConstant(value) &&
         (ranges.getMin(value) < -kLarge || ranges.getMax(value) > kLarge);
}

LogicalResult MaskAnalysis::decompose(Value value, int64_t factor,
                                      Linear &linear) {
  if (!isSupportedInteger(value.getType()))
    return failure();
  if (factor == 0)
    return success();
  constexpr unsigned kMaxSteps = 1000;
  if (++linear.steps > kMaxSteps)
    return failure();
  // Far from overflow, so that negations and small sums are safe.
  constexpr int64_t kMax = int64_t(1) << 48;
  if (auto op = value.getDefiningOp<FoveaIntervalOpInterface>();
      op && !isLargeUniform(value)) {
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
      getDependence(value) & OnKey ? linear.keyTerms : linear.blockTerms;
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

LogicalResult MaskAnalysis::collectTerms(const Linear &linear, int64_t scale,
                                         Interval bound,
                                         SmallVectorImpl<Term> &terms,
                                         int64_t &constant) {
  constant = scale * linear.constant;
  auto append = [&](Interval interval, int64_t factor) -> LogicalResult {
    std::optional<int64_t> known = interval.isPoint()
                                       ? b.getRanges().getConstant(interval.lo)
                                       : std::nullopt;
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
  for (auto [value, factor] : linear.blockTerms) {
    FailureOr<Interval> interval = getInterval(value);
    if (failed(interval) || failed(append(*interval, scale * factor)))
      return failure();
  }
  return limitTerms(linear, terms, constant);
}

/// A captured value that means "no limit" may be close to the limits of its
/// type. If it is the only such term, clamping it outside the range of the
/// other terms changes no comparison and prevents overflow.
LogicalResult MaskAnalysis::limitTerms(const Linear &linear,
                                       MutableArrayRef<Term> terms,
                                       int64_t constant) {
  constexpr int64_t kLarge = int64_t(1) << 32;
  constexpr double kFar = 1LL << 60;
  StaticRanges &ranges = b.getRanges();
  auto getReach = [&](Value lo, Value hi) {
    return std::max(std::abs(double(ranges.getMin(lo))),
                    std::abs(double(ranges.getMax(hi))));
  };
  double reach = std::abs(double(constant));
  for (auto [value, factor] : linear.keyTerms)
    reach += getReach(value, value) * std::abs(double(factor));
  Term *large = nullptr;
  double largest = 0;
  for (Term &term : terms) {
    double own = getReach(term.interval.lo, term.interval.hi);
    if (own > double(kLarge) && own > largest) {
      largest = own;
      large = &term;
    }
  }
  for (Term &term : terms)
    if (&term != large)
      reach += getReach(term.interval.lo, term.interval.hi) *
               std::abs(double(term.factor));
  if (!large)
    return success(reach < kFar);
  double factor = std::abs(double(large->factor));
  if (reach + largest * factor < kFar)
    return success();
  if (reach >= kFar)
    return failure();
  int64_t limit = llvm::PowerOf2Ceil(int64_t(reach) + 1);
  limit = std::max(limit, kLarge);
  if (double(limit) * factor > 2 * kFar)
    return failure();
  Value most = b.constant(limit), least = b.constant(-limit);
  large->interval =
      b.onEnds(large->interval, large->interval, [&](Value end, Value) {
        return b.min(b.max(end, least), most);
      });
  return success();
}

Interval MaskAnalysis::sumTerms(ArrayRef<Term> terms, bool positive,
                                int64_t constant) {
  Interval sum;
  for (const Term &term : terms) {
    if ((term.factor > 0) != positive)
      continue;
    Value factor = b.constant(std::abs(term.factor));
    Interval interval = b.onEnds(term.interval, {factor, factor},
                                 [&](Value p, Value q) { return b.mul(p, q); });
    sum = !sum ? interval : b.onEnds(sum, interval, [&](Value p, Value q) {
      return b.add(p, q);
    });
  }
  Value rest = b.constant(constant);
  if (!sum)
    return {rest, rest};
  return b.onEnds(sum, {rest, rest},
                  [&](Value p, Value q) { return b.add(p, q); });
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// The op's name in quotes.
static std::string quote(Operation *op) {
  return ("'" + op->getName().getStringRef() + "'").str();
}

Cover MaskAnalysis::unknown(Operation *op, const Twine &reason) {
  unknowns.push_back({op, reason.str(), current});
  return {};
}

Cover MaskAnalysis::unknownInterval(Value value) {
  auto isUnknown = [&](Value operand) {
    auto known = intervals.find(operand);
    return operand.getDefiningOp() && known != intervals.end() &&
           failed(known->second);
  };
  Operation *op = value.getDefiningOp();
  for (auto next = op->operand_begin(); next != op->operand_end();) {
    if (!isUnknown(*next)) {
      ++next;
      continue;
    }
    op = (*next).getDefiningOp();
    next = op->operand_begin();
  }
  if (isa<tensor::ExtractOp>(op))
    return unknown(op, overKeys ? "it reads data at other positions than the "
                                  "query's or the key's"
                                : "it reads data");
  if (isa<arith::CmpFOp>(op))
    return unknown(op, "it compares floats, whose ranges are unknown");
  if (!isa<FoveaIntervalOpInterface>(op))
    return unknown(op, "there is no range analysis for " + quote(op));
  if (!isSupportedInteger(op->getResult(0).getType()))
    return unknown(op, "there is no range analysis for its type");
  bool isOfKey = getDependence(op->getResult(0)) & OnKey;
  return unknown(op, isOfKey ? "it depends on the key in a way that gives no "
                               "range of keys"
                             : "the range of its result is unknown");
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
    return unknownInterval(term);
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
    return unknown(op,
                   "a bound on " + quote(op) + " gives no bound on the key");
  return analyzeBound(linear, upper, {lo->bound, hi->bound});
}

Cover MaskAnalysis::analyzeBound(const Linear &linear, bool upper,
                                 Interval bound) {
  SmallVector<Term> terms;
  int64_t constant;
  auto unknownTerm = [&] {
    for (auto [value, factor] : linear.blockTerms)
      if (failed(getInterval(value)) && value.getDefiningOp())
        return unknownInterval(value);
    return unknown(current.getDefiningOp(), "its sum may overflow");
  };
  if (linear.keyTerms.empty()) {
    if (failed(collectTerms(linear, 1, bound, terms, constant)))
      return unknownTerm();
    // Negative terms move to the other side, so that values stay non-negative.
    Interval less = sumTerms(terms, true, std::max<int64_t>(constant, 0));
    Interval more = sumTerms(terms, false, std::max<int64_t>(-constant, 0));
    if (!upper)
      std::swap(less, more);
    Value may = b.le(less.lo, more.hi);
    Value must =
        less.isPoint() && more.isPoint() ? may : b.le(less.hi, more.lo);
    return {KeyRange::when(may), KeyRange::when(must)};
  }
  if (linear.keyTerms.size() != 1)
    return unknown(current.getDefiningOp(),
                   "more than one of its terms depends on the key");
  // factor * term + rest <= bound: term <= (bound - rest) / factor; a negative
  // factor reverses the comparison.
  auto [term, factor] = linear.keyTerms.front();
  if (failed(collectTerms(linear, factor > 0 ? -1 : 1, bound, terms, constant)))
    return unknownTerm();
  bool hasAdded =
      llvm::any_of(terms, [](const Term &term) { return term.factor > 0; });
  Interval limit = sumTerms(terms, true, hasAdded ? 0 : constant);
  if (llvm::any_of(terms, [](const Term &term) { return term.factor < 0; }))
    limit = b.onEnds(limit, sumTerms(terms, false, 0).flipped(),
                     [&](Value p, Value q) { return b.sub(p, q); });
  if (hasAdded) {
    Value rest = b.constant(constant);
    limit = b.onEnds(limit, {rest, rest},
                     [&](Value p, Value q) { return b.add(p, q); });
  }
  bool termUpper = factor > 0 ? upper : !upper;
  Value divisor = b.constant(std::abs(factor));
  Interval quotient =
      b.onEnds(limit, {divisor, divisor}, [&](Value p, Value q) {
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

/// The equivalent signed comparison for non-negative values.
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
    return unknown(op, "its sides are not sums of bounded terms");

  // `x <u n` with n >= 0 means 0 <= x < n.
  StaticRanges &ranges = b.getRanges();
  Predicate signedPredicate = toSigned(predicate);
  if (predicate != signedPredicate &&
      !(ranges.isNonNegative(lhs) && ranges.isNonNegative(rhs))) {
    bool isLess = predicate == Predicate::ult || predicate == Predicate::ule;
    Linear value;
    if (!ranges.isNonNegative(rhs) || failed(decompose(lhs, 1, value)))
      return unknown(op,
                     "it compares a value that may be negative as unsigned");
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
    // All keys except one are not a range.
    if (difference.keyTerms.empty())
      return disjunction(bound(true, -1), bound(false, 1));
    return unknown(op, "all keys except some are not one range");
  default:
    llvm_unreachable("unsigned predicates are gone");
  }
}

Cover MaskAnalysis::analyzeSelect(arith::SelectOp op, bool negated) {
  Value condition = op.getCondition();
  Cover x = analyze(op.getTrueValue(), negated);
  Cover y = analyze(op.getFalseValue(), negated);
  if (!isUniform(condition)) {
    Cover cover = disjunction(conjunction(analyze(condition), x),
                              conjunction(analyze(condition, true), y));
    // A pair that both values show is visible for any condition.
    if (overKeys)
      cover.must = keys.join(cover.must, keys.intersect(x.must, y.must));
    return cover;
  }
  Value choice = cloneUniform(condition);
  return {keys.choose(choice, x.may, y.may),
          keys.choose(choice, x.must, y.must)};
}

Cover MaskAnalysis::analyzeInterval(Value condition, bool negated) {
  FailureOr<Interval> interval = getInterval(condition);
  // Conditions are never arguments of the mask.
  if (failed(interval))
    return unknownInterval(condition);
  Value may = negated ? b.logicalNot(interval->lo) : interval->hi;
  Value must = negated ? b.logicalNot(interval->hi) : interval->lo;
  return {KeyRange::when(may), KeyRange::when(must)};
}

Cover MaskAnalysis::analyze(Value condition, bool negated) {
  auto known = covers.find({condition, negated});
  if (known != covers.end())
    return known->second;
  Value outer = std::exchange(current, condition);
  unsigned inexact = keys.getNumInexact(), recorded = hulls.size();
  Cover cover = analyzeCondition(condition, negated);
  // Record the innermost condition only.
  if (keys.getNumInexact() != inexact && hulls.size() == recorded &&
      condition.getDefiningOp())
    hulls.push_back(condition.getDefiningOp());
  current = outer;
  covers.try_emplace({condition, negated}, cover);
  return cover;
}

Cover MaskAnalysis::analyzeComparison(arith::CmpIOp op, bool negated) {
  unsigned before = unknowns.size();
  Cover cover = analyzeCompare(op, negated);
  if (unknowns.size() == before || !overKeys || failed(getInterval(op)))
    return cover;
  // The linear form gives no bound, but the interval of either side does.
  unknowns.truncate(before);
  return analyzeInterval(op, negated);
}

Cover MaskAnalysis::analyzeCondition(Value condition, bool negated) {
  if (isUniform(condition)) {
    Value holds = cloneUniform(condition);
    KeyRange range = KeyRange::when(negated ? b.logicalNot(holds) : holds);
    return {range, range};
  }
  Operation *op = condition.getDefiningOp();
  if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op))
    return analyzeComparison(compare, negated);
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return analyzeSelect(select, negated);
  // Negation is pushed inwards: not (x and y) is (not x) or (not y).
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op)) {
    Cover x = analyze(op->getOperand(0), negated);
    Cover y = analyze(op->getOperand(1), negated);
    return isa<arith::AndIOp>(op) != negated ? conjunction(x, y)
                                             : disjunction(x, y);
  }
  if (isa_and_nonnull<arith::XOrIOp>(op)) {
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
  return analyzeInterval(condition, negated);
}
