//===- ContributionSums.cpp - What contributions add up to ------*- C++ -*-===//
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

// Products of more factors are left as they are.
static constexpr size_t kMostFactors = 16;

/// Arguments of score_gradient by number: score, derivative, b, h, i, j.
enum GradientArgument : unsigned {
  kScore = 0,
  kGradient = 1,
  kQuery = 4,
  kKey = 5
};

namespace {
/// What values of score_gradient differ by, beside batch entry and head.
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
  /// Whether `value` differs by nothing but `kinds`.
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
// Factors
//===----------------------------------------------------------------------===//

namespace {
/// What a product is multiplied by.
struct Factor {
  enum Kind {
    Times,
    Over,
    /// Times it, but 0 stays 0.
    TimesUnlessZero,
    /// 0 where the condition does not hold, or where it does.
    Where,
    Unless
  };
  Value value;
  Kind kind;
};

/// Writes a contribution whose place does not depend on the query as a product
/// that ends with what does not depend on it either. Products of contributions
/// that begin alike share their beginning.
class FactorSorter {
public:
  FactorSorter(Block &body, Dependences &dependences)
      : body(body), dependences(dependences) {}

  void sort(ContributeOp add);

private:
  /// What factors at the end of a product differ by.
  static constexpr unsigned kKept = Dependences::OnKey;

  bool isOfPair(Value value) {
    return dependences.of(value) & Dependences::OnPair;
  }
  bool isLast(Value value) { return dependences.isBy(value, kKept); }
  Value getTwo(Operation *like);
  /// Fails if there are too many.
  LogicalResult collect(Value value);
  LogicalResult collectChoice(arith::SelectOp select);
  /// By the derivative first, then by the score, then as they are computed.
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

/// Whether the op adds up a value and itself, as the derivative of a square is
/// written.
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
      return success(succeeded(collect(op->getOperand(0))) &&
                     succeeded(collect(op->getOperand(1))));
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

/// What a rule of derivatives multiplies by, unless the adjoint is zero; and
/// choices between an adjoint and zero.
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
  // A choice guards a factor that may be infinite where the product so far is
  // zero: in another order zero would meet it.
  if (llvm::any_of(factors, [](const Factor &factor) {
        return factor.kind != Factor::Times;
      }))
    return;
  // The last ones stay behind the others; factors of a kind keep their order.
  SmallVector<Factor> first, behind;
  for (const Factor &factor : factors) {
    if (isLast(factor.value)) {
      behind.push_back(factor);
      continue;
    }
    auto *at = llvm::upper_bound(first, factor,
                                 [&](const Factor &one, const Factor &other) {
                                   return isBefore(one, other);
                                 });
    first.insert(at, factor);
  }
  bool startsWithLast = first.empty();
  factors.assign(first.begin(), first.end());
  factors.append(behind.begin(), behind.end());
  // A product begins with what it is the multiple of.
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
  FactorSorter sorter(body, dependences);
  for (ContributeOp add : body.getOps<ContributeOp>())
    sorter.sort(add);
}
