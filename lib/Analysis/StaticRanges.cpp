//===- StaticRanges.cpp - Ranges of integers ------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Analysis/StaticRanges.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fovea;

void StaticRanges::set(Value value, int64_t min, int64_t max) {
  unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
  ranges.insert_or_assign(value, ConstantIntRanges::fromSigned(
                                     APInt(width, min, /*isSigned=*/true),
                                     APInt(width, max, /*isSigned=*/true)));
}

/// Range of `math` ops on integers, which upstream does not infer.
static std::optional<ConstantIntRanges>
inferMathRange(Operation *op, const ConstantIntRanges &of) {
  unsigned width = of.smin().getBitWidth();
  if (isa<math::CtPopOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp>(
          op))
    return ConstantIntRanges::fromUnsigned(APInt(width, 0),
                                           APInt(width, width));
  if (!isa<math::AbsIOp>(op) || of.smin().isMinSignedValue())
    return {};
  APInt zero(width, 0);
  APInt least =
      llvm::APIntOps::smax(llvm::APIntOps::smax(of.smin(), -of.smax()), zero);
  return ConstantIntRanges::fromSigned(
      least, llvm::APIntOps::smax(-of.smin(), of.smax()));
}

const ConstantIntRanges &StaticRanges::lookup(Value value) const {
  auto known = ranges.find(value);
  if (known != ranges.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  if (auto infer = dyn_cast_or_null<InferIntRangeInterface>(op)) {
    SmallVector<ConstantIntRanges> operands;
    for (Value operand : op->getOperands())
      operands.push_back(lookup(operand));
    infer.inferResultRanges(operands,
                            [&](Value result, const ConstantIntRanges &range) {
                              ranges.insert_or_assign(result, range);
                            });
  } else if (isa_and_nonnull<math::MathDialect>(op ? op->getDialect()
                                                   : nullptr)) {
    if (auto range = inferMathRange(op, lookup(op->getOperand(0))))
      ranges.insert_or_assign(value, *range);
  }
  unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
  return ranges.try_emplace(value, ConstantIntRanges::maxRange(width))
      .first->second;
}

int64_t StaticRanges::getMin(Value value) const {
  return lookup(value).smin().getSExtValue();
}

int64_t StaticRanges::getMax(Value value) const {
  return lookup(value).smax().getSExtValue();
}

bool StaticRanges::isNonNegative(Value value) const {
  return value.getType().isIntOrIndex() && lookup(value).smin().isNonNegative();
}

bool StaticRanges::isNonZero(Value value) const {
  return !lookup(value).umin().isZero();
}

bool StaticRanges::fitsI32(Value value) const {
  const ConstantIntRanges &range = lookup(value);
  return range.smin().isSignedIntN(32) && range.smax().isSignedIntN(32);
}

bool StaticRanges::mayWrap(Value value) const {
  return lookup(value).smin().isMinSignedValue();
}

std::optional<int64_t> StaticRanges::getConstant(Value value) const {
  int64_t min = getMin(value);
  return min == getMax(value) ? std::optional<int64_t>(min) : std::nullopt;
}
