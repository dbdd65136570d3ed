//===- DifferentiableOpInterface.h - Differentiable ops ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_ANALYSIS_DIFFERENTIABLEOPINTERFACE_H
#define FOVEA_ANALYSIS_DIFFERENTIABLEOPINTERFACE_H

#include "fovea/Analysis/AdjointBuilder.h"

#include "mlir/IR/OpDefinition.h"

#include "fovea/Analysis/DifferentiableOpInterface.h.inc"

namespace fovea {

/// Differentiates `output`, a float that ops of the builder's block compute
/// from the values `by`: arguments of that block, floats or tensors of floats.
/// Emits ops at the builder's insertion point, which must be after those ops.
/// Returns the derivatives with respect to each float of `by`, times `seed`;
/// null for floats that the output does not depend on and for tensors.
/// `addElement` receives the adjoint of each element that is read of a tensor.
/// The dialects `arith` and `math` must be loaded.
///
/// Fails at an op between `by` and the output without a rule, with a note that
/// names `asker`, the differentiated op. Ops emitted before the failure remain.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
differentiate(mlir::OpBuilder &builder, mlir::Value output, mlir::Value seed,
              llvm::ArrayRef<mlir::Value> by,
              AdjointBuilder::ElementSink addElement, mlir::Operation *asker);

/// Registers the models of DifferentiableOpInterface for `arith`, `math` and
/// `tensor`.
void registerDerivativeModels(mlir::DialectRegistry &registry);

} // namespace fovea

#endif // FOVEA_ANALYSIS_DIFFERENTIABLEOPINTERFACE_H
