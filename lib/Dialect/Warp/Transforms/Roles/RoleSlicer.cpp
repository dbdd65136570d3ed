//===- RoleSlicer.cpp - Extract a role's program --------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements RoleSlicer: a backward slice over values, loops and branches, and
// its cloning.
//
//===----------------------------------------------------------------------===//

#include "Roles/RoleSlicer.h"

#include "Pipelines/Ring.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

bool fovea::warp::onlyReads(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const auto &effect) {
           return isa<MemoryEffects::Read>(effect.getEffect());
         });
}

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

void RoleSlicer::need(Value value) {
  if (!needed.insert(value))
    return;
  if (isShared(value)) {
    captures.insert(value);
    return;
  }
  worklist.push_back(value);
}

void RoleSlicer::needCarried(Operation *op, unsigned index) {
  markStructure(op);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    need(loop.getResult(index));
    need(loop.getRegionIterArg(index));
    need(loop.getInitArgs()[index]);
    need(loop.getYieldedValues()[index]);
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    need(loop.getResult(index));
    need(loop.getBeforeArguments()[index]);
    need(loop.getInits()[index]);
    need(loop.getConditionOp().getArgs()[index]);
  } else {
    auto branch = cast<scf::IfOp>(op);
    need(branch.getResult(index));
    need(branch.thenYield().getOperand(index));
    need(branch.elseYield().getOperand(index));
  }
}

bool fovea::warp::isStructural(Operation *op) {
  return isa<scf::ForOp, scf::IfOp>(op) || isDoWhile(op);
}

void RoleSlicer::markStructure(Operation *op) {
  if (!live.insert(op))
    return;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    need(loop.getLowerBound());
    need(loop.getUpperBound());
    need(loop.getStep());
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    need(branch.getCondition());
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    need(loop.getConditionOp().getCondition());
  }
  if (op->getBlock() != root)
    markStructure(op->getParentOp());
}

void RoleSlicer::markLive(Operation *op) {
  if (!live.insert(op))
    return;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
        need(operand);
  });
  if (op->getBlock() != root)
    markStructure(op->getParentOp());
}

static constexpr StringLiteral kNotPartitionable =
    "this op can't be partitioned between roles";

bool RoleSlicer::containsOwned(Operation *op) const {
  for (Region &region : op->getRegions())
    if (region
            .walk([&](Operation *nested) {
              return !isMemoryEffectFree(nested) && owns(nested)
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            })
            .wasInterrupted())
      return true;
  return false;
}

LogicalResult RoleSlicer::analyze(Block &block,
                                  function_ref<bool(Operation *)> isGiven,
                                  ValueRange extra) {
  root = &block;
  // Ops with effects other than reads have an owner.
  auto visit = [&](Operation *op) {
    if (isStructural(op))
      return WalkResult::advance();
    if ((!onlyReads(op) || (isOwned && isOwned(op))) &&
        !op->hasTrait<OpTrait::IsTerminator>()) {
      if (owns(op)) {
        markLive(op);
      } else if (containsOwned(op)) {
        op->emitError(kNotPartitionable);
        return WalkResult::interrupt();
      }
    }
    return WalkResult::skip();
  };
  for (Operation &op : block.without_terminator())
    if (op.walk<WalkOrder::PreOrder>(visit).wasInterrupted())
      return failure();
  for (Value value : extra)
    need(value);
  return finish(isGiven);
}

LogicalResult RoleSlicer::finish(function_ref<bool(Operation *)> isGiven) {
  if (Obstacle obstacle = findNeeded(isGiven); obstacle.op)
    return obstacle.op->emitError(obstacle.message);
  return success();
}

LogicalResult RoleSlicer::add(Operation *op) {
  for (Operation *around = op; around->getBlock() != root;) {
    around = around->getParentOp();
    if (isStructural(around))
      continue;
    // A role that runs the whole op runs this op, too.
    return live.contains(around) ? success()
                                 : around->emitError(kNotPartitionable);
  }
  markLive(op);
  return finish([](Operation *) { return false; });
}

LogicalResult RoleSlicer::analyzeValue(Block &block, Value value,
                                       function_ref<bool(Value)> isWanted) {
  root = &block;
  size_t numLive = live.size(), numNeeded = needed.size(),
         numCaptures = captures.size();
  need(value);
  if (!findNeeded([](Operation *) { return false; }, isWanted).op)
    return success();
  worklist.clear();
  auto shrink = [](auto &set, size_t size) {
    while (set.size() > size)
      set.pop_back();
  };
  shrink(live, numLive);
  shrink(needed, numNeeded);
  shrink(captures, numCaptures);
  return failure();
}

RoleSlicer::Obstacle
RoleSlicer::findNeeded(function_ref<bool(Operation *)> isGiven,
                       function_ref<bool(Value)> isWanted) {
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (isWanted && !isWanted(value))
      return {value.getParentBlock()->getParentOp(),
              "a role needs a value that it can't compute"};
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (!isStructural(parent))
        return {parent, kNotPartitionable};
      auto loop = dyn_cast<scf::ForOp>(parent);
      if (loop && argument == loop.getInductionVar())
        markStructure(loop);
      else
        needCarried(parent, argument.getArgNumber() - (loop ? 1 : 0));
      continue;
    }
    auto result = cast<OpResult>(value);
    Operation *def = result.getOwner();
    if (isStructural(def)) {
      needCarried(def, result.getResultNumber());
      continue;
    }
    if (isGiven(def)) {
      live.insert(def);
      if (def->getBlock() != root)
        markStructure(def->getParentOp());
      continue;
    }
    if (!owns(def) && (!onlyReads(def) || (isOwned && isOwned(def))))
      return {def, "a role needs the result of an op that it does not own"};
    markLive(def);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Cloning
//===----------------------------------------------------------------------===//

void RoleSlicer::clone(OpBuilder &b, Block &block, IRMapping &mapping,
                       CloneHook cloneHook) {
  for (Operation &op : block.without_terminator()) {
    if (!live.contains(&op) || cloneHook(b, &op, mapping))
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      cloneFor(b, loop, mapping, cloneHook);
    else if (isDoWhile(&op))
      cloneWhile(b, cast<scf::WhileOp>(op), mapping, cloneHook);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      cloneIf(b, branch, mapping, cloneHook);
    else
      b.clone(op, mapping);
  }
}

void RoleSlicer::cloneFor(OpBuilder &b, scf::ForOp loop, IRMapping &mapping,
                          CloneHook cloneHook) {
  SmallVector<Value> inits;
  SmallVector<unsigned> kept;
  for (auto [index, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (isNeeded(argument)) {
      kept.push_back(index);
      inits.push_back(mapping.lookup(loop.getInitArgs()[index]));
    }
  auto copy =
      scf::ForOp::create(b, loop.getLoc(), mapping.lookup(loop.getLowerBound()),
                         mapping.lookup(loop.getUpperBound()),
                         mapping.lookup(loop.getStep()), inits);
  copy.setUnsignedCmp(loop.getUnsignedCmp());
  mapping.map(loop.getInductionVar(), copy.getInductionVar());
  for (auto [position, index] : llvm::enumerate(kept)) {
    mapping.map(loop.getRegionIterArg(index), copy.getRegionIterArg(position));
    mapping.map(loop.getResult(index), copy.getResult(position));
  }
  OpBuilder::InsertionGuard guard(b);
  Block *body = copy.getBody();
  if (!body->empty())
    body->back().erase();
  b.setInsertionPointToEnd(body);
  clone(b, *loop.getBody(), mapping, cloneHook);
  SmallVector<Value> yields;
  for (unsigned index : kept)
    yields.push_back(mapping.lookup(loop.getYieldedValues()[index]));
  scf::YieldOp::create(b, loop.getLoc(), yields);
}

void RoleSlicer::cloneWhile(OpBuilder &b, scf::WhileOp loop, IRMapping &mapping,
                            CloneHook cloneHook) {
  Location loc = loop.getLoc();
  SmallVector<Value> inits;
  SmallVector<Type> types;
  SmallVector<unsigned> kept;
  for (auto [index, argument] : llvm::enumerate(loop.getBeforeArguments()))
    if (isNeeded(argument)) {
      kept.push_back(index);
      inits.push_back(mapping.lookup(loop.getInits()[index]));
      types.push_back(argument.getType());
    }
  auto copy = scf::WhileOp::create(b, loc, types, inits);
  SmallVector<Location> locs(types.size(), loc);
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&copy.getBefore(), {}, types, locs);
  for (auto [position, index] : llvm::enumerate(kept)) {
    mapping.map(loop.getBeforeArguments()[index],
                before->getArgument(position));
    mapping.map(loop.getResult(index), copy.getResult(position));
  }
  clone(b, *loop.getBeforeBody(), mapping, cloneHook);
  scf::ConditionOp condition = loop.getConditionOp();
  SmallVector<Value> values;
  for (unsigned index : kept)
    values.push_back(mapping.lookup(condition.getArgs()[index]));
  scf::ConditionOp::create(b, loc, mapping.lookup(condition.getCondition()),
                           values);
  Block *after = b.createBlock(&copy.getAfter(), {}, types, locs);
  scf::YieldOp::create(b, loc, after->getArguments());
}

void RoleSlicer::cloneIf(OpBuilder &b, scf::IfOp branch, IRMapping &mapping,
                         CloneHook cloneHook) {
  SmallVector<unsigned> kept;
  SmallVector<Type> types;
  for (OpResult result : branch->getResults())
    if (isNeeded(result)) {
      kept.push_back(result.getResultNumber());
      types.push_back(result.getType());
    }
  bool hasElse = !branch.getElseRegion().empty();
  auto copy = scf::IfOp::create(
      b, branch.getLoc(), types, mapping.lookup(branch.getCondition()),
      /*addThenBlock=*/true, /*addElseBlock=*/hasElse);
  OpBuilder::InsertionGuard guard(b);
  auto fill = [&](Block *target, Block *source) {
    b.setInsertionPointToEnd(target);
    clone(b, *source, mapping, cloneHook);
    SmallVector<Value> yields;
    for (unsigned index : kept)
      yields.push_back(
          mapping.lookup(source->getTerminator()->getOperand(index)));
    scf::YieldOp::create(b, branch.getLoc(), yields);
  };
  for (auto [position, index] : llvm::enumerate(kept))
    mapping.map(branch.getResult(index), copy.getResult(position));
  fill(copy.thenBlock(), branch.thenBlock());
  if (hasElse)
    fill(copy.elseBlock(), branch.elseBlock());
}
