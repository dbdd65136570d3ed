//===- KernelFunction.cpp - Functions that are one kernel -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Attn/IR/KernelFunction.h"

using namespace mlir;
using namespace fovea::attn;

KernelOpInterface fovea::attn::getKernelOp(func::FuncOp func) {
  if (func.isExternal() || !func.getBody().hasOneBlock())
    return {};
  // With nothing else in the block, operands can only be arguments.
  Block &body = func.getBody().front();
  if (body.getOperations().size() != 2)
    return {};
  auto op = dyn_cast<KernelOpInterface>(body.front());
  auto ret = dyn_cast<func::ReturnOp>(body.back());
  if (!op || !ret || ret.getOperands() != op->getResults())
    return {};
  return op;
}
