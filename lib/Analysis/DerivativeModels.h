//===- DerivativeModels.h - Common parts of derivative rules ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_ANALYSIS_DERIVATIVEMODELS_H
#define FOVEA_LIB_ANALYSIS_DERIVATIVEMODELS_H

#include "fovea/Analysis/DifferentiableOpInterface.h"

namespace fovea {

/// Base class of the models.
template <typename Model, typename Op>
using DerivativeOf = DifferentiableOpInterface::ExternalModel<Model, Op>;

/// Computes the adjoint of operand `x` of an op with result `y` and adjoint
/// `dy`.
using UnaryRule = mlir::Value (*)(AdjointBuilder &b, mlir::Value x,
                                  mlir::Value y, mlir::Value dy);

/// Model of an op with one operand.
template <typename Op, UnaryRule rule>
struct UnaryDerivative : DerivativeOf<UnaryDerivative<Op, rule>, Op> {
  void addAdjoints(mlir::Operation *op, AdjointBuilder &b,
                   mlir::Value dy) const {
    mlir::Value x = op->getOperand(0), y = op->getResult(0);
    b.add(x, [&] { return rule(b, x, y, dy); });
  }
};

/// Model of a step function: its derivative is 0, also at the steps.
template <typename Op>
struct StepDerivative : DerivativeOf<StepDerivative<Op>, Op> {
  void addAdjoints(mlir::Operation *, AdjointBuilder &, mlir::Value) const {}
};

void attachArithDerivatives(mlir::MLIRContext *context);
void attachMathDerivatives(mlir::MLIRContext *context);

} // namespace fovea

#endif // FOVEA_LIB_ANALYSIS_DERIVATIVEMODELS_H
