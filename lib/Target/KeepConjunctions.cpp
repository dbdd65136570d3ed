//===- KeepConjunctions.cpp - One select for two conditions -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Joins the two conditions of a float select in an `asm`, so that the backend
// does not split the select. See PreparePTX.h.
//
//===----------------------------------------------------------------------===//

#include "PreparePTX.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

/// The PTX instruction for a conjunction or disjunction; null for other values.
static const char *getJoin(Value *value) {
  if (match(value, m_LogicalAnd()))
    return "and.pred $0, $1, $2;";
  if (match(value, m_LogicalOr()))
    return "or.pred $0, $1, $2;";
  return nullptr;
}

/// The two operands of `join`.
static std::pair<Value *, Value *> getConditions(Value *join) {
  Value *left = nullptr, *right = nullptr;
  if (!match(join, m_LogicalAnd(m_Value(left), m_Value(right))))
    match(join, m_LogicalOr(m_Value(left), m_Value(right)));
  return {left, right};
}

void fovea::keepConjunctions(Module &module) {
  // Several selects may have the same condition.
  SmallSetVector<Instruction *, 16> joins;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *select = dyn_cast<SelectInst>(&instruction);
      if (!select || !select->getType()->isFloatingPointTy())
        continue;
      auto *join = dyn_cast<Instruction>(select->getCondition());
      if (join && join->getType()->isIntegerTy(1) && getJoin(join))
        joins.insert(join);
    }
  for (Instruction *join : joins) {
    auto [left, right] = getConditions(join);
    IRBuilder<> builder(join);
    Type *type = join->getType();
    auto *code =
        InlineAsm::get(FunctionType::get(type, {type, type},
                                         /*isVarArg=*/false),
                       getJoin(join), "=b,b,b", /*hasSideEffects=*/false);
    join->replaceAllUsesWith(builder.CreateCall(code, {left, right}));
    join->eraseFromParent();
  }
}
