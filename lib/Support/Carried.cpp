//===- Carried.cpp - Values carried by loops and branches -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Support/Carried.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

bool fovea::forEachCarried(Operation *op,
                           function_ref<void(ValueRange, ValueRange)> join) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    join(loop.getInits(), loop.getRegionIterArgs());
    join(loop.getInits(), loop.getYieldedValues());
    join(loop.getInits(), loop.getResults());
    return true;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    join(loop.getInits(), loop.getBeforeArguments());
    join(loop.getInits(), loop.getYieldOp().getOperands());
    join(loop.getConditionOp().getArgs(), loop.getAfterArguments());
    join(loop.getConditionOp().getArgs(), loop.getResults());
    return true;
  }
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch)
    return false;
  join(branch.thenYield().getOperands(), branch.getResults());
  if (branch.elseBlock())
    join(branch.elseYield().getOperands(), branch.getResults());
  return true;
}
