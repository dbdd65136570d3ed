//===- ShareOffsets.cpp - Constants out of coordinates ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PreparePTX.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace {
/// `base | offset`, of which no bit is in both.
struct Coordinate {
  Value *base = nullptr;
  ConstantInt *offset = nullptr;
};

/// Rewrites what conditions are computed from.
class Sharing {
public:
  explicit Sharing(const DataLayout &layout) : layout(layout) {}

  /// What `op` is with its constant outside, or null.
  Value *rewrite(Instruction *op);

private:
  /// `shared + offset`, which does not overflow.
  struct Distance {
    Value *shared;
    APInt offset;
  };

  static bool matchCoordinate(Value *value, Coordinate &coordinate);
  bool isNonNegative(Value *value) {
    return computeKnownBits(value, layout).isNonNegative();
  }
  Value *rewritePart(IRBuilder<> &builder, BinaryOperator *op);
  /// How far the first operand is from the second, if neither is negative.
  std::optional<Distance> getDistance(IRBuilder<> &builder, Instruction *op);

  const DataLayout &layout;
};
} // namespace

bool Sharing::matchCoordinate(Value *value, Coordinate &coordinate) {
  return value->getType()->isIntegerTy(32) &&
         match(value, m_DisjointOr(m_Value(coordinate.base),
                                   m_ConstantInt(coordinate.offset)));
}

/// Upper or lower bits: those of the base, and of the offset.
Value *Sharing::rewritePart(IRBuilder<> &builder, BinaryOperator *op) {
  Coordinate whole;
  auto *by = dyn_cast<ConstantInt>(op->getOperand(1));
  if (!by || !matchCoordinate(op->getOperand(0), whole))
    return nullptr;
  const APInt &offset = whole.offset->getValue(), &bits = by->getValue();
  bool isShift = op->getOpcode() == Instruction::LShr;
  if (isShift && bits.uge(32))
    return nullptr;
  Value *base = isShift ? builder.CreateLShr(whole.base, by)
                        : builder.CreateAnd(whole.base, by);
  Value *part = builder.getInt(isShift ? offset.lshr(bits) : offset & bits);
  return builder.CreateOr(base, part, "", /*IsDisjoint=*/true);
}

std::optional<Sharing::Distance> Sharing::getDistance(IRBuilder<> &builder,
                                                      Instruction *op) {
  Value *left = op->getOperand(0), *right = op->getOperand(1);
  Coordinate place;
  if (isa<Constant>(left) || isa<Constant>(right) ||
      !(matchCoordinate(left, place) || matchCoordinate(right, place)) ||
      !isNonNegative(left) || !isNonNegative(right))
    return std::nullopt;
  APInt offset(32, 0);
  if (matchCoordinate(left, place)) {
    left = place.base;
    offset += place.offset->getValue();
  }
  if (matchCoordinate(right, place)) {
    right = place.base;
    offset -= place.offset->getValue();
  }
  return Distance{builder.CreateNSWSub(left, right), offset};
}

Value *Sharing::rewrite(Instruction *op) {
  IRBuilder<> builder(op);
  if (auto *compare = dyn_cast<ICmpInst>(op)) {
    if (!compare->isRelational())
      return nullptr;
    // Of values that are not negative either order is the one of integers.
    if (auto distance = getDistance(builder, op))
      return builder.CreateICmp(compare->getSignedPredicate(), distance->shared,
                                builder.getInt(-distance->offset));
    return nullptr;
  }
  auto *binary = dyn_cast<BinaryOperator>(op);
  if (!binary)
    return nullptr;
  switch (binary->getOpcode()) {
  case Instruction::LShr:
  case Instruction::And:
    return rewritePart(builder, binary);
  case Instruction::Sub:
    if (auto distance = getDistance(builder, op))
      return builder.CreateNSWAdd(distance->shared,
                                  builder.getInt(distance->offset));
    return nullptr;
  default:
    return nullptr;
  }
}

/// Integers that conditions of selects between floats are computed from.
static SetVector<Instruction *> findConditions(Function &function) {
  SetVector<Instruction *> found;
  for (Instruction &instruction : instructions(function)) {
    auto *select = dyn_cast<SelectInst>(&instruction);
    if (!select || !select->getType()->isFloatingPointTy())
      continue;
    if (auto *condition = dyn_cast<Instruction>(select->getCondition()))
      found.insert(condition);
  }
  for (size_t next = 0; next < found.size(); ++next) {
    if (!isa<BinaryOperator, ICmpInst, CastInst, SelectInst>(found[next]))
      continue;
    for (Value *operand : found[next]->operands())
      if (auto *source = dyn_cast<Instruction>(operand);
          source && source->getType()->isIntegerTy())
        found.insert(source);
  }
  return found;
}

bool fovea::shareOffsets(Module &module) {
  bool changed = false;
  for (Function &function : module) {
    SetVector<Instruction *> conditions = findConditions(function);
    Sharing sharing(module.getDataLayout());
    SmallVector<WeakTrackingVH> dead;
    // In the order of the program: operands have their constant outside before
    // their users are looked at.
    for (BasicBlock &block : function)
      for (Instruction &op : llvm::make_early_inc_range(block)) {
        if (!conditions.contains(&op))
          continue;
        if (Value *result = sharing.rewrite(&op)) {
          op.replaceAllUsesWith(result);
          dead.push_back(&op);
        }
      }
    changed |= !dead.empty();
    RecursivelyDeleteTriviallyDeadInstructionsPermissive(dead);
  }
  return changed;
}
