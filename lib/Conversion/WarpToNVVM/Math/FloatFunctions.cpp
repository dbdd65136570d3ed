//===- FloatFunctions.cpp - Elementary functions of f32 -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements `FloatEmitter`, which emits the arithmetic of the elementary
// functions.
//
//===----------------------------------------------------------------------===//

#include "Math/FloatFunctions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace fovea;

Value FloatEmitter::constant(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
}

Value FloatEmitter::integer(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
}

Value FloatEmitter::add(Value x, Value y) {
  return arith::AddFOp::create(b, x, y);
}

Value FloatEmitter::sub(Value x, Value y) {
  return arith::SubFOp::create(b, x, y);
}

Value FloatEmitter::mul(Value x, Value y) {
  return arith::MulFOp::create(b, x, y);
}

Value FloatEmitter::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, x, y, z);
}

Value FloatEmitter::neg(Value x) { return arith::NegFOp::create(b, x); }

Value FloatEmitter::abs(Value x) { return math::AbsFOp::create(b, x); }

Value FloatEmitter::copySign(Value magnitude, Value sign) {
  return math::CopySignOp::create(b, magnitude, sign);
}

Value FloatEmitter::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}

Value FloatEmitter::compare(Predicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(b, predicate, x, y);
}

static Value callIntrinsic(ImplicitLocOpBuilder &b, StringRef name,
                           ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr(name),
                                       operands)
      .getResult(0);
}

Value FloatEmitter::divide(Value x, Value y) {
  return callIntrinsic(b, "llvm.nvvm.div.full", {x, y});
}

Value FloatEmitter::reciprocal(Value x) {
  return callIntrinsic(b, "llvm.nvvm.rcp.approx.ftz.f", x);
}

Value FloatEmitter::sqrt(Value x) {
  return callIntrinsic(b, "llvm.nvvm.sqrt.rn.ftz.f", x);
}

Value FloatEmitter::exp2(Value x) { return math::Exp2Op::create(b, x); }

Value FloatEmitter::log2(Value x) {
  return callIntrinsic(b, "llvm.nvvm.lg2.approx.ftz.f", x);
}

Value FloatEmitter::polynomial(Value x, ArrayRef<double> coefficients) {
  Value sum = constant(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(x, sum, constant(coefficient));
  return sum;
}

Value FloatEmitter::bits(Value x) {
  return arith::BitcastOp::create(b, b.getI32Type(), x);
}

Value FloatEmitter::fromBits(Value x) {
  return arith::BitcastOp::create(b, b.getF32Type(), x);
}

Value FloatEmitter::isSigned(Value x) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bits(x),
                               integer(0));
}
