//===- MultiVersionBlock.cpp - Two versions of one block ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionAnalysis/MultiVersionBlock.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea;

/// Compares each pair of values once, however often ops share operands.
static bool isSame(Value left, Value right,
                   llvm::DenseMap<std::pair<Value, Value>, bool> &known) {
  if (left == right)
    return true;
  auto result = dyn_cast_or_null<OpResult>(left);
  auto other = dyn_cast_or_null<OpResult>(right);
  if (!result || !other || result.getResultNumber() != other.getResultNumber())
    return false;
  if (auto found = known.find({left, right}); found != known.end())
    return found->second;
  bool isEquivalent = OperationEquivalence::isEquivalentTo(
      result.getOwner(), other.getOwner(),
      [&](Value a, Value b) { return success(isSame(a, b, known)); },
      /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
  known.try_emplace({left, right}, isEquivalent);
  return isEquivalent;
}

bool fovea::isSameValue(Value left, Value right) {
  llvm::DenseMap<std::pair<Value, Value>, bool> known;
  return isSame(left, right, known);
}

/// True if the operands of `op` are available before `choice`, or can be
/// hoisted.
static bool canHoist(Operation *op, scf::IfOp choice) {
  SetVector<Operation *> needed;
  auto addOperands = [&](Operation *of) {
    for (Value operand : of->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (choice->isProperAncestor(producer))
          needed.insert(producer);
  };
  addOperands(op);
  for (unsigned i = 0; i < needed.size(); ++i) {
    if (needed[i]->getNumRegions() != 0 || !isPure(needed[i]))
      return false;
    addOperands(needed[i]);
  }
  return true;
}

static void hoist(Operation *op, scf::IfOp choice) {
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      if (choice->isProperAncestor(producer))
        hoist(producer, choice);
  op->moveBefore(choice);
}

void fovea::hoistLoads(scf::IfOp choice) {
  SmallVector<tile::LoadOp> loads, others;
  for (tile::LoadOp load : choice.thenBlock()->getOps<tile::LoadOp>())
    loads.push_back(load);
  for (tile::LoadOp load : choice.elseBlock()->getOps<tile::LoadOp>())
    others.push_back(load);
  for (tile::LoadOp load : loads) {
    if (!canHoist(load, choice))
      continue;
    auto *same = llvm::find_if(others, [&](tile::LoadOp other) {
      return isSameValue(load.getResult(), other.getResult());
    });
    if (same == others.end())
      continue;
    hoist(load, choice);
    same->getResult().replaceAllUsesWith(load.getResult());
    same->erase();
    others.erase(same);
  }
}
