//===- ExactFloats.cpp - Floats that need exact rounding ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionAnalysis/ExactFloats.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

/// True if the smallest change of a float operand may change the result by
/// more.
static bool isDiscontinuous(Operation *op) {
  return isa<arith::CmpFOp, arith::FPToSIOp, arith::FPToUIOp, arith::RemFOp,
             math::FloorOp, math::CeilOp, math::TruncOp, math::RoundOp,
             math::RoundEvenOp>(op);
}

llvm::DenseSet<Value> fovea::findExactValues(Region &region) {
  llvm::DenseSet<Value> exact;
  for (Operation &op : llvm::reverse(region.front())) {
    bool isNeeded = isDiscontinuous(&op) ||
                    llvm::any_of(op.getResults(),
                                 [&](Value v) { return exact.contains(v); });
    if (!isNeeded)
      continue;
    for (Value operand : op.getOperands())
      if (isa<FloatType>(operand.getType()))
        exact.insert(operand);
  }
  return exact;
}
