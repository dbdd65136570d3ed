//===- BackwardEvaluation.h - Executes attn.backward ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reference evaluation of gradients.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_ATTENTION_BACKWARDEVALUATION_H
#define FOVEA_LIB_INTERPRETER_ATTENTION_BACKWARDEVALUATION_H

#include "fovea/Interpreter/Interpreter.h"

namespace fovea::interp {

/// Executes attn.backward by its definition.
llvm::LogicalResult executeBackward(mlir::Operation *op, Frame &frame);

/// Executes attn.contribute: adds to the gradients that executeBackward
/// accumulates.
llvm::LogicalResult executeContribute(mlir::Operation *op, Frame &frame);

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_ATTENTION_BACKWARDEVALUATION_H
