//===- CarriedDots.cpp - Dots in flight around a loop ---------- -*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CarriedDots.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

/// Adds what the ops compute with, of this round or, as far as the loop carries
/// it, of the last one. Fails if that can't be found without waiting.
LogicalResult CarriedDots::addNeeds(Ops &ops, bool ofLastRound) {
  for (size_t index = 0; index < ops.size(); ++index)
    for (Value operand : ops[index]->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (ofLastRound && argument && argument.getOwner() == loop.getBody() &&
          argument != loop.getInductionVar())
        operand = loop.getTiedLoopYieldedValue(argument)->get();
      Operation *def = operand.getDefiningOp();
      if (!def || def->getBlock() != loop.getBody() || ops.contains(def) ||
          early.contains(def))
        continue;
      if (!isMemoryEffectFree(def) || def->getNumRegions() != 0)
        return failure();
      ops.insert(def);
    }
  return success();
}

/// Adds the dot and what brings its operands, if they come from memory.
LogicalResult CarriedDots::addDot(Ops &ops, DotOp dot, bool ofLastRound) {
  // An operand in registers would have to be computed first.
  if (!isSharedBuffer(dot.getA().getType()))
    return failure();
  Ops added;
  added.insert(dot);
  for (Value buffer : getRingBuffers(dot)) {
    auto ring = rings.find(buffer);
    if (ring == rings.end())
      continue;
    for (Operation *op : ring->second.fills) {
      if (isa<LocalStoreOp>(op))
        return failure();
      if (!early.contains(op))
        added.insert(op);
    }
    WalkResult walk = loop->walk([&](ZeroRowsOp zero) {
      return getRingBuffer(zero.getBuffer()) == buffer ? WalkResult::interrupt()
                                                       : WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  if (failed(addNeeds(added, ofLastRound)))
    return failure();
  ops.insert_range(added);
  return success();
}

LogicalResult CarriedDots::analyze() {
  if (earlyDots.empty() || lateDots.empty())
    return failure();
  for (DotOp dot : llvm::concat<DotOp>(earlyDots, lateDots)) {
    DotWaitOp wait = getDotWait(dot);
    if (!wait || wait->getBlock() != loop.getBody())
      return failure();
  }
  rings = findRings(loop.getBody());
  for (DotOp dot : earlyDots)
    if (failed(addDot(early, dot, /*ofLastRound=*/true)))
      return failure();
  for (DotOp dot : lateDots)
    (void)addDot(lead, dot, /*ofLastRound=*/false);
  splitViews();
  return success();
}

/// Views of their own for those who stay: the loop carries numbers of stages,
/// not views.
void CarriedDots::splitViews() {
  for (Operation *op : early) {
    auto view = dyn_cast<StageOp>(op);
    if (!view)
      continue;
    for (OpOperand &use :
         llvm::make_early_inc_range(view.getResult().getUses()))
      if (!early.contains(use.getOwner()))
        use.set(OpBuilder(use.getOwner()).clone(*view)->getResult(0));
  }
}

StagedOrder CarriedDots::getOrder() {
  Operation *last = lateDots.front(), *wait = getDotWait(earlyDots.front());
  for (DotOp dot : lateDots)
    if (last->isBeforeInBlock(dot))
      last = dot;
  for (DotOp dot : earlyDots)
    if (wait->isBeforeInBlock(getDotWait(dot)))
      wait = getDotWait(dot);
  StagedOrder order;
  Ops placed;
  auto append = [&](unsigned stage, function_ref<bool(Operation *)> belongs) {
    for (Operation &op : loop.getBody()->without_terminator())
      if (early.contains(&op) == (stage == 0) && belongs(&op) &&
          placed.insert(&op))
        order.emplace_back(&op, stage);
  };
  append(1, [&](Operation *op) { return !wait->isBeforeInBlock(op); });
  append(1, [&](Operation *op) { return lead.contains(op); });
  append(1, [&](Operation *op) { return !last->isBeforeInBlock(op); });
  append(0, [](Operation *) { return true; });
  append(1, [](Operation *) { return true; });
  return order;
}
