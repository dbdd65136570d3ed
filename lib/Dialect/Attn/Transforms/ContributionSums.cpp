//===- ContributionSums.cpp - Simplify contributions ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ContributionSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;
using namespace fovea;
using namespace fovea::attn;

// Products with more factors are not changed.
static constexpr size_t kMostFactors = 16;

/// Argument numbers of score_gradient: score, derivative, b, h, i, j.
enum GradientArgument : unsigned {
  kScore = 0,
  kGradient = 1,
  kQuery = 4,
  kKey = 5
};

namespace {
/// Tells whether values of score_gradient vary with the query, the key or the
/// pair. Variation by batch entry and head is ignored.
class Dependences {
public:
  enum Kind : unsigned { OnQuery = 1, OnKey = 2, OnPair = 4 };

  unsigned of(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return ofArgument(cast<BlockArgument>(value).getArgNumber());
    if (auto found = known.find(op); found != known.end())
      return found->second;
    unsigned kinds = op->getNumRegions() == 0 ? 0 : OnQuery | OnKey | OnPair;
    for (Value operand : op->getOperands())
      kinds |= of(operand);
    return known[op] = kinds;
  }
  /// True if `value` varies with `kinds` only.
  bool isBy(Value value, unsigned kinds) { return (of(value) & ~kinds) == 0; }

private:
  static unsigned ofArgument(unsigned number) {
    switch (number) {
    case kScore:
    case kGradient:
      return OnPair;
    case kQuery:
      return OnQuery;
    case kKey:
      return OnKey;
    }
    return 0;
  }

  llvm::DenseMap<Operation *, unsigned> known;
};
} // namespace

static bool isPlaceBy(ContributeOp add, unsigned kinds,
                      Dependences &dependences) {
  return llvm::all_of(add.getIndices(), [&](Value index) {
    return dependences.isBy(index, kinds);
  });
}

//===----------------------------------------------------------------------===//
// Sums that are zero
//===----------------------------------------------------------------------===//

namespace {
/// Finds contributions whose sum over the keys of a query is zero.
///
/// The derivatives with respect to the modified scores of a row add up
/// to the gradient with respect to its log-sum-exp, which may be absent:
/// softmax is invariant to adding one number to all scores of a row. The same
/// holds for multiples with a factor that is uniform across the row.
class RowSums {
public:
  RowSums(BackwardOp op, Dependences &dependences)
      : gradient(op.getScoreGradient().getArgument(kGradient)),
        dependences(dependences),
        // A sink has a share of the row's probability, but no pair.
        areZero(!op.getLseGradient() && !op.getSinks()) {}

  bool isZero(ContributeOp add) {
    return areZero && isPlaceBy(add, Dependences::OnQuery, dependences) &&
           isMultiple(add.getValue());
  }

private:
  bool isOfRow(Value value) {
    return dependences.isBy(value, Dependences::OnQuery);
  }
  /// True if the value is the derivative times a factor that is uniform across
  /// the row.
  bool isMultiple(Value value);
  bool computeIsMultiple(Value value);

  Value gradient;
  Dependences &dependences;
  bool areZero;
  /// Caches results, since a chain of ops may use a value several times.
  llvm::DenseMap<Value, bool> multiples;
};
} // namespace

bool RowSums::isMultiple(Value value) {
  auto [found, isNew] = multiples.try_emplace(value, false);
  if (!isNew)
    return found->second;
  bool holds = computeIsMultiple(value);
  return multiples[value] = holds;
}

bool RowSums::computeIsMultiple(Value value) {
  if (value == gradient || matchPattern(value, m_AnyZeroFloat()))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto areMultiples = [&](ValueRange operands) {
    return llvm::all_of(operands,
                        [&](Value operand) { return isMultiple(operand); });
  };
  if (isa<arith::NegFOp, arith::AddFOp, arith::SubFOp>(op))
    return areMultiples(op->getOperands());
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return isOfRow(select.getCondition()) &&
           areMultiples({select.getTrueValue(), select.getFalseValue()});
  if (isa<arith::DivFOp>(op))
    return isMultiple(op->getOperand(0)) && isOfRow(op->getOperand(1));
  if (!isa<arith::MulFOp>(op))
    return false;
  Value left = op->getOperand(0), right = op->getOperand(1);
  return (isMultiple(left) && isOfRow(right)) ||
         (isMultiple(right) && isOfRow(left));
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

namespace {
/// A factor of a product.
struct Factor {
  enum Kind {
    Times,
    Over,
    /// Multiplies, but 0 stays 0.
    TimesUnlessZero,
    /// Selects 0 if the condition is false, or if it is true.
    Where,
    Unless
  };
  Value value;
  Kind kind;
};

/// Rewrites a contribution whose address does not depend on the query as a
/// product that ends with the factors that do not depend on it either. Products
/// with a common prefix share it.
class FactorSorter {
public:
  FactorSorter(Block &body, Dependences &dependences)
      : body(body), dependences(dependences) {}

  void sort(ContributeOp add);

private:
  /// The allowed variation of the factors at the end of a product.
  static constexpr unsigned kKept = Dependences::OnKey;

  bool isOfPair(Value value) {
    return dependences.of(value) & Dependences::OnPair;
  }
  bool isLast(Value value) { return dependences.isBy(value, kKept); }
  Value getTwo(Operation *like);
  /// Collects the factors; fails if there are too many.
  LogicalResult collect(Value value);
  LogicalResult collectProduct(Operation *product);
  LogicalResult collectChoice(arith::SelectOp select);
  /// Order of factors: the derivative, the score, then others by definition.
  /// Divisors and selects come last and keep their order: a select may guard
  /// against the result of a division.
  bool isBefore(const Factor &one, const Factor &other);
  Value multiply(OpBuilder &b, Location loc, Value product,
                 const Factor &factor);
  Value create(OpBuilder &b, Location loc, Value product, const Factor &factor);

  Block &body;
  Dependences &dependences;
  SmallVector<Factor> factors;
  bool isNegative = false;
  std::map<std::tuple<const void *, const void *, Factor::Kind>, Value> made;
};
} // namespace

/// True if the op is the sum of a value and itself, the form of the derivative
/// of a square.
static bool isDouble(Operation *op) {
  if (!isa<arith::AddFOp>(op))
    return false;
  Value left = op->getOperand(0), right = op->getOperand(1);
  auto one = left.getDefiningOp<arith::MulFOp>(),
       other = right.getDefiningOp<arith::MulFOp>();
  return left == right ||
         (one && other &&
          ((one.getLhs() == other.getLhs() && one.getRhs() == other.getRhs()) ||
           (one.getLhs() == other.getRhs() && one.getRhs() == other.getLhs())));
}

Value FactorSorter::getTwo(Operation *like) {
  OpBuilder b = OpBuilder::atBlockBegin(&body);
  return arith::ConstantOp::create(
      b, like->getLoc(), b.getFloatAttr(like->getResult(0).getType(), 2.0));
}

/// The factors of the operand with the derivative are evaluated first.
LogicalResult FactorSorter::collectProduct(Operation *product) {
  size_t begin = factors.size();
  if (failed(collect(product->getOperand(1))))
    return failure();
  size_t middle = factors.size();
  if (failed(collect(product->getOperand(0))))
    return failure();
  bool isSecondInner =
      llvm::any_of(ArrayRef(factors).slice(begin, middle - begin),
                   [&](const Factor &factor) {
                     return factor.value == body.getArgument(kGradient);
                   });
  if (isSecondInner)
    std::rotate(factors.begin() + begin, factors.begin() + middle,
                factors.end());
  return success();
}

/// Adds the factors in reverse evaluation order.
LogicalResult FactorSorter::collect(Value value) {
  Operation *op = value.getDefiningOp();
  if (factors.size() >= kMostFactors)
    return failure();
  if (op && !isLast(value)) {
    if (isDouble(op)) {
      factors.push_back({getTwo(op), Factor::Times});
      return collect(op->getOperand(0));
    }
    if (isa<arith::MulFOp>(op))
      return collectProduct(op);
    if (isa<arith::NegFOp>(op)) {
      isNegative = !isNegative;
      return collect(op->getOperand(0));
    }
    if (isa<arith::DivFOp>(op)) {
      factors.push_back({op->getOperand(1), Factor::Over});
      return collect(op->getOperand(0));
    }
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return collectChoice(select);
  }
  factors.push_back({value, Factor::Times});
  return success();
}

/// Collects the factor of a derivative rule that preserves a zero adjoint, and
/// selects between an adjoint and zero.
LogicalResult FactorSorter::collectChoice(arith::SelectOp select) {
  Value condition = select.getCondition(), ifTrue = select.getTrueValue(),
        ifFalse = select.getFalseValue();
  bool isZeroIfTrue = matchPattern(ifTrue, m_AnyZeroFloat()),
       isZeroIfFalse = matchPattern(ifFalse, m_AnyZeroFloat());
  if (!isOfPair(condition) && (isZeroIfTrue || isZeroIfFalse)) {
    factors.push_back(
        {condition, isZeroIfTrue ? Factor::Unless : Factor::Where});
    return collect(isZeroIfTrue ? ifFalse : ifTrue);
  }
  auto compare = condition.getDefiningOp<arith::CmpFOp>();
  auto product = ifFalse.getDefiningOp<arith::MulFOp>();
  if (isZeroIfTrue && compare && product &&
      compare.getPredicate() == arith::CmpFPredicate::OEQ &&
      matchPattern(compare.getRhs(), m_AnyZeroFloat()))
    for (auto [adjoint, slope] :
         {std::pair{product.getLhs(), product.getRhs()},
          std::pair{product.getRhs(), product.getLhs()}})
      if (compare.getLhs() == adjoint && !isOfPair(slope)) {
        factors.push_back({slope, Factor::TimesUnlessZero});
        return collect(adjoint);
      }
  factors.push_back({select.getResult(), Factor::Times});
  return success();
}

bool FactorSorter::isBefore(const Factor &one, const Factor &other) {
  auto getRank = [&](const Factor &factor) {
    if (factor.kind != Factor::Times)
      return 3;
    if (factor.value == body.getArgument(kGradient))
      return 0;
    return factor.value == body.getArgument(kScore) ? 1 : 2;
  };
  if (getRank(one) != getRank(other))
    return getRank(one) < getRank(other);
  if (one.kind != Factor::Times)
    return false;
  Operation *first = one.value.getDefiningOp(),
            *second = other.value.getDefiningOp();
  return first && second && first != second && first->isBeforeInBlock(second);
}

Value FactorSorter::create(OpBuilder &b, Location loc, Value product,
                           const Factor &factor) {
  Value by = factor.value;
  auto getZero = [&] {
    return arith::ConstantOp::create(b, loc,
                                     b.getFloatAttr(product.getType(), 0.0));
  };
  switch (factor.kind) {
  case Factor::Times:
    return arith::MulFOp::create(b, loc, product, by);
  case Factor::Over:
    return arith::DivFOp::create(b, loc, product, by);
  case Factor::TimesUnlessZero: {
    Value zero = getZero();
    Value isZero =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, product, zero);
    return arith::SelectOp::create(b, loc, isZero, zero,
                                   arith::MulFOp::create(b, loc, product, by));
  }
  case Factor::Where:
    return arith::SelectOp::create(b, loc, by, product, getZero());
  case Factor::Unless:
    return arith::SelectOp::create(b, loc, by, getZero(), product);
  }
  llvm_unreachable("all kinds are known");
}

Value FactorSorter::multiply(OpBuilder &b, Location loc, Value product,
                             const Factor &factor) {
  Value &value = made[{product.getAsOpaquePointer(),
                       factor.value.getAsOpaquePointer(), factor.kind}];
  if (!value)
    value = create(b, loc, product, factor);
  return value;
}

void FactorSorter::sort(ContributeOp add) {
  factors.clear();
  isNegative = false;
  if (!isPlaceBy(add, kKept, dependences) || failed(collect(add.getValue())))
    return;
  // In evaluation order. A select may guard against an infinite factor, so no
  // factor moves from before a select to after it.
  SmallVector<Factor> first, last;
  for (const Factor &factor : llvm::reverse(factors)) {
    if (isLast(factor.value)) {
      last.push_back(factor);
      continue;
    }
    bool isChoice = factor.kind != Factor::Times && factor.kind != Factor::Over;
    if (isChoice && llvm::any_of(last, [](const Factor &inner) {
          return !matchPattern(inner.value, m_Constant());
        }))
      return;
    auto *at = llvm::upper_bound(first, factor,
                                 [&](const Factor &one, const Factor &other) {
                                   return isBefore(one, other);
                                 });
    first.insert(at, factor);
  }
  bool startsWithLast = first.empty();
  factors.assign(first.begin(), first.end());
  factors.append(last.begin(), last.end());
  // The product must begin with the value that it is a multiple of.
  Type type = add.getValue().getType();
  if (startsWithLast || factors.front().kind != Factor::Times ||
      llvm::any_of(factors, [&](const Factor &factor) {
        return factor.value.getType() != type && factor.kind != Factor::Where &&
               factor.kind != Factor::Unless;
      }))
    return;
  OpBuilder b(add);
  Location loc = add.getLoc();
  Value product = factors.front().value;
  for (const Factor &factor : llvm::drop_begin(factors))
    product = multiply(b, loc, product, factor);
  if (isNegative)
    product = arith::NegFOp::create(b, loc, product);
  add.getValueMutable().assign(product);
}

void fovea::attn::simplifyContributions(BackwardOp op) {
  Block &body = op.getScoreGradient().front();
  Dependences dependences;
  RowSums sums(op, dependences);
  FactorSorter sorter(body, dependences);
  for (ContributeOp add :
       llvm::make_early_inc_range(body.getOps<ContributeOp>())) {
    if (sums.isZero(add))
      add.erase();
    else
      sorter.sort(add);
  }
}
