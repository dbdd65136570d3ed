//===- SafeDivision.cpp - Divisions that cannot fault ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionAnalysis/SafeDivision.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

bool fovea::isIntegerDivision(Operation *op) {
  return isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
             arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemSIOp,
             arith::RemUIOp>(op);
}

Value fovea::emitHarmlessDivisor(OpBuilder &b, Location loc, Value divisor,
                                 bool isNonNegative) {
  auto makeConstant = [&](int64_t value) -> Value {
    TypedAttr attr =
        b.getIntegerAttr(getElementTypeOrSelf(divisor.getType()), value);
    if (auto tile = dyn_cast<RankedTensorType>(divisor.getType()))
      attr = DenseElementsAttr::get(tile, static_cast<Attribute>(attr));
    return arith::ConstantOp::create(b, loc, attr);
  };
  if (isNonNegative)
    return arith::MaxUIOp::create(b, loc, divisor, makeConstant(1));
  Value isZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                       divisor, makeConstant(0));
  return arith::SelectOp::create(b, loc, isZero, makeConstant(1), divisor);
}
