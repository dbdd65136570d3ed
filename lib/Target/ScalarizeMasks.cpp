//===- ScalarizeMasks.cpp - Masks element by element ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PreparePTX.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

// Vectors shorter than this fit beside what else there is.
static constexpr unsigned kLeastElements = 8;

namespace {
/// Elements of vectors as scalars, made at most once each, at the builder's
/// place.
class Elements {
public:
  explicit Elements(Instruction *place) : builder(place) {}

  Value *get(Value *vector, unsigned index);
  /// Later elements are made at `place`, which earlier ones dominate.
  void moveTo(Instruction *place) { builder.SetInsertPoint(place); }

private:
  Value *make(Value *vector, unsigned index);
  Value *cloneFor(Instruction *op, unsigned index);

  IRBuilder<> builder;
  DenseMap<std::pair<Value *, unsigned>, Value *> known;
};
} // namespace

Value *Elements::get(Value *vector, unsigned index) {
  auto [place, isNew] = known.try_emplace({vector, index}, nullptr);
  if (!isNew)
    return place->second;
  Value *element = make(vector, index);
  known[{vector, index}] = element;
  return element;
}

/// Whether each element of the result depends on those at its place only, and
/// nothing else does.
static bool isElementwise(Instruction *op) {
  if (op->mayHaveSideEffects() || op->mayReadFromMemory())
    return false;
  if (auto *intrinsic = dyn_cast<IntrinsicInst>(op))
    return isTriviallyVectorizable(intrinsic->getIntrinsicID());
  if (auto *cast = dyn_cast<CastInst>(op))
    return !isa<BitCastInst>(cast);
  return isa<BinaryOperator, UnaryOperator, CmpInst, SelectInst, FreezeInst>(
      op);
}

Value *Elements::make(Value *vector, unsigned index) {
  if (auto *constant = dyn_cast<Constant>(vector))
    if (Constant *element = constant->getAggregateElement(index))
      return element;
  if (auto *insert = dyn_cast<InsertElementInst>(vector))
    if (auto *at = dyn_cast<ConstantInt>(insert->getOperand(2)))
      return at->getZExtValue() == index ? insert->getOperand(1)
                                         : get(insert->getOperand(0), index);
  if (auto *shuffle = dyn_cast<ShuffleVectorInst>(vector)) {
    auto *type = cast<FixedVectorType>(shuffle->getOperand(0)->getType());
    int source = shuffle->getMaskValue(index), count = type->getNumElements();
    if (source < 0)
      return PoisonValue::get(type->getElementType());
    return source < count ? get(shuffle->getOperand(0), source)
                          : get(shuffle->getOperand(1), source - count);
  }
  auto *op = dyn_cast<Instruction>(vector);
  if (op && isElementwise(op))
    return cloneFor(op, index);
  return builder.CreateExtractElement(vector, index);
}

Value *Elements::cloneFor(Instruction *op, unsigned index) {
  SmallVector<Value *> operands;
  for (Value *operand : op->operand_values())
    operands.push_back(operand->getType()->isVectorTy() ? get(operand, index)
                                                        : operand);
  Type *type = op->getType()->getScalarType();
  if (auto *intrinsic = dyn_cast<IntrinsicInst>(op)) {
    operands.pop_back(); // the callee
    auto *call =
        builder.CreateIntrinsic(type, intrinsic->getIntrinsicID(), operands);
    // Approximations are chosen by flags.
    call->copyIRFlags(intrinsic);
    return call;
  }
  Instruction *copy = op->clone();
  copy->mutateType(type);
  for (auto [position, operand] : llvm::enumerate(operands))
    copy->setOperand(position, operand);
  return builder.Insert(copy);
}

static void scalarize(SelectInst *select) {
  auto *type = cast<FixedVectorType>(select->getType());
  IRBuilder<> builder(select);
  Elements elements(select);
  // What is selected from stays as it is: scores, and their replacement.
  auto read = [&](Value *vector, unsigned index) -> Value * {
    auto *constant = dyn_cast<Constant>(vector);
    Constant *element =
        constant ? constant->getAggregateElement(index) : nullptr;
    return element ? element : builder.CreateExtractElement(vector, index);
  };
  Value *result = PoisonValue::get(type);
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    Value *condition = elements.get(select->getCondition(), i);
    Value *chosen =
        builder.CreateSelect(condition, read(select->getTrueValue(), i),
                             read(select->getFalseValue(), i));
    result = builder.CreateInsertElement(result, chosen, i);
  }
  select->replaceAllUsesWith(result);
  RecursivelyDeleteTriviallyDeadInstructions(select);
}

/// Whether `value` is one of many integers that are computed together.
static bool isPartOfMany(ExtractElementInst *extract) {
  auto *op = dyn_cast<Instruction>(extract->getVectorOperand());
  auto *type = dyn_cast<FixedVectorType>(extract->getVectorOperandType());
  return op && type && type->getNumElements() >= kLeastElements &&
         type->getElementType()->isIntegerTy() && isElementwise(op) &&
         isa<ConstantInt>(extract->getIndexOperand());
}

/// Makes integers that are taken out of vectors, as addresses are, where they
/// are taken out.
static bool scalarizeExtracts(BasicBlock &block) {
  SmallVector<ExtractElementInst *> extracts;
  for (Instruction &instruction : block)
    if (auto *extract = dyn_cast<ExtractElementInst>(&instruction);
        extract && isPartOfMany(extract))
      extracts.push_back(extract);
  if (extracts.empty())
    return false;
  Elements elements(extracts.front());
  for (ExtractElementInst *extract : extracts) {
    elements.moveTo(extract);
    auto *index = cast<ConstantInt>(extract->getIndexOperand());
    extract->replaceAllUsesWith(
        elements.get(extract->getVectorOperand(), index->getZExtValue()));
  }
  for (ExtractElementInst *extract : extracts)
    RecursivelyDeleteTriviallyDeadInstructions(extract);
  return true;
}

bool fovea::scalarizeMasks(Module &module) {
  SmallVector<SelectInst *> selects;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *select = dyn_cast<SelectInst>(&instruction);
      auto *type = dyn_cast<FixedVectorType>(instruction.getType());
      if (select && type && type->getNumElements() >= kLeastElements &&
          select->getType()->isFPOrFPVectorTy() &&
          select->getCondition()->getType()->isVectorTy())
        selects.push_back(select);
    }
  for (SelectInst *select : selects)
    scalarize(select);
  bool hasExtracts = false;
  for (Function &function : module)
    for (BasicBlock &block : function)
      hasExtracts |= scalarizeExtracts(block);
  return hasExtracts || !selects.empty();
}
