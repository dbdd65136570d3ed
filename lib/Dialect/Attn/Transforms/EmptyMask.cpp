//===- EmptyMask.cpp - Masks that hide all keys ---------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmptyMask.h"

#include "fovea/Analysis/IntervalOpInterface.h"
#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;
using namespace fovea;
using namespace fovea::attn;
using Predicate = arith::CmpIPredicate;

namespace {
/// A sum of terms with factors, in a fixed order; the first factor is positive.
using Form = std::map<void *, int64_t>;

/// Ranges of sums of terms that satisfy the conditions so far.
class Constraints {
public:
  explicit Constraints(Block &mask);

  /// Adds the constraint `condition`, if it has a known form.
  void add(Value condition);
  bool isContradiction() const { return contradiction; }

private:
  LogicalResult decompose(Value value, int64_t factor, Form &form,
                          int64_t &constant);
  void addCompare(arith::CmpIOp op);
  /// The range of a sum according to types and sequence lengths.
  std::pair<int64_t, int64_t> getRange(const Form &form);
  /// Adds the constraint `least <= form + constant <= most`.
  void restrict(Form form, int64_t constant, int64_t least, int64_t most);

  static constexpr int64_t kFar = int64_t(1) << 60;
  StaticRanges ranges;
  std::map<Form, std::pair<int64_t, int64_t>> intervals;
  DenseSet<Value> seen;
  unsigned steps = 0;
  bool contradiction = false;
};
} // namespace

Constraints::Constraints(Block &mask) {
  auto coordinates =
      mask.getArguments().take_front(AttentionOpInterface::kMaskModArguments);
  for (BlockArgument argument : coordinates.take_front(2))
    ranges.set(argument, 0, INT32_MAX);
  for (BlockArgument argument : coordinates.drop_front(2))
    ranges.set(argument, 0, AttentionOpInterface::kMaxSequenceLength - 1);
}

LogicalResult Constraints::decompose(Value value, int64_t factor, Form &form,
                                     int64_t &constant) {
  if (factor == 0)
    return success();
  // Nested sums may share terms, so limit the number of steps.
  constexpr unsigned kMaxSteps = 1000;
  if (++steps > kMaxSteps)
    return failure();
  if (auto op = value.getDefiningOp<FoveaIntervalOpInterface>())
    if (FailureOr<AffineSum> sum = op.getAffineSum(ranges); succeeded(sum)) {
      int64_t product;
      if (llvm::MulOverflow(factor, sum->constant, product) ||
          llvm::AddOverflow(constant, product, constant) ||
          std::abs(constant) > kFar)
        return failure();
      for (auto [term, inner] : sum->terms)
        if (llvm::MulOverflow(factor, inner, product) ||
            std::abs(product) > kFar ||
            failed(decompose(term, product, form, constant)))
          return failure();
      return success();
    }
  int64_t own = form[value.getAsOpaquePointer()] += factor;
  if (own == 0)
    form.erase(value.getAsOpaquePointer());
  return success(std::abs(own) <= kFar);
}

std::pair<int64_t, int64_t> Constraints::getRange(const Form &form) {
  int64_t low = 0, high = 0;
  for (auto [pointer, factor] : form) {
    Value term = Value::getFromOpaquePointer(pointer);
    int64_t least, most;
    if (llvm::MulOverflow(factor, ranges.getMin(term), least) ||
        llvm::MulOverflow(factor, ranges.getMax(term), most))
      return {-kFar, kFar};
    if (factor < 0)
      std::swap(least, most);
    if (llvm::AddOverflow(low, least, low) ||
        llvm::AddOverflow(high, most, high))
      return {-kFar, kFar};
  }
  return {std::max(low, -kFar), std::min(high, kFar)};
}

void Constraints::restrict(Form form, int64_t constant, int64_t least,
                           int64_t most) {
  least -= least == -kFar ? 0 : constant;
  most -= most == kFar ? 0 : constant;
  if (!form.empty() && form.begin()->second < 0) {
    for (auto &[term, factor] : form)
      factor = -factor;
    std::tie(least, most) = std::pair(-most, -least);
  }
  auto [known, isNew] = intervals.try_emplace(form);
  auto &[low, high] = known->second;
  if (isNew)
    known->second = getRange(form);
  low = std::max(low, least);
  high = std::min(high, most);
  contradiction |= low > high;
}

void Constraints::addCompare(arith::CmpIOp op) {
  if (op.getLhs().getType().isInteger(1))
    return;
  Form form, left;
  int64_t constant = 0, offset = 0;
  steps = 0;
  if (failed(decompose(op.getLhs(), 1, form, constant)) ||
      failed(decompose(op.getRhs(), -1, form, constant)) ||
      failed(decompose(op.getLhs(), 1, left, offset)))
    return;
  bool isNonNegative =
      ranges.isNonNegative(op.getLhs()) && ranges.isNonNegative(op.getRhs());
  switch (op.getPredicate()) {
  case Predicate::eq:
    return restrict(form, constant, 0, 0);
  case Predicate::ne:
    if (form.empty() && constant == 0)
      contradiction = true;
    return;
  case Predicate::slt:
    return restrict(form, constant, -kFar, -1);
  case Predicate::sle:
    return restrict(form, constant, -kFar, 0);
  case Predicate::sgt:
    return restrict(form, constant, 1, kFar);
  case Predicate::sge:
    return restrict(form, constant, 0, kFar);
  case Predicate::ugt:
    return isNonNegative ? restrict(form, constant, 1, kFar) : void();
  case Predicate::uge:
    return isNonNegative ? restrict(form, constant, 0, kFar) : void();
  case Predicate::ult:
  case Predicate::ule:
    // `x <u n` with n >= 0 means 0 <= x < n.
    if (!ranges.isNonNegative(op.getRhs()))
      return;
    restrict(left, offset, 0, kFar);
    return restrict(form, constant, -kFar,
                    op.getPredicate() == Predicate::ult ? -1 : 0);
  }
}

void Constraints::add(Value condition) {
  if (!seen.insert(condition).second)
    return;
  if (matchPattern(condition, m_Zero()))
    contradiction = true;
  Operation *op = condition.getDefiningOp();
  if (auto both = dyn_cast_or_null<arith::AndIOp>(op)) {
    add(both.getLhs());
    add(both.getRhs());
  } else if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op)) {
    addCompare(compare);
  }
}

bool fovea::attn::hidesEverything(Block &mask) {
  Constraints constraints(mask);
  constraints.add(mask.getTerminator()->getOperand(0));
  return constraints.isContradiction();
}
