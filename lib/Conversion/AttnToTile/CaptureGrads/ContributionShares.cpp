//===- ContributionShares.cpp - Values that key tiles accumulate ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaptureGrads/ContributionShares.h"

#include "CaptureGrads/CaptureGrads.h"
#include "RegionAnalysis/RegionDependences.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

/// `value` without its last factor, if that is the same for all queries; else
/// null. attn-differentiate writes such factors last.
static Value dropFactor(Value value, const RegionDependences &dependences) {
  Operation *op = value.getDefiningOp();
  auto isOfKey = [&](Value factor) {
    constexpr unsigned kKinds =
        RegionDependences::OnKey | RegionDependences::Narrowed;
    return (dependences.of(factor) & ~kKinds) == 0;
  };
  if (!op)
    return {};
  if (isa<arith::NegFOp>(op))
    return op->getOperand(0);
  if (isa<arith::MulFOp, arith::DivFOp>(op))
    return isOfKey(op->getOperand(1)) ? op->getOperand(0) : Value();
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select)
    return {};
  Value condition = select.getCondition();
  if (isOfKey(condition)) {
    if (matchPattern(select.getFalseValue(), m_AnyZeroFloat()))
      return select.getTrueValue();
    if (matchPattern(select.getTrueValue(), m_AnyZeroFloat()))
      return select.getFalseValue();
    return {};
  }
  // A guard that keeps 0 times the factor at 0.
  auto compare = condition.getDefiningOp<arith::CmpFOp>();
  auto product = select.getFalseValue().getDefiningOp<arith::MulFOp>();
  bool isGuarded = compare && product &&
                   compare.getPredicate() == arith::CmpFPredicate::OEQ &&
                   compare.getLhs() == product.getLhs() &&
                   matchPattern(compare.getRhs(), m_AnyZeroFloat()) &&
                   matchPattern(select.getTrueValue(), m_AnyZeroFloat());
  return isGuarded && isOfKey(product.getRhs()) ? product.getLhs() : Value();
}

SmallVector<Share> fovea::getKeyShares(attn::BackwardOp op) {
  SmallVector<Share> shares;
  Region &region = op.getScoreGradient();
  if (region.empty())
    return shares;
  RegionDependences dependences(region, op.getCaptures().size());
  for (attn::ContributeOp add : getContributions(op, PairPlaces::Keys)) {
    Value value = add.getValue();
    while (Value multiplied = dropFactor(value, dependences))
      value = multiplied;
    if (llvm::none_of(shares, [&](Share one) { return one.value == value; }))
      shares.push_back({add, value});
  }
  return shares;
}

SmallVector<Share> fovea::getLeavingShares(attn::BackwardOp op) {
  return llvm::map_to_vector(getRelativeShares(op), [](attn::ContributeOp add) {
    return Share{add, add.getValue()};
  });
}

bool fovea::readsScore(Value value) {
  auto isScore = [](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument && argument.getArgNumber() == 0;
  };
  if (isScore(value))
    return true;
  if (!value.getDefiningOp())
    return false;
  BackwardSliceOptions options;
  options.inclusive = options.omitBlockArguments = true;
  llvm::SetVector<Operation *> slice;
  (void)getBackwardSlice(value, &slice, options);
  return llvm::any_of(slice, [&](Operation *op) {
    return llvm::any_of(op->getOperands(), isScore);
  });
}
