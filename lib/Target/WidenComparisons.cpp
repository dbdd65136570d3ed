//===- WidenComparisons.cpp - No comparisons of bf16 ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PreparePTX.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// bf16 is the upper half of f32.
static Value *widen(IRBuilder<> &builder, Value *value) {
  Type *half = value->getType()->getWithNewType(builder.getInt16Ty()),
       *bits = value->getType()->getWithNewType(builder.getInt32Ty()),
       *wide = value->getType()->getWithNewType(builder.getFloatTy());
  Value *extended =
      builder.CreateZExt(builder.CreateBitCast(value, half), bits);
  return builder.CreateBitCast(builder.CreateShl(extended, 16), wide);
}

void fovea::widenComparisons(Module &module) {
  SmallVector<FCmpInst *> comparisons;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *comparison = dyn_cast<FCmpInst>(&instruction))
        if (comparison->getOperand(0)->getType()->getScalarType()->isBFloatTy())
          comparisons.push_back(comparison);
  for (FCmpInst *comparison : comparisons) {
    IRBuilder<> builder(comparison);
    for (Use &operand : comparison->operands())
      operand.set(widen(builder, operand.get()));
  }
}
