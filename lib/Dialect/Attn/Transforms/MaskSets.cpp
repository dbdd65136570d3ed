//===- MaskSets.cpp - Describe the visible keys ---------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints mask_mod as a union of sets of keys, "[max(0, i - 63), i] and keys 0
// to 3", for remarks. A set has bounds from comparisons of the key with linear
// terms, and other conditions that are printed as formulas.
//
//===----------------------------------------------------------------------===//

#include "MaskRemarks.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::attn;

/// Maximum number of sets of a printed union, and of characters of its text.
static constexpr size_t kMaxSets = 4, kMaxLength = 240;
/// Larger numbers are printed but not used in arithmetic.
static constexpr int64_t kMaxFactor = int64_t(1) << 20,
                         kMaxConstant = int64_t(1) << 31;
/// Maximum number of traversed values of a sum, and of conditions of a mask.
static constexpr unsigned kMaxValues = 64, kMaxConditions = 200;
/// Argument numbers of mask_mod.
static constexpr unsigned kQuery = 2, kKey = 3;

namespace {
/// A sum of values with factors and a constant.
struct LinearForm {
  llvm::MapVector<Value, int64_t> terms;
  int64_t constant = 0;
  unsigned budget = kMaxValues;

  void add(Value value, int64_t factor);
  void negate();
  std::string print() const;
};

/// The keys from the largest lower bound to the smallest upper bound, both
/// inclusive, that satisfy all conditions.
struct KeySet {
  SmallVector<LinearForm, 2> lower, upper;
  SmallVector<std::string, 2> conditions;

  std::string print(Value query) const;
};

using Sets = SmallVector<KeySet, 2>;

/// Computes the sets of a mask's condition.
class SetFinder {
public:
  explicit SetFinder(Block &mask) : key(mask.getArgument(kKey)) {}
  /// The union of the sets for which `condition` holds, or does not.
  Sets find(Value condition, bool negated);
  bool isTooLarge() const { return budget == 0; }

private:
  Sets unite(Sets first, const Sets &second);
  Sets intersect(const Sets &first, const Sets &second);
  Sets compare(arith::CmpIOp op, bool negated);
  std::optional<Sets> bound(LinearForm difference,
                            arith::CmpIPredicate predicate);
  std::optional<Sets> compareUnsigned(Value value, Value limit,
                                      arith::CmpIPredicate predicate);
  std::optional<Sets> compareExtreme(Value extreme, Value other,
                                     arith::CmpIPredicate predicate);
  Sets makeCondition(Value condition, bool negated);
  bool dependsOnKey(Value value);

  Value key;
  llvm::DenseMap<Value, bool> dependences;
  unsigned budget = kMaxConditions;
};
} // namespace

static bool isSmall(const APInt &integer, int64_t limit) {
  return integer.getSignificantBits() < 64 &&
         std::abs(integer.getSExtValue()) <= limit;
}

void LinearForm::add(Value value, int64_t factor) {
  APInt integer;
  Operation *op = value.getDefiningOp();
  if (op && budget > 0) {
    --budget;
    if (matchPattern(value, m_ConstantInt(&integer)) &&
        isSmall(integer, kMaxConstant)) {
      constant += factor * integer.getSExtValue();
      return;
    }
    if (isa<arith::AddIOp, arith::SubIOp>(op)) {
      add(op->getOperand(0), factor);
      return add(op->getOperand(1), isa<arith::SubIOp>(op) ? -factor : factor);
    }
    if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
      return add(op->getOperand(0), factor);
    if (isa<arith::MulIOp>(op) &&
        matchPattern(op->getOperand(1), m_ConstantInt(&integer)) &&
        isSmall(integer, kMaxFactor) &&
        std::abs(factor * integer.getSExtValue()) <= kMaxFactor)
      return add(op->getOperand(0), factor * integer.getSExtValue());
  }
  int64_t &sum = terms[value];
  sum += factor;
  if (sum == 0)
    terms.erase(value);
}

void LinearForm::negate() {
  constant = -constant;
  for (auto &[_, factor] : terms)
    factor = -factor;
}

std::string LinearForm::print() const {
  std::string text;
  auto add = [&](StringRef part, bool isNegative) {
    if (text.empty())
      text = (isNegative ? "-" : "") + part.str();
    else
      text += (isNegative ? " - " : " + ") + part.str();
  };
  // Positive terms first: "i - 63", "n - i".
  for (bool isNegative : {false, true})
    for (auto [value, factor] : terms)
      if ((factor < 0) == isNegative) {
        std::string name = printFormula(value, /*isOperand=*/true);
        int64_t times = std::abs(factor);
        add(times == 1 ? name : std::to_string(times) + " * " + name,
            isNegative);
      }
  if (constant != 0 || text.empty())
    add(std::to_string(std::abs(constant)), constant < 0);
  return text;
}

/// Prints "max(0, i - 63)", or the only bound.
static std::string printExtreme(StringRef name, ArrayRef<std::string> bounds) {
  if (bounds.size() == 1)
    return bounds.front();
  return name.str() + "(" + llvm::join(bounds, ", ") + ")";
}

std::string KeySet::print(Value query) const {
  SmallVector<std::string> lowers, uppers;
  bool needsZero = true, isConstant = true;
  for (const LinearForm &form : lower) {
    if (form.terms.empty() && form.constant <= 0)
      continue;
    bool isQuery = form.terms.size() == 1 &&
                   form.terms.begin()->first == query &&
                   form.terms.begin()->second > 0;
    needsZero &= form.constant < 0 || !(isQuery || form.terms.empty());
    isConstant &= form.terms.empty();
    lowers.push_back(form.print());
  }
  for (const LinearForm &form : upper) {
    isConstant &= form.terms.empty();
    uppers.push_back(form.print());
  }
  std::string text;
  if (lowers.empty() && uppers.empty()) {
    text = "all keys";
  } else {
    if (needsZero)
      lowers.insert(lowers.begin(), "0");
    std::string first = printExtreme("max", lowers);
    if (uppers.empty())
      text = "keys from " + first + " on";
    else if (std::string last = printExtreme("min", uppers); first == last)
      text = "key " + first;
    else
      text = isConstant ? "keys " + first + " to " + last
                        : "keys [" + first + ", " + last + "]";
  }
  if (!conditions.empty())
    text += " where " + llvm::join(conditions, " and ");
  return text;
}

bool SetFinder::dependsOnKey(Value value) {
  if (value == key)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto known = dependences.find(value);
  if (known != dependences.end())
    return known->second;
  bool depends = llvm::any_of(op->getOperands(),
                              [&](Value each) { return dependsOnKey(each); });
  return dependences[value] = depends;
}

Sets SetFinder::unite(Sets first, const Sets &second) {
  // Larger unions are not printed.
  llvm::append_range(first, llvm::ArrayRef(second).take_front(kMaxSets + 1));
  if (first.size() > kMaxSets)
    first.resize(kMaxSets + 1);
  return first;
}

Sets SetFinder::intersect(const Sets &first, const Sets &second) {
  Sets result;
  for (const KeySet &a : first)
    for (const KeySet &b : second) {
      if (result.size() > kMaxSets)
        return result;
      KeySet &both = result.emplace_back(a);
      llvm::append_range(both.lower, b.lower);
      llvm::append_range(both.upper, b.upper);
      llvm::append_range(both.conditions, b.conditions);
    }
  return result;
}

Sets SetFinder::makeCondition(Value condition, bool negated) {
  KeySet set;
  auto cmp = condition.getDefiningOp<arith::CmpIOp>();
  if (cmp && negated) {
    set.conditions.push_back(
        printComparison(cmp, arith::invertPredicate(cmp.getPredicate())));
    return {set};
  }
  std::string text = printFormula(condition, /*isOperand=*/negated);
  set.conditions.push_back(negated ? "not " + text : text);
  return {set};
}

/// The keys for which `predicate` holds for `difference` and 0; nullopt if the
/// keys have no bounds.
std::optional<Sets> SetFinder::bound(LinearForm difference,
                                     arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  int64_t factor = difference.terms.lookup(key);
  difference.terms.erase(key);
  if (std::abs(factor) != 1 || llvm::any_of(difference.terms, [&](auto &term) {
        return dependsOnKey(term.first);
      }))
    return std::nullopt;
  // factor * key + difference against 0: the key against `difference`.
  if (factor == 1)
    difference.negate();
  bool isUpper = predicate == Predicate::slt || predicate == Predicate::sle,
       isLower = predicate == Predicate::sgt || predicate == Predicate::sge,
       isStrict = predicate == Predicate::slt || predicate == Predicate::sgt;
  if (factor == -1)
    std::swap(isUpper, isLower);
  if (predicate == Predicate::eq)
    isUpper = isLower = true;
  if (!isUpper && !isLower)
    return std::nullopt;
  if (isStrict)
    difference.constant += isUpper ? -1 : 1;
  KeySet set;
  if (isUpper)
    set.upper.push_back(difference);
  if (isLower)
    set.lower.push_back(difference);
  return Sets{set};
}

/// The keys for which a maximum, a minimum or an absolute value compares with
/// `other`.
std::optional<Sets> SetFinder::compareExtreme(Value extreme, Value other,
                                              arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  Operation *op = extreme.getDefiningOp();
  bool isBelow = predicate == Predicate::slt || predicate == Predicate::sle,
       isAbove = predicate == Predicate::sgt || predicate == Predicate::sge;
  if (!isa_and_nonnull<math::AbsIOp, arith::MaxSIOp, arith::MinSIOp>(op) ||
      (!isBelow && !isAbove))
    return std::nullopt;
  LinearForm first, second;
  bool isAbsolute = isa<math::AbsIOp>(op);
  first.add(op->getOperand(0), 1);
  second.add(op->getOperand(isAbsolute ? 0 : 1), isAbsolute ? -1 : 1);
  first.add(other, -1);
  second.add(other, -1);
  auto firstSets = bound(first, predicate),
       secondSets = bound(second, predicate);
  if (!firstSets || !secondSets)
    return std::nullopt;
  // A maximum is less than a bound if both operands are.
  bool isOfBoth = isBelow != isa<arith::MinSIOp>(op);
  return isOfBoth ? intersect(*firstSets, *secondSets)
                  : unite(*firstSets, *secondSets);
}

/// The keys for which an unsigned comparison of a value with a constant holds;
/// a negative value is larger than the constant.
std::optional<Sets> SetFinder::compareUnsigned(Value value, Value limit,
                                               arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  bool isBelow = predicate == Predicate::ult || predicate == Predicate::ule,
       isAbove = predicate == Predicate::ugt || predicate == Predicate::uge,
       isStrict = predicate == Predicate::ult || predicate == Predicate::ugt;
  APInt constant;
  if ((!isBelow && !isAbove) ||
      !matchPattern(limit, m_ConstantInt(&constant)) || constant.isNegative())
    return std::nullopt;
  LinearForm self, difference;
  self.add(value, 1);
  difference.add(value, 1);
  difference.add(limit, -1);
  auto sign = bound(self, isBelow ? Predicate::sge : Predicate::slt),
       size = bound(difference,
                    isBelow ? (isStrict ? Predicate::slt : Predicate::sle)
                            : (isStrict ? Predicate::sgt : Predicate::sge));
  if (!sign || !size)
    return std::nullopt;
  return isBelow ? intersect(*sign, *size) : unite(*sign, *size);
}

Sets SetFinder::compare(arith::CmpIOp op, bool negated) {
  arith::CmpIPredicate predicate =
      negated ? arith::invertPredicate(op.getPredicate()) : op.getPredicate();
  if (op.getLhs().getType().isIntOrIndex() &&
      !op.getLhs().getType().isInteger(1)) {
    if (auto sets = compareExtreme(op.getLhs(), op.getRhs(), predicate))
      return *sets;
    if (auto sets = compareUnsigned(op.getLhs(), op.getRhs(), predicate))
      return *sets;
    LinearForm difference;
    difference.add(op.getLhs(), 1);
    difference.add(op.getRhs(), -1);
    if (auto sets = bound(difference, predicate))
      return *sets;
  }
  return makeCondition(op.getResult(), negated);
}

Sets SetFinder::find(Value condition, bool negated) {
  if (budget == 0)
    return {};
  --budget;
  if (matchPattern(condition, negated ? m_Zero() : m_One()))
    return {KeySet()};
  if (matchPattern(condition, negated ? m_One() : m_Zero()))
    return {};
  Operation *op = condition.getDefiningOp();
  if (auto xori = dyn_cast_if_present<arith::XOrIOp>(op);
      xori && matchPattern(xori.getRhs(), m_One()))
    return find(xori.getLhs(), !negated);
  if (isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op)) {
    Sets first = find(op->getOperand(0), negated),
         second = find(op->getOperand(1), negated);
    return isa<arith::AndIOp>(op) != negated ? intersect(first, second)
                                             : unite(first, second);
  }
  if (auto select = dyn_cast_if_present<arith::SelectOp>(op))
    return unite(intersect(find(select.getCondition(), false),
                           find(select.getTrueValue(), negated)),
                 intersect(find(select.getCondition(), true),
                           find(select.getFalseValue(), negated)));
  if (auto cmp = dyn_cast_if_present<arith::CmpIOp>(op))
    return compare(cmp, negated);
  return makeCondition(condition, negated);
}

std::string fovea::attn::describeVisibleKeys(Region &maskMod) {
  Block &mask = maskMod.front();
  SetFinder finder(mask);
  Sets sets = finder.find(mask.getTerminator()->getOperand(0), false);
  if (finder.isTooLarge() || sets.size() > kMaxSets)
    return {};
  std::string text = sets.empty() ? "query i sees no keys" : "query i sees ";
  llvm::interleave(
      sets,
      [&](const KeySet &set) { text += set.print(mask.getArgument(kQuery)); },
      [&] { text += " and "; });
  return text.size() > kMaxLength ? std::string() : text;
}
