//===- DerivativeModels.cpp - Register derivative rules -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DerivativeModels.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace fovea;

namespace {
struct ExtractModel : DerivativeOf<ExtractModel, tensor::ExtractOp> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    auto extract = cast<tensor::ExtractOp>(op);
    b.addElement(extract.getTensor(), extract.getIndices(), dy);
  }
};
} // namespace

void fovea::registerDerivativeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachArithDerivatives(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attachMathDerivatives(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ExtractOp::attachInterface<ExtractModel>(*context);
  });
}
