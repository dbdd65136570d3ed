//===- CarriedNames.cpp - Names of loop-carried values ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names block arguments and results of loops, branches and roles after the
// values that become them, for readable IR.
//
//===----------------------------------------------------------------------===//

#include "CarriedNames.h"

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;

namespace {
class CarriedNames {
public:
  /// Returns the value's name, or that of a value that becomes it.
  StringRef find(Value value) {
    // This entry ends the recursion around a loop.
    auto [known, isNew] = names.try_emplace(value, getName(value));
    if (!isNew || !known->second.empty())
      return known->second;
    StringRef name;
    for (Value source : getSources(value))
      if (name = find(source); !name.empty())
        break;
    names[value] = name;
    return name;
  }

private:
  static SmallVector<Value> getSources(Value value);
  static SmallVector<Value> getSources(OpResult result);
  static SmallVector<Value> getSources(BlockArgument argument);

  llvm::DenseMap<Value, StringRef> names;
};
} // namespace

/// The yielded value of a loop usually has a better name than the initial one.
SmallVector<Value> CarriedNames::getSources(OpResult result) {
  using Values = SmallVector<Value>;
  unsigned index = result.getResultNumber();
  return TypeSwitch<Operation *, Values>(result.getOwner())
      .Case([&](scf::ForOp loop) -> Values {
        return {loop.getRegionIterArg(index)};
      })
      .Case([&](scf::WhileOp loop) -> Values {
        return {loop.getConditionOp().getArgs()[index]};
      })
      .Case([&](scf::IfOp branch) -> Values {
        return {branch.thenYield().getOperand(index),
                branch.elseYield().getOperand(index)};
      })
      .Case([&](tile::IfAnyOp branch) -> Values {
        return {branch.getBody().front().getTerminator()->getOperand(index),
                branch.getInits()[index]};
      })
      .Default(Values());
}

SmallVector<Value> CarriedNames::getSources(BlockArgument argument) {
  using Values = SmallVector<Value>;
  unsigned index = argument.getArgNumber();
  Block *block = argument.getOwner();
  return TypeSwitch<Operation *, Values>(block->getParentOp())
      .Case([&](scf::ForOp loop) -> Values {
        if (index == 0)
          return {};
        return {loop.getYieldedValues()[index - 1],
                loop.getInitArgs()[index - 1]};
      })
      .Case([&](scf::WhileOp loop) -> Values {
        if (block == loop.getBeforeBody())
          return {loop.getYieldOp().getOperand(index), loop.getInits()[index]};
        return {loop.getConditionOp().getArgs()[index]};
      })
      .Case([&](tile::IfAnyOp branch) -> Values {
        return {branch.getInits()[index]};
      })
      .Case([&](warp::SpecializeOp roles) -> Values {
        return {roles.getCaptures()[index]};
      })
      .Default(Values());
}

SmallVector<Value> CarriedNames::getSources(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getSources(argument);
  return getSources(cast<OpResult>(value));
}

void fovea::nameCarriedValues(Operation *root) {
  CarriedNames names;
  SmallVector<std::pair<Value, StringRef>> found;
  auto collect = [&](Value value) {
    if (!getName(value).empty())
      return;
    if (StringRef name = names.find(value); !name.empty())
      found.push_back({value, name});
  };
  root->walk([&](Operation *op) {
    if (op->getNumResults() == 1 && op->getNumRegions() != 0)
      collect(op->getResult(0));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), collect);
  });
  for (auto [value, name] : found)
    named(name, value);
}
