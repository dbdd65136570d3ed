//===- IntervalModels.cpp - Register interval models ----------------------===//
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

FailureOr<Interval>
fovea::inferInterval(Value result, IntervalBuilder &builder,
                     function_ref<FailureOr<Interval>(Value)> getInterval) {
  auto op = result.getDefiningOp<FoveaIntervalOpInterface>();
  if (!op)
    return failure();
  SmallVector<Interval> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Interval> interval = getInterval(operand);
    if (failed(interval))
      return failure();
    operands.push_back(*interval);
  }
  return op.inferInterval(builder, operands);
}

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
