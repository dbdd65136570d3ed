//===- InFlightMma.cpp - Dots in flight around a loop -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduling/InFlightMma.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

/// Adds what the ops compute with, of this round or, as far as the loop carries
/// it, of the last one. Fails if that can't be found without waiting.
LogicalResult InFlightMma::addNeeds(Ops &ops, bool ofLastRound) {
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
LogicalResult InFlightMma::addDot(Ops &ops, DotOp dot, bool ofLastRound) {
  // An operand in registers would have to be computed first.
  if (!isSharedBuffer(dot.getA().getType()))
    return failure();
  Ops added;
  added.insert(dot);
  for (Value buffer : getRingBuffers(dot)) {
    auto *ring = rings.find(buffer);
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

LogicalResult InFlightMma::analyze() {
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
void InFlightMma::splitViews() {
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

/// Whether nothing of what a dot in flight reads or gives can be touched by the
/// op, but by its operands.
static bool mayStandInFlight(Operation *op) {
  return isa<DotOp, tile::StoreOp, tile::SemaphoreWaitOp,
             tile::SemaphoreReleaseOp>(op) ||
         isMemoryEffectFree(op);
}

/// The round's own ops in their order, but that a wait stands where its result
/// is used: dots that follow each other are issued together.
SmallVector<Operation *> InFlightMma::sinkWaits() {
  SmallVector<Operation *> ops, waits;
  auto place = [&](size_t count) {
    ops.append(waits.begin(), waits.begin() + count);
    waits.erase(waits.begin(), waits.begin() + count);
  };
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (early.contains(&op))
      continue;
    if (auto wait = dyn_cast<DotWaitOp>(op);
        wait && llvm::is_contained(lateDots,
                                   wait.getPending().getDefiningOp<DotOp>())) {
      waits.push_back(wait);
      continue;
    }
    // Products are delivered in order: with one all before it.
    size_t needed = mayStandInFlight(&op) ? 0 : waits.size();
    for (auto [index, wait] : llvm::enumerate(waits))
      for (Operation *user : wait->getUsers())
        if (op.isAncestor(user))
          needed = std::max(needed, index + 1);
    place(needed);
    ops.push_back(&op);
  }
  place(waits.size());
  return ops;
}

StagedOrder InFlightMma::getOrder() {
  SmallVector<Operation *> own = sinkWaits();
  auto findLast = [&](ArrayRef<DotOp> dots) {
    auto isWait = [&](Operation *op) {
      return llvm::any_of(dots,
                          [&](DotOp dot) { return getDotWait(dot) == op; });
    };
    return std::find_if(own.rbegin(), own.rend(), isWait).base();
  };
  StagedOrder order;
  Ops placed;
  auto append = [&](ArrayRef<Operation *> ops) {
    for (Operation *op : ops)
      if (placed.insert(op))
        order.emplace_back(op, early.contains(op) ? 0 : 1);
  };
  auto appendAll = [&](const Ops &ops) {
    for (Operation &op : loop.getBody()->without_terminator())
      if (ops.contains(&op))
        append(&op);
  };
  // Behind the wait for the early ones; up to the wait for the last other one.
  append(ArrayRef(own).take_front(findLast(earlyDots) - own.begin()));
  appendAll(lead);
  append(ArrayRef(own).take_front(findLast(lateDots) - own.begin() - 1));
  appendAll(early);
  append(own);
  return order;
}
