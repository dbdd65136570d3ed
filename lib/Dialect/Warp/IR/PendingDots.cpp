//===- PendingDots.cpp - Sources of outstanding dots ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows the results of asynchronous dots through loops and branches.
// Lowerings use the counts to choose the immediate of `wgmma.wait_group`.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

RankedTensorType warp::getDeliveredType(Type type) {
  if (auto pending = dyn_cast<PendingType>(type))
    return pending.getTile();
  return dyn_cast<RankedTensorType>(type);
}

namespace {
/// A value that may become another one, and the op at which it does.
struct Source {
  Value value;
  Operation *at;
};
} // namespace

/// Returns the values that a loop-carried value or a result of a branch may be;
/// none if another op defines the value.
static SmallVector<Source> getSources(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op = argument ? argument.getOwner()->getParentOp()
                           : cast<OpResult>(value).getOwner();
  unsigned index = argument ? argument.getArgNumber()
                            : cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (argument && index == 0)
      return {};
    index -= argument ? 1 : 0;
    return {{loop.getInitArgs()[index], loop},
            {loop.getYieldedValues()[index], loop.getBody()->getTerminator()}};
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    if (!branch.elseBlock())
      return {};
    return {{branch.thenYield().getOperand(index), branch.thenYield()},
            {branch.elseYield().getOperand(index), branch.elseYield()}};
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    if (argument && argument.getOwner() == loop.getBeforeBody())
      return {{loop.getInits()[index], loop},
              {loop.getYieldOp().getOperand(index), loop.getYieldOp()}};
    return {{loop.getConditionOp().getArgs()[index], loop.getConditionOp()}};
  }
  return {};
}

FailureOr<SmallVector<DotOp>> warp::findDots(Value pending) {
  llvm::SetVector<Value> values;
  values.insert(pending);
  SmallVector<DotOp> dots;
  for (size_t index = 0; index < values.size(); ++index) {
    Value value = values[index];
    if (auto dot = value.getDefiningOp<DotOp>()) {
      dots.push_back(dot);
      continue;
    }
    if (value.getDefiningOp<BeginSumOp>())
      continue;
    SmallVector<Source> sources = getSources(value);
    if (sources.empty())
      return failure();
    for (const Source &source : sources)
      values.insert(source.value);
  }
  return dots;
}

/// Counts the dots that are always executed from `first`, in its block, up to
/// `end`.
static int64_t countDots(Operation *first, Operation *end) {
  int64_t count = 0;
  Operation *last = first->getBlock()->findAncestorOpInBlock(*end);
  for (Operation *op = first; op != last; op = op->getNextNode())
    count += isa<DotOp>(op);
  for (Operation *op = end; op != last; op = op->getParentOp())
    for (Operation &before : *op->getBlock()) {
      if (&before == op)
        break;
      count += isa<DotOp>(before);
    }
  return count;
}

static std::optional<int64_t> countYounger(Value value, Operation *end,
                                           llvm::DenseSet<Value> &seen) {
  // Another iteration of a loop only increases the count.
  if (value.getDefiningOp<BeginSumOp>() || !seen.insert(value).second)
    return std::nullopt;
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *first = argument ? &argument.getOwner()->front()
                              : value.getDefiningOp()->getNextNode();
  int64_t count = countDots(first, end);
  if (value.getDefiningOp<DotOp>())
    return count;
  std::optional<int64_t> least;
  for (const Source &source : getSources(value))
    if (auto before = countYounger(source.value, source.at, seen))
      least = std::min(least.value_or(*before), *before);
  if (!least)
    return std::nullopt;
  return *least + count;
}

/// Returns the youngest dot of `dot`'s block with a wait before `end`; all
/// older dots are then done.
static DotOp findYoungestDone(DotOp dot, Operation *end) {
  DotOp youngest = dot;
  for (Operation *op = dot->getNextNode(); op && op != end;
       op = op->getNextNode()) {
    auto wait = dyn_cast<DotWaitOp>(op);
    auto done = wait ? wait.getPending().getDefiningOp<DotOp>() : DotOp();
    if (done && done->getBlock() == dot->getBlock() &&
        youngest->isBeforeInBlock(done))
      youngest = done;
  }
  return youngest;
}

std::optional<int64_t> warp::countYoungerDots(Value pending, Operation *op) {
  // A larger count would also be correct after an earlier wait, but ptxas then
  // assumes that the registers of outstanding work are read (C7514).
  if (auto dot = pending.getDefiningOp<DotOp>())
    pending = findYoungestDone(dot, op).getResult();
  llvm::DenseSet<Value> seen;
  return countYounger(pending, op, seen);
}
