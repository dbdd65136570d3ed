//===- SharedKeyIndex.cpp - Indices shared by adjacent keys ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionAnalysis/SharedKeyIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

std::optional<int64_t> fovea::getKeyChunk(Value index, BlockArgument key) {
  // Keys are non-negative, so all kinds of division are equal.
  Operation *op = index.getDefiningOp();
  APInt constant;
  if (!isa_and_nonnull<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp,
                       arith::ShRUIOp, arith::ShRSIOp>(op) ||
      op->getOperand(0) != key ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&constant)) ||
      constant.isNonPositive() || constant.getActiveBits() > 31)
    return std::nullopt;
  int64_t count = constant.getSExtValue();
  if (isa<arith::ShRUIOp, arith::ShRSIOp>(op)) {
    if (count > 30)
      return std::nullopt;
    count = int64_t(1) << count;
  }
  if (count < kLeastKeyChunk)
    return std::nullopt;
  return count;
}
