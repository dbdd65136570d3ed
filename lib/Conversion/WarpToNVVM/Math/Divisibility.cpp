//===- Divisibility.cpp - Known divisors of integers ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes a power of two that divides an integer, from constants, sums,
// products and induction variables. Used to prove that copies are aligned.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

// The divisor of zero; no caller needs a larger one.
static constexpr int64_t kMost = 1 << 12;
// Coordinates are short sums; deeper expressions are treated as odd.
static constexpr unsigned kMostDepth = 16;

static int64_t getDivisor(Value value, unsigned depth) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.isZero()
               ? kMost
               : int64_t(1) << std::min<unsigned>(constant.countr_zero(),
                                                  llvm::Log2_64(kMost));
  if (depth == kMostDepth)
    return 1;
  auto get = [&](Value operand) { return getDivisor(operand, depth + 1); };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop =
        dyn_cast_or_null<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar())
      return 1;
    return std::min(get(loop.getLowerBound()), get(loop.getStep()));
  }
  Operation *op = value.getDefiningOp();
  if (isa<arith::AddIOp, arith::SubIOp, arith::MaxUIOp, arith::MaxSIOp,
          arith::MinUIOp, arith::MinSIOp>(op))
    return std::min(get(op->getOperand(0)), get(op->getOperand(1)));
  if (isa<arith::MulIOp>(op))
    return std::min(kMost, get(op->getOperand(0)) * get(op->getOperand(1)));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return std::min(get(select.getTrueValue()), get(select.getFalseValue()));
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp,
          arith::ExtSIOp, arith::TruncIOp>(op))
    return get(op->getOperand(0));
  return 1;
}

bool fovea::isMultipleOf(Value value, int64_t divisor) {
  assert(llvm::isPowerOf2_64(divisor) && divisor <= kMost &&
         "expected a small power of two");
  return getDivisor(value, 0) % divisor == 0;
}
