//===- HideNegations.cpp - Work around a ptxas bug --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites negated operands of integer minima and maxima, which ptxas combines
// incorrectly. See PreparePTX.h.
//
//===----------------------------------------------------------------------===//

#include "PreparePTX.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

/// `-value` in a form that LLVM and ptxas do not recognise.
static Value *negateScalar(IRBuilder<> &builder, Value *value) {
  Type *type = value->getType();
  auto *function = FunctionType::get(type, {type}, /*isVarArg=*/false);
  auto *complement =
      InlineAsm::get(function, "not.b32 $0, $1;\n\tadd.s32 $0, $0, 1;", "=&r,r",
                     /*hasSideEffects=*/false);
  return builder.CreateCall(complement, {value});
}

static Value *negate(IRBuilder<> &builder, Value *value) {
  auto *vector = dyn_cast<FixedVectorType>(value->getType());
  if (!vector)
    return negateScalar(builder, value);
  Value *result = PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    Value *element = builder.CreateExtractElement(value, i);
    result =
        builder.CreateInsertElement(result, negateScalar(builder, element), i);
  }
  return result;
}

void fovea::hideNegations(Module &module) {
  SmallVector<std::pair<Use *, Value *>> negations;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *extreme = dyn_cast<MinMaxIntrinsic>(&instruction);
      if (!extreme || !extreme->getType()->isIntOrIntVectorTy(32))
        continue;
      for (Use &operand : extreme->args()) {
        Value *negated;
        if (match(operand.get(), m_Neg(m_Value(negated))))
          negations.push_back({&operand, negated});
      }
    }
  for (auto [operand, negated] : negations) {
    auto *old = dyn_cast<Instruction>(operand->get());
    IRBuilder<> builder(cast<Instruction>(operand->getUser()));
    operand->set(negate(builder, negated));
    if (old && old->use_empty())
      old->eraseFromParent();
  }
}
