//===- ForwardEvaluation.h - Executes attn.forward --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reference evaluation of attention.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_ATTENTION_FORWARDEVALUATION_H
#define FOVEA_LIB_INTERPRETER_ATTENTION_FORWARDEVALUATION_H

#include "fovea/Interpreter/Interpreter.h"

namespace fovea::interp {

/// Executes attn.forward by its definition, or maps its blocks or elements on
/// request.
llvm::LogicalResult executeForward(mlir::Operation *op, Frame &frame);

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_ATTENTION_FORWARDEVALUATION_H
