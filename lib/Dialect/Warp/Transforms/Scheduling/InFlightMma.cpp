//===- InFlightMma.cpp - Loop-carried asynchronous dots -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the analysis and the op order for loop-carried asynchronous dots.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/InFlightMma.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

/// Adds the ops that compute the operands of `ops`. If `followCarried`, also
/// follows loop-carried values into the previous iteration. Fails if an operand
/// depends on an op with effects or regions.
LogicalResult InFlightMma::addOperandSlice(Ops &ops, bool followCarried) {
  for (size_t index = 0; index < ops.size(); ++index)
    for (Value operand : ops[index]->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand);
      if (followCarried && argument && argument.getOwner() == loop.getBody() &&
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

/// Adds the dot and the pipeline ops that load its operands. Fails if operand A
/// is in registers, or if threads write a buffer that the dot reads.
LogicalResult InFlightMma::addDot(Ops &ops, DotOp dot, bool followCarried) {
  // A register operand would have to be computed first.
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
  if (failed(addOperandSlice(added, followCarried)))
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
    if (failed(addDot(early, dot, /*followCarried=*/true)))
      return failure();
  for (DotOp dot : lateDots)
    (void)addDot(lead, dot, /*followCarried=*/false);
  splitViews();
  return success();
}

/// Clones stage views for the users that stay in stage 1, so that the loop
/// carries stage indices and not views.
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

/// True if the op can touch the operands and the result of an outstanding dot
/// only through its own SSA operands.
static bool canRunWhileOutstanding(Operation *op) {
  return isa<DotOp, tile::StoreOp, tile::SemaphoreWaitOp,
             tile::SemaphoreReleaseOp>(op) ||
         isMemoryEffectFree(op);
}

/// The stage-1 ops in their order, with each wait sunk to the first use of its
/// result. Consecutive dots are then issued together.
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
    // Dots complete in issue order: a wait also completes all earlier dots.
    size_t needed = canRunWhileOutstanding(&op) ? 0 : waits.size();
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
  SmallVector<Operation *> body = sinkWaits();
  auto findLast = [&](ArrayRef<DotOp> dots) {
    auto isWait = [&](Operation *op) {
      return llvm::any_of(dots,
                          [&](DotOp dot) { return getDotWait(dot) == op; });
    };
    return std::find_if(body.rbegin(), body.rend(), isWait).base();
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
  // `lead` goes after the last wait for an early dot; the early dots go before
  // the last wait for a late dot.
  append(ArrayRef(body).take_front(findLast(earlyDots) - body.begin()));
  appendAll(lead);
  append(ArrayRef(body).take_front(findLast(lateDots) - body.begin() - 1));
  appendAll(early);
  append(body);
  return order;
}
