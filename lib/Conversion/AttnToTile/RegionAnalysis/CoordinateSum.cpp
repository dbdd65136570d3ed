//===- CoordinateSum.cpp - Integers as sums of coordinates ----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionAnalysis/CoordinateSum.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

// Factors of coordinates are small enough for sums of two in 64 bits.
static constexpr int64_t kMaxFactor = int64_t(1) << 20;

void CoordinateSum::add(const CoordinateSum &other, int64_t sign) {
  row += sign * other.row;
  key += sign * other.key;
  constant += sign * other.constant;
  for (Scalar scalar : other.scalars)
    scalars.push_back({scalar.value, sign * scalar.sign});
}

CoordinateSums::CoordinateSums(Region &region,
                               const RegionDependences &dependences,
                               const RegionRanges &ranges)
    : dependences(dependences) {
  for (Operation &op : region.front().without_terminator()) {
    // Uniform values are computed once and need no sum.
    if (op.getNumResults() != 1 || dependences.isUniform(op.getResult(0)) ||
        !op.getResult(0).getType().isIntOrIndex() ||
        !ranges.fitsI32(op.getResult(0)) || ranges.mayWrap(op.getResult(0)))
      continue;
    std::optional<CoordinateSum> sum = infer(op);
    if (sum && std::abs(sum->row) <= kMaxFactor &&
        std::abs(sum->key) <= kMaxFactor)
      sums.try_emplace(op.getResult(0), std::move(*sum));
  }
}

std::optional<CoordinateSum> CoordinateSums::infer(Operation &op) const {
  bool isSum = isa<arith::AddIOp, arith::SubIOp>(op);
  if (!isSum && !isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return std::nullopt;
  std::optional<CoordinateSum> sum = find(op.getOperand(0));
  if (!sum || !isSum)
    return sum;
  std::optional<CoordinateSum> other = find(op.getOperand(1));
  if (!other)
    return std::nullopt;
  sum->add(*other, isa<arith::AddIOp>(op) ? 1 : -1);
  return sum;
}

std::optional<CoordinateSum> CoordinateSums::find(Value value) const {
  if (auto known = sums.find(value); known != sums.end())
    return known->second;
  if (isa<BlockArgument>(value)) {
    CoordinateSum coordinate;
    coordinate.row = dependences.isShifted(value, RegionDependences::OnQuery);
    coordinate.key = dependences.isShifted(value, RegionDependences::OnKey);
    return coordinate.isOfBlock() ? std::optional(coordinate) : std::nullopt;
  }
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) &&
      constant.isSignedIntN(31)) {
    CoordinateSum sum;
    sum.constant = constant.getSExtValue();
    return sum;
  }
  if (!value.getType().isIndex() || !dependences.isUniform(value))
    return std::nullopt;
  CoordinateSum sum;
  sum.scalars.push_back({value, 1});
  return sum;
}
