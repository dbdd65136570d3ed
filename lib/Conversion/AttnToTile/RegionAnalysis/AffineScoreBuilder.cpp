//===- AffineScoreBuilder.cpp - Affine sums in score_mod ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionAnalysis/AffineScoreBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

// More terms than any bias has; keeps the cost linear in the size of the
// region.
static constexpr unsigned kMaxTerms = 16;

AffineScoreEmitter AffineScoreBuilder::getEmitter(Location loc) const {
  return {emitter.builder, emitter.scalars, loc, emitter.context.rows,
          emitter.context.columns};
}

AffineScore AffineScoreBuilder::get(Value value) const {
  if (auto found = forms.find(value); found != forms.end())
    return found->second;
  if (Value made = emitter.values.lookupRelative(value))
    return AffineScore::ofDiagonals(made);
  return AffineScore::of(emitter.values.lookup(value));
}

void AffineScoreBuilder::emit(Value value) {
  auto form = forms.find(value);
  emitter.values.map(value, getEmitter(value.getLoc()).emit(form->second));
  forms.erase(form);
}

std::optional<Factor> AffineScoreBuilder::getFactor(Value value) const {
  FloatAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return Factor{constant.getValueAsDouble(), {}};
  if (emitter.values.isUniform(value))
    return Factor{1.0, emitter.values.lookup(value)};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value AffineScoreBuilder::emitScalars(Location loc, const CoordinateSum &sum) {
  OpBuilder &b = emitter.scalars;
  Value total;
  for (auto [value, sign] : sum.scalars) {
    Value scalar = emitter.asIndex(value);
    if (!total && sign > 0) {
      total = scalar;
      continue;
    }
    if (!total)
      total = arith::ConstantIndexOp::create(b, loc, 0);
    total = sign > 0 ? arith::AddIOp::create(b, loc, total, scalar).getResult()
                     : arith::SubIOp::create(b, loc, total, scalar);
  }
  return total;
}

Value AffineScoreBuilder::emitFirst(Location loc, const CoordinateSum &sum) {
  OpBuilder &b = emitter.builder;
  Value scalars = emitScalars(loc, sum);
  Value base = arith::ConstantIndexOp::create(b, loc, sum.constant);
  auto add = [&](Value value, int64_t factor) {
    if (factor == 0)
      return;
    Value scaled = value;
    if (std::abs(factor) != 1)
      scaled = arith::MulIOp::create(
          b, loc, value,
          arith::ConstantIndexOp::create(b, loc, std::abs(factor)));
    base = factor > 0 ? arith::AddIOp::create(b, loc, base, scaled).getResult()
                      : arith::SubIOp::create(b, loc, base, scaled);
  };
  add(emitter.context.key, sum.key);
  add(emitter.context.row, sum.row);
  if (scalars)
    add(scalars, 1);
  return arith::IndexCastOp::create(b, loc, b.getI32Type(), base);
}

/// Converts the integer to a float as uniform start plus steps: sums of small
/// integers are exact, and only the block's start is rounded.
std::optional<AffineScore> AffineScoreBuilder::convert(arith::SIToFPOp op) {
  std::optional<CoordinateSum> sum = integers.find(op.getIn());
  if (!sum || !sum->isOfBlock())
    return std::nullopt;
  OpBuilder &b = emitter.builder;
  Value first = arith::SIToFPOp::create(b, op.getLoc(), b.getF32Type(),
                                        emitFirst(op.getLoc(), *sum));
  AffineScore form;
  form.uniform.push_back({first, {}, /*isOfBlock=*/true});
  bool rowsAreKeys = emitter.context.rowsAreKeys;
  auto &keySteps = rowsAreKeys ? form.rowSteps : form.columnSteps;
  auto &querySteps = rowsAreKeys ? form.columnSteps : form.rowSteps;
  if (sum->key)
    keySteps.push_back({double(sum->key), {}});
  if (sum->row)
    querySteps.push_back({double(sum->row), {}});
  return form;
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// Inverted once per block, so that pairs only multiply.
Factor AffineScoreBuilder::invert(Location loc, Factor divisor) const {
  Factor inverse{1.0 / divisor.constant, {}};
  if (!divisor.scalar)
    return inverse;
  OpBuilder &b = emitter.scalars;
  Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1.0f));
  inverse.scalar = arith::DivFOp::create(b, loc, one, divisor.scalar);
  return inverse;
}

/// A product with, or a quotient by, a uniform value.
std::optional<AffineScore> AffineScoreBuilder::inferProduct(Operation *op) {
  Value left = op->getOperand(0), right = op->getOperand(1);
  AffineScoreEmitter products = getEmitter(op->getLoc());
  if (isa<arith::DivFOp>(op)) {
    std::optional<Factor> divisor = getFactor(right);
    if (!divisor || divisor->constant == 0.0)
      return std::nullopt;
    return products.scale(get(left), invert(op->getLoc(), *divisor));
  }
  if (std::optional<Factor> factor = getFactor(right))
    return products.scale(get(left), *factor);
  if (std::optional<Factor> factor = getFactor(left))
    return products.scale(get(right), *factor);
  return std::nullopt;
}

std::optional<AffineScore> AffineScoreBuilder::infer(Operation *op) {
  // A sum of coordinates is exact in any order.
  if (auto cast = dyn_cast<arith::SIToFPOp>(op))
    return convert(cast);
  if (emitter.exact.contains(op->getResult(0)))
    return std::nullopt;
  if (isa<arith::MulFOp, arith::DivFOp>(op))
    return inferProduct(op);
  AffineScore form;
  if (isa<arith::NegFOp>(op)) {
    form.add(get(op->getOperand(0)), -1.0);
    return form;
  }
  if (!isa<arith::AddFOp, arith::SubFOp>(op))
    return std::nullopt;
  form = get(op->getOperand(0));
  form.add(get(op->getOperand(1)), isa<arith::AddFOp>(op) ? 1.0 : -1.0);
  return form;
}

bool AffineScoreBuilder::note(Operation *op) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isF32())
    return false;
  std::optional<AffineScore> form = infer(op);
  if (!form || form->size() > kMaxTerms)
    return false;
  form->setLoc(op->getLoc());
  forms.try_emplace(op->getResult(0), std::move(*form));
  return true;
}
