//===- DifferentiableOpInterface.h - Derivatives of ops ---------*- C++ -*-===//
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
/// Emits at the builder's insertion point, which lies behind those ops, the
/// derivative by each float of `by`, times `seed`; a null value where the
/// output does not depend on it, and for tensors. Of tensors `addElement` gets
/// the adjoint of each element that is read. The dialects `arith` and `math`
/// must be loaded.
///
/// Fails at an op that lies between `by` and the output and has no rule, with
/// a note of the op that asks, `asker`. What was emitted until then remains.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
differentiate(mlir::OpBuilder &builder, mlir::Value output, mlir::Value seed,
              llvm::ArrayRef<mlir::Value> by,
              AdjointBuilder::ElementSink addElement, mlir::Operation *asker);

/// Registers the models of DifferentiableOpInterface for `arith`, `math` and
/// `tensor`.
void registerDerivativeModels(mlir::DialectRegistry &registry);

} // namespace fovea

#endif // FOVEA_ANALYSIS_DIFFERENTIABLEOPINTERFACE_H
