//===- RegionRanges.cpp - Ranges of region integers -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionAnalysis/RegionRanges.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace fovea;

static constexpr int64_t kMaxLength =
    attn::AttentionOpInterface::kMaxSequenceLength;

/// The range from 0 to `last`.
static ConstantIntRanges upTo(int64_t last) {
  return ConstantIntRanges::fromSigned(APInt(64, 0),
                                       APInt(64, static_cast<uint64_t>(last)));
}

RegionRanges::RegionRanges(Region &region, unsigned captures, int64_t past) {
  auto coordinates = region.getArguments().drop_back(captures);
  for (BlockArgument argument : coordinates) {
    if (!argument.getType().isIndex())
      continue;
    bool isOfScore = argument.getArgNumber() + 2 >= coordinates.size();
    ranges.try_emplace(argument, upTo(kMaxLength + (isOfScore ? past : 0)));
  }
  for (Operation &op : region.front().without_terminator())
    add(op);
}

/// Range of `math` ops on integers, which upstream does not infer.
static std::optional<ConstantIntRanges>
inferMathRange(Operation &op, const ConstantIntRanges &of) {
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

void RegionRanges::add(Operation &op) {
  if (isa<attn::QueryLengthOp, attn::KeyLengthOp>(op)) {
    ranges.insert_or_assign(op.getResult(0), upTo(kMaxLength));
    return;
  }
  if (isa<tensor::DimOp>(op)) {
    ranges.insert_or_assign(op.getResult(0),
                            upTo(std::numeric_limits<int32_t>::max()));
    return;
  }
  if (op.getNumOperands() == 1 && op.getNumResults() == 1)
    if (const ConstantIntRanges *known = find(op.getOperand(0)))
      if (auto range = inferMathRange(op, *known))
        ranges.insert_or_assign(op.getResult(0), *range);
  auto infer = dyn_cast<InferIntRangeInterface>(op);
  if (!infer)
    return;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op.getOperands()) {
    const ConstantIntRanges *known = find(operand);
    unsigned width = ConstantIntRanges::getStorageBitwidth(operand.getType());
    operands.push_back(known ? *known : ConstantIntRanges::maxRange(width));
  }
  infer.inferResultRanges(
      operands, [&](Value value, const ConstantIntRanges &range) {
        // The range of a float select has no bits.
        if (getElementTypeOrSelf(value.getType()).isIntOrIndex())
          ranges.insert_or_assign(value, range);
      });
}

const ConstantIntRanges *RegionRanges::find(Value value) const {
  auto known = ranges.find(value);
  return known == ranges.end() ? nullptr : &known->second;
}

bool RegionRanges::fitsI32(Value value) const {
  const ConstantIntRanges *range = find(value);
  return range && range->smin().isSignedIntN(32) &&
         range->smax().isSignedIntN(32);
}

bool RegionRanges::isNonNegative(Value value) const {
  const ConstantIntRanges *range = find(value);
  return range && range->smin().isNonNegative();
}

bool RegionRanges::isNonZero(Value value) const {
  const ConstantIntRanges *range = find(value);
  return range && !range->umin().isZero();
}
