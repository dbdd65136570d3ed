//===- BoundedDerivatives.cpp - Finite derivatives ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionAnalysis/BoundedDerivatives.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>
#include <optional>

using namespace mlir;
using namespace fovea;

// Larger bounds are treated as unknown. All integers are less, and f32 is far
// from infinite.
static constexpr double kLargest = 0x1p65;
// Bound assumed for products of Q and K.
static constexpr double kLargestScore = 0x1p31;

static std::optional<double> getConstant(Value value) {
  FloatAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant.getValueAsDouble();
  return std::nullopt;
}

namespace {
/// Facts about values of score_gradient, which also hold for masked pairs:
/// scores are products of memory contents or of zeros, but values computed from
/// positions or captured values may be anything. Facts are cached, since a
/// value may be used twice along a chain of ops.
class BoundedDerivatives {
public:
  BoundedDerivatives(Value score, Value variable)
      : score(score), variable(variable) {
    // Arguments that vary between the pairs of a head; b and h do not.
    constexpr unsigned kQueryArgument = 4;
    Block *block = cast<BlockArgument>(variable).getOwner();
    for (BlockArgument argument : {block->getArgument(0), block->getArgument(1),
                                   block->getArgument(kQueryArgument),
                                   block->getArgument(kQueryArgument + 1)})
      uniform[argument] = false;
  }

  /// True if `value` is the variable times a finite value.
  bool isMultiple(Value value);

private:
  /// Upper bound of the absolute value; none if it is unknown or may be NaN.
  std::optional<double> findBound(Value value);
  /// True if `value` is not NaN (but may be infinite) if the score is not.
  bool isNumber(Value value);
  std::optional<double> computeBound(Value value);
  bool computeIsNumber(Value value);
  bool computeIsMultiple(Value value);
  /// True if `value` is the same for all pairs of a head: if it is infinite, so
  /// are the head's scores.
  bool isUniform(Value value);
  bool computeIsUniform(Value value);
  /// Bounds of the float operands; none if one has none.
  std::optional<SmallVector<double, 3>> findOfOperands(Operation *op);

  Value score, variable;
  llvm::DenseMap<Value, std::optional<double>> bounds;
  llvm::DenseMap<Value, bool> numbers, multiples, uniform;
};

/// Looks `value` up in `known`; else computes and stores it.
template <typename T>
T lookupOr(llvm::DenseMap<Value, T> &known, Value value,
           function_ref<T(Value)> compute) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  T made = compute(value);
  known[value] = made;
  return made;
}
} // namespace

std::optional<double> BoundedDerivatives::findBound(Value value) {
  return lookupOr<std::optional<double>>(
      bounds, value, [&](Value of) { return computeBound(of); });
}

bool BoundedDerivatives::isNumber(Value value) {
  return lookupOr<bool>(numbers, value,
                        [&](Value of) { return computeIsNumber(of); });
}

bool BoundedDerivatives::isMultiple(Value value) {
  return lookupOr<bool>(multiples, value,
                        [&](Value of) { return computeIsMultiple(of); });
}

bool BoundedDerivatives::isUniform(Value value) {
  return lookupOr<bool>(uniform, value,
                        [&](Value of) { return computeIsUniform(of); });
}

bool BoundedDerivatives::computeIsUniform(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  return op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isUniform(operand); });
}

bool BoundedDerivatives::computeIsNumber(Value value) {
  if (value == score || findBound(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto isScaled = [&](Value operand, Value factor) {
    std::optional<double> constant = getConstant(factor);
    return constant && *constant != 0 && std::isfinite(*constant) &&
           isNumber(operand);
  };
  if (isa<arith::MulFOp>(op))
    return isScaled(op->getOperand(0), op->getOperand(1)) ||
           isScaled(op->getOperand(1), op->getOperand(0));
  if (isa<arith::DivFOp>(op))
    return isScaled(op->getOperand(0), op->getOperand(1));
  // The sum of two infinite values may be NaN.
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return (isNumber(op->getOperand(0)) && findBound(op->getOperand(1))) ||
           (isNumber(op->getOperand(1)) && findBound(op->getOperand(0)));
  return isa<arith::NegFOp, math::AbsFOp>(op) && isNumber(op->getOperand(0));
}

std::optional<SmallVector<double, 3>>
BoundedDerivatives::findOfOperands(Operation *op) {
  SmallVector<double, 3> of;
  for (Value operand : op->getOperands()) {
    if (!isa<FloatType>(operand.getType()))
      continue;
    std::optional<double> bound = findBound(operand);
    if (!bound)
      return std::nullopt;
    of.push_back(*bound);
  }
  return of;
}

std::optional<double> BoundedDerivatives::computeBound(Value value) {
  if (std::optional<double> constant = getConstant(value))
    return std::abs(*constant) < kLargest ? std::optional(std::abs(*constant))
                                          : std::nullopt;
  if (value == score)
    return kLargestScore;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isa<math::TanhOp, math::ErfOp>(op))
    return isNumber(op->getOperand(0)) ? std::optional(1.0) : std::nullopt;
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op))
    return std::ldexp(1.0, op->getOperand(0).getType().getIntOrFloatBitWidth());
  std::optional<SmallVector<double, 3>> of = findOfOperands(op);
  if (!of)
    return std::nullopt;
  double bound = kLargest;
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    bound = (*of)[0] + (*of)[1];
  else if (isa<arith::MulFOp>(op))
    bound = (*of)[0] * (*of)[1];
  else if (isa<math::FmaOp>(op))
    bound = (*of)[0] * (*of)[1] + (*of)[2];
  else if (isa<arith::SelectOp, arith::MaximumFOp, arith::MinimumFOp>(op))
    bound = std::max((*of)[0], (*of)[1]);
  else if (isa<arith::NegFOp, math::AbsFOp>(op))
    bound = (*of)[0];
  return bound < kLargest ? std::optional(bound) : std::nullopt;
}

bool BoundedDerivatives::computeIsMultiple(Value value) {
  if (value == variable)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto isMultipleOrZero = [&](Value operand) {
    return getConstant(operand) == 0.0 || isMultiple(operand);
  };
  if (isa<arith::MulFOp>(op)) {
    Value left = op->getOperand(0), right = op->getOperand(1);
    auto isFactor = [&](Value factor) {
      return findBound(factor) || isUniform(factor);
    };
    return (isFactor(right) && isMultiple(left)) ||
           (isFactor(left) && isMultiple(right));
  }
  if (isa<arith::DivFOp>(op)) {
    std::optional<double> divisor = getConstant(op->getOperand(1));
    bool isFinite = divisor ? std::abs(*divisor) > 1 / kLargest
                            : isUniform(op->getOperand(1));
    return isFinite && isMultiple(op->getOperand(0));
  }
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return isMultipleOrZero(select.getTrueValue()) &&
           isMultipleOrZero(select.getFalseValue());
  return isa<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isMultiple(operand); });
}

bool fovea::isFiniteMultiple(Value value, Value variable) {
  Value score = cast<BlockArgument>(variable).getOwner()->getArgument(0);
  return BoundedDerivatives(score, variable).isMultiple(value);
}
