//===- IntervalModels.cpp - Which ops have interval models ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntervalModels.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace fovea;

#include "fovea/Analysis/IntervalOpInterface.cpp.inc"

void fovea::registerIntervalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachArithmeticModels(context);
    attachBitModels(context);
    attachLogicModels(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attachBitCountModels(context);
  });
}
