//===- WidenComparisons.cpp - 16-bit float operations in f32 ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Widens comparisons of 16-bit floats, and operations that flush subnormal f16,
// to f32. See PreparePTX.h.
//
//===----------------------------------------------------------------------===//

#include "PreparePTX.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// Extends to f32 exactly. bf16 is the upper half of f32; subnormal f16 are
/// normal f32.
static Value *widen(IRBuilder<> &builder, Value *value) {
  if (value->getType()->getScalarType()->isHalfTy())
    return builder.CreateFPExt(
        value, value->getType()->getWithNewType(builder.getFloatTy()));
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
        if (comparison->getOperand(0)
                ->getType()
                ->getScalarType()
                ->is16bitFPTy())
          comparisons.push_back(comparison);
  for (FCmpInst *comparison : comparisons) {
    IRBuilder<> builder(comparison);
    for (Use &operand : comparison->operands())
      operand.set(widen(builder, operand.get()));
  }
}

/// The f32 result of an instruction that flushes f16; null for others.
static Value *computeWide(IRBuilder<> &builder, Instruction &instruction) {
  if (instruction.getOpcode() == Instruction::FNeg)
    return builder.CreateFNeg(widen(builder, instruction.getOperand(0)));
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call)
    return nullptr;
  switch (call->getIntrinsicID()) {
  case Intrinsic::fabs:
    return builder.CreateUnaryIntrinsic(Intrinsic::fabs,
                                        widen(builder, call->getArgOperand(0)));
  case Intrinsic::minnum:
  case Intrinsic::maxnum:
  case Intrinsic::minimum:
  case Intrinsic::maximum:
    return builder.CreateBinaryIntrinsic(
        call->getIntrinsicID(), widen(builder, call->getArgOperand(0)),
        widen(builder, call->getArgOperand(1)));
  default:
    return nullptr;
  }
}

void fovea::keepSubnormalHalves(Module &module) {
  SmallVector<Instruction *> narrow;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (instruction.getType()->getScalarType()->isHalfTy())
        narrow.push_back(&instruction);
  for (Instruction *instruction : narrow) {
    IRBuilder<> builder(instruction);
    Value *wide = computeWide(builder, *instruction);
    if (!wide)
      continue;
    // Most uses extend the result to f32.
    for (User *user : make_early_inc_range(instruction->users()))
      if (auto *extended = dyn_cast<FPExtInst>(user);
          extended && extended->getType() == wide->getType()) {
        extended->replaceAllUsesWith(wide);
        extended->eraseFromParent();
      }
    if (!instruction->use_empty())
      instruction->replaceAllUsesWith(
          builder.CreateFPTrunc(wide, instruction->getType()));
    instruction->eraseFromParent();
  }
}
