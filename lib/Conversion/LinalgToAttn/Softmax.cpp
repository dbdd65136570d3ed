//===- Softmax.cpp - Match softmax by semantics ---------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In any form, a softmax is
//
//   e[j] / sum_j e[j]    with e[j] = exp(x[j] - c)
//
// where c, usually a maximum, is the same for all j and cancels.
//
//===----------------------------------------------------------------------===//

#include "Match.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea::raising;

namespace {
/// A numerator and a divisor.
struct Quotient {
  Value numerator, divisor;
};
} // namespace

static std::optional<Quotient> getQuotient(Value value) {
  if (auto division = value.getDefiningOp<arith::DivFOp>())
    return Quotient{division.getLhs(), division.getRhs()};
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  for (unsigned side : {0, 1}) {
    auto inverse = product->getOperand(side).getDefiningOp<arith::DivFOp>();
    if (inverse && getConstantFloat(inverse.getLhs()) == 1.0)
      return Quotient{product->getOperand(1 - side), inverse.getRhs()};
  }
  return std::nullopt;
}

/// The op that computes a leaf, if it is a reduction over one loop.
static linalg::LinalgOp getReduction(const Leaf *leaf) {
  if (!leaf || leaf->kind != Leaf::Kind::Element)
    return {};
  auto op = leaf->source.getDefiningOp<linalg::LinalgOp>();
  if (!op || !op.hasPureTensorSemantics() || op.getNumReductionLoops() != 1)
    return {};
  return op;
}

/// The element that a sum over keys adds at the key; null if it is not such a
/// sum.
static Value getSummandAtKey(Expression &expression, const Leaf &leaf,
                             linalg::LinalgOp op, const AxisList &keys) {
  auto result = cast<OpResult>(leaf.source);
  Value summand = getSummand(op, result.getResultNumber());
  auto loops = getLoopPositions(op, result, leaf.positions);
  if (!summand || !loops)
    return {};
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  (*loops)[reductions.front()].axes = keys;
  return expression.getBodyValue(op, *loops, summand);
}

static bool isZeroAtStart(Expression &expression, const Leaf &leaf,
                          linalg::LinalgOp op) {
  auto result = cast<OpResult>(leaf.source);
  Value initial = expression.getElement(
      op.getDpsInitOperand(result.getResultNumber())->get(), leaf.positions);
  return initial && getConstantFloat(initial) == 0.0;
}

static bool dependsOn(Expression &expression, Value value,
                      const AxisList &axes) {
  llvm::SmallBitVector used = expression.getAxesOf(value);
  return llvm::any_of(axes, [&](unsigned axis) { return used.test(axis); });
}

/// The operand of an exponential, without a subtrahend that is uniform across
/// keys.
static Value getExponent(Expression &expression, Value numerator,
                         const AxisList &keys) {
  auto exponential = numerator.getDefiningOp<math::ExpOp>();
  if (!exponential)
    return {};
  Value exponent = exponential.getOperand();
  auto difference = exponent.getDefiningOp<arith::SubFOp>();
  if (difference && !dependsOn(expression, difference.getRhs(), keys))
    return difference.getLhs();
  return exponent;
}

static Softmax matchQuotient(Expression &expression, Quotient quotient,
                             const AxisList &keys,
                             std::optional<Missed> &missed) {
  const Leaf *leaf = expression.getLeaf(quotient.divisor);
  linalg::LinalgOp sum = getReduction(leaf);
  if (!sum || !quotient.numerator.getDefiningOp<math::ExpOp>())
    return {};
  // Copied, because creating elements may add leaves.
  Leaf divisor = *leaf;
  if (dependsOn(expression, quotient.divisor, keys)) {
    missed = {sum, "the softmax is not over the dimension that the second "
                   "contraction sums over"};
    return {};
  }
  Value summand = getSummandAtKey(expression, divisor, sum, keys);
  if (summand != quotient.numerator) {
    missed = {sum, "exponentials are not divided by their sum"};
    return {};
  }
  if (!isZeroAtStart(expression, divisor, sum)) {
    missed = {sum, "the sum of exponentials does not start at 0"};
    return {};
  }
  return {getExponent(expression, quotient.numerator, keys)};
}

static Softmax matchNamed(Expression &expression, const Leaf &leaf,
                          linalg::SoftmaxOp op, const AxisList &keys,
                          std::optional<Missed> &missed) {
  if (leaf.positions[op.getDimension()].axes != keys) {
    missed = {op, "the softmax is not over the dimension that the second "
                  "contraction sums over"};
    return {};
  }
  return {expression.getElement(op.getInput(), leaf.positions)};
}

static linalg::SoftmaxOp getNamedSoftmax(const Leaf *leaf) {
  if (!leaf || leaf->kind != Leaf::Kind::Element)
    return {};
  return leaf->source.getDefiningOp<linalg::SoftmaxOp>();
}

/// Reports the op between a softmax and the second contraction, if there is a
/// softmax.
static void findChangedWeights(Expression &expression, Value weight,
                               const AxisList &keys,
                               std::optional<Missed> &missed) {
  for (Value part : expression.getSlice(weight)) {
    std::optional<Missed> ignored;
    Operation *softmax = getNamedSoftmax(expression.getLeaf(part));
    if (!softmax)
      if (auto quotient = getQuotient(part))
        if (matchQuotient(expression, *quotient, keys, ignored).x)
          softmax = part.getDefiningOp();
    if (!softmax)
      continue;
    std::string name = weight.getDefiningOp()->getName().getStringRef().str();
    missed = {nullptr,
              "'" + name +
                  "' modifies the probabilities between the softmax and the "
                  "second contraction"};
    return;
  }
}

Softmax fovea::raising::matchSoftmax(Expression &expression, Value weight,
                                     const AxisList &keys,
                                     std::optional<Missed> &missed) {
  const Leaf *leaf = expression.getLeaf(weight);
  if (linalg::SoftmaxOp op = getNamedSoftmax(leaf))
    return matchNamed(expression, Leaf(*leaf), op, keys, missed);
  if (leaf)
    return {};
  if (std::optional<Quotient> quotient = getQuotient(weight)) {
    Softmax softmax = matchQuotient(expression, *quotient, keys, missed);
    if (softmax.x || missed)
      return softmax;
  }
  findChangedWeights(expression, weight, keys, missed);
  return {};
}
