//===- RegionForms.cpp - Sums in score_mod -----------------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionToTile.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

// More terms than any bias has; keeps what a definition can ask for linear.
static constexpr unsigned kMaxTerms = 16;
// Factors of coordinates stay so small that sums of two fit 64 bits.
static constexpr int64_t kMaxCoordinateFactor = int64_t(1) << 20;

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

std::optional<RegionToTile::CoordinateSum>
RegionToTile::getCoordinates(Value regionValue) {
  if (auto found = coordinates.find(regionValue); found != coordinates.end())
    return found->second;
  if (auto argument = dyn_cast<BlockArgument>(regionValue)) {
    auto unit = affine.find(regionValue);
    if (unit == affine.end())
      return std::nullopt;
    bool isQuery = unit->second.dim == getQueryDim();
    return CoordinateSum{isQuery, !isQuery, 0, {}};
  }
  APInt constant;
  if (matchPattern(regionValue, m_ConstantInt(&constant)) &&
      constant.isSignedIntN(31))
    return CoordinateSum{0, 0, constant.getSExtValue(), {}};
  if (regionValue.getType().isIndex() && isUniform(regionValue))
    return CoordinateSum{0, 0, 0, asIndex(regionValue)};
  return std::nullopt;
}

void RegionToTile::noteCoordinates(Operation *op) {
  // Results that may have wrapped around are not sums. What is inferred for
  // those is all that the type can hold.
  if (!invariant || op->getNumResults() != 1 || !fitsI32(op->getResult(0)))
    return;
  auto range = ranges.find(op->getResult(0));
  if (range->second.smin().getSExtValue() <=
      std::numeric_limits<int32_t>::min())
    return;
  SmallVector<CoordinateSum, 2> operands;
  for (Value operand : op->getOperands()) {
    std::optional<CoordinateSum> sum = getCoordinates(operand);
    if (!sum)
      return;
    operands.push_back(*sum);
  }
  CoordinateSum result;
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op)) {
    result = operands[0];
  } else if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    int64_t sign = isa<arith::AddIOp>(op) ? 1 : -1;
    result = operands[0];
    result.query += sign * operands[1].query;
    result.key += sign * operands[1].key;
    result.constant += sign * operands[1].constant;
    Value right = operands[1].uniform;
    if (right && !result.uniform && sign < 0)
      result.uniform =
          arith::ConstantIndexOp::create(*invariant, op->getLoc(), 0);
    if (right && !result.uniform)
      result.uniform = right;
    else if (right && sign > 0)
      result.uniform = arith::AddIOp::create(*invariant, op->getLoc(),
                                             result.uniform, right);
    else if (right)
      result.uniform = arith::SubIOp::create(*invariant, op->getLoc(),
                                             result.uniform, right);
  } else {
    return;
  }
  if (std::abs(result.query) > kMaxCoordinateFactor ||
      std::abs(result.key) > kMaxCoordinateFactor)
    return;
  if (result.uniform)
    noteWidth(op->getResult(0));
  coordinates.try_emplace(op->getResult(0), result);
}

/// The integer as a float, apart for what differs within the block: sums of
/// small integers are exact, and only the block's own part is rounded.
std::optional<ScoreForm> RegionToTile::convertCoordinates(arith::SIToFPOp op) {
  std::optional<CoordinateSum> sum = getCoordinates(op.getIn());
  if (!sum || !op.getType().isF32() || (sum->query == 0 && sum->key == 0))
    return std::nullopt;
  Location loc = op.getLoc();
  Value base = arith::ConstantIndexOp::create(builder, loc, sum->constant);
  auto add = [&](Value value, int64_t factor) {
    if (factor == 0)
      return;
    Value scaled = value;
    if (std::abs(factor) != 1)
      scaled = arith::MulIOp::create(
          builder, loc, value,
          arith::ConstantIndexOp::create(builder, loc, std::abs(factor)));
    base = factor > 0
               ? arith::AddIOp::create(builder, loc, base, scaled).getResult()
               : arith::SubIOp::create(builder, loc, base, scaled).getResult();
  };
  add(context.key, sum->key);
  add(context.row, sum->query);
  if (sum->uniform)
    add(sum->uniform, 1);
  Value narrow =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), base);
  ScoreForm form;
  form.uniform.push_back(
      {arith::SIToFPOp::create(builder, loc, builder.getF32Type(), narrow),
       {}});
  auto &keySteps = context.rowsAreKeys ? form.rowSteps : form.columnSteps;
  auto &querySteps = context.rowsAreKeys ? form.columnSteps : form.rowSteps;
  if (sum->key)
    keySteps.push_back({double(sum->key), {}});
  if (sum->query)
    querySteps.push_back({double(sum->query), {}});
  return form;
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

ScoreFormEmitter RegionToTile::getEmitter(Location loc) {
  return {builder, *invariant, loc, context.rows, context.columns};
}

ScoreForm RegionToTile::getForm(Value regionValue) {
  if (auto found = forms.find(regionValue); found != forms.end())
    return found->second;
  if (Value made = diagonals.lookup(regionValue))
    return ScoreForm::ofDiagonals(made);
  return ScoreForm::of(mapping.lookup(regionValue));
}

std::optional<Factor> RegionToTile::getFactor(Value regionValue) {
  FloatAttr constant;
  if (matchPattern(regionValue, m_Constant(&constant)))
    return Factor{constant.getValueAsDouble(), {}};
  if (isUniform(regionValue))
    return Factor{1.0, mapping.lookup(regionValue)};
  return std::nullopt;
}

Value RegionToTile::lookup(Value regionValue) {
  if (Value made = diagonals.lookup(regionValue)) {
    if (Value known = mapping.lookupOrNull(regionValue))
      return known;
    RankedTensorType type = tileType({context.rows, context.columns},
                                     getElementTypeOrSelf(made.getType()));
    Value full =
        tile::DiagonalsOp::create(builder, regionValue.getLoc(), type, made);
    mapping.map(regionValue, full);
    return full;
  }
  auto form = forms.find(regionValue);
  if (form == forms.end())
    return mapping.lookup(regionValue);
  Value value = getEmitter(regionValue.getLoc()).emit(form->second);
  // From now on it is a tile like any other.
  forms.erase(form);
  mapping.map(regionValue, value);
  return value;
}

bool RegionToTile::noteForm(Operation *op) {
  if (!invariant || op->getNumResults() != 1 ||
      !op->getResult(0).getType().isF32())
    return false;
  Value result = op->getResult(0);
  // A sum of coordinates is exact, whichever way it is computed.
  if (exact.contains(result) && !isa<arith::SIToFPOp>(op))
    return false;
  std::optional<ScoreForm> form;
  if (auto convert = dyn_cast<arith::SIToFPOp>(op)) {
    form = convertCoordinates(convert);
  } else if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    form = getForm(op->getOperand(0));
    form->add(getForm(op->getOperand(1)), isa<arith::AddFOp>(op) ? 1.0 : -1.0);
  } else if (isa<arith::NegFOp>(op)) {
    form.emplace();
    form->add(getForm(op->getOperand(0)), -1.0);
  } else if (isa<arith::MulFOp>(op)) {
    for (auto [value, by] : {std::pair(op->getOperand(0), op->getOperand(1)),
                             std::pair(op->getOperand(1), op->getOperand(0))})
      if (std::optional<Factor> factor = getFactor(by); factor && !form)
        form = getEmitter(op->getLoc()).scale(getForm(value), *factor);
  } else if (isa<arith::DivFOp>(op)) {
    std::optional<Factor> divisor = getFactor(op->getOperand(1));
    if (divisor && !divisor->scalar && divisor->constant != 0.0)
      form =
          getEmitter(op->getLoc())
              .scale(getForm(op->getOperand(0)), {1.0 / divisor->constant, {}});
  }
  if (!form || form->size() > kMaxTerms)
    return false;
  form->setLoc(op->getLoc());
  forms.try_emplace(result, std::move(*form));
  return true;
}
