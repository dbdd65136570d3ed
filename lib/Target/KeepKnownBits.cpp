//===- KeepKnownBits.cpp - Of coordinates kept apart ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PreparePTX.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/KnownBits.h"

using namespace llvm;

/// Whether `call` copies its operand and does nothing else.
static bool isCopy(CallInst *call) {
  auto *code = dyn_cast<InlineAsm>(call->getCalledOperand());
  return code && call->arg_size() == 1 &&
         code->getAsmString() == "mov.b32 $0, $1;" &&
         call->getType()->isIntegerTy(32);
}

void fovea::keepKnownBits(Module &module) {
  SmallVector<CallInst *> copies;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction); call && isCopy(call))
        copies.push_back(call);
  for (CallInst *copy : copies) {
    KnownBits known =
        computeKnownBits(copy->getArgOperand(0), module.getDataLayout());
    if (known.Zero.isZero())
      continue;
    IRBuilder<> builder(copy->getNextNode());
    Value *masked = builder.CreateAnd(copy, ~known.Zero);
    copy->replaceUsesWithIf(masked,
                            [&](Use &use) { return use.getUser() != masked; });
  }
}
