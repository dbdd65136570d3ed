//===- SeparateConstants.cpp - Constant operands of async dots --*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives constant operands of wgmma their own registers. See PreparePTX.h.
//
//===----------------------------------------------------------------------===//

#include "PreparePTX.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

static bool isAsyncDot(const CallInst &call) {
  auto *code = dyn_cast<InlineAsm>(call.getCalledOperand());
  return code && code->getAsmString().contains("wgmma.mma_async");
}

/// The constant in a register that only `dot` reads.
static Value *separate(Constant *constant, CallInst &dot) {
  Type *type = constant->getType();
  auto *code =
      InlineAsm::get(FunctionType::get(type, {type}, /*isVarArg=*/false),
                     /*AsmString=*/"", "=r,0", /*hasSideEffects=*/true);
  return IRBuilder<>(&dot).CreateCall(code, {constant});
}

void fovea::separateConstants(Module &module) {
  SmallVector<CallInst *> dots;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction);
          call && isAsyncDot(*call))
        dots.push_back(call);
  for (CallInst *dot : dots) {
    SmallMapVector<Constant *, Value *, 4> separated;
    for (Use &operand : dot->args()) {
      auto *constant = dyn_cast<Constant>(operand.get());
      if (!constant || !constant->getType()->isIntegerTy(32))
        continue;
      Value *&found = separated[constant];
      if (!found)
        found = separate(constant, *dot);
      operand.set(found);
    }
  }
}
