//===- KernelPass.cpp - Passes that say what they require -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Support/KernelPass.h"

using namespace mlir;
using namespace fovea;

LogicalResult fovea::detail::checkRequired(const KernelFact &fact,
                                           gpu::GPUFuncOp kernel,
                                           StringRef pass) {
  Operation *offender = fact.findOffender(kernel);
  if (!offender)
    return success();
  bool isMade = !fact.madeBy.empty();
  return offender->emitOpError("has no place here; expected '")
         << (isMade ? StringRef(fact.madeBy) : pass) << "' to have run before '"
         << (isMade ? pass : StringRef(fact.endedBy)) << "'";
}

LogicalResult fovea::detail::checkEnsured(const KernelFact &fact,
                                          gpu::GPUFuncOp kernel,
                                          StringRef pass) {
  Operation *offender = fact.findOffender(kernel);
  if (!offender)
    return success();
  return offender->emitOpError("is left behind by '")
         << pass << "', which should have rewritten it";
}
