//===- PrefetchMma.cpp - Prefetch dots in tensor memory -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the prefetch of `warp.dot_into`. The ops that move form one group
// per dot: the pipeline ops of its result, of its operands, and the dot itself.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/PrefetchMma.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
/// A dot, the ops that load its operands and the pipeline ops of its result, in
/// order.
struct Group {
  DotIntoOp dot;
  SmallVector<Operation *> ops;
  /// The group of the next iteration goes after this op.
  Operation *anchor = nullptr;
};

/// Values of another iteration, recomputed at the insertion point.
class Iteration {
public:
  Iteration(scf::ForOp loop) : loop(loop) {}
  virtual ~Iteration() = default;

  /// True if `value` can be computed there.
  bool canGet(Value value) {
    if (!isInLoop(value))
      return true;
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument == loop.getInductionVar() || canGetCarried(argument);
    return canCopy(value.getDefiningOp()) &&
           llvm::all_of(value.getDefiningOp()->getOperands(),
                        [&](Value operand) { return canGet(operand); });
  }
  /// Returns `value` of that iteration, emitted with `b` if needed.
  Value get(OpBuilder &b, Value value) {
    if (!isInLoop(value))
      return value;
    if (Value known = mapping.lookupOrNull(value))
      return known;
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return copy(b, value, mapping,
                  [&](Value operand) { return get(b, operand); });
    Value found = argument == loop.getInductionVar() ? getIndex(b)
                                                     : getCarried(b, argument);
    mapping.map(value, found);
    return found;
  }
  /// Clones `op` with the operands of that iteration.
  void clone(OpBuilder &b, Operation *op) {
    for (Value operand : op->getOperands())
      get(b, operand);
    b.clone(*op, mapping);
  }

protected:
  bool isInLoop(Value value) {
    return loop->isAncestor(value.getParentBlock()->getParentOp());
  }
  bool canCopy(Operation *op) {
    return op->getBlock() == loop.getBody() && op->getNumRegions() == 0 &&
           isMemoryEffectFree(op);
  }
  Value copy(OpBuilder &b, Value value, IRMapping &into,
             function_ref<Value(Value)> getOperand) {
    Operation *def = value.getDefiningOp();
    for (Value operand : def->getOperands())
      into.map(operand, getOperand(operand));
    b.clone(*def, into);
    return into.lookup(value);
  }

  virtual Value getIndex(OpBuilder &b) = 0;
  virtual bool canGetCarried(BlockArgument argument) = 0;
  virtual Value getCarried(OpBuilder &b, BlockArgument argument) = 0;

  scf::ForOp loop;
  IRMapping mapping;
};

/// Values of the first iteration, before the loop.
class FirstIteration : public Iteration {
public:
  using Iteration::Iteration;
  Value getIndex(OpBuilder &) override { return loop.getLowerBound(); }
  bool canGetCarried(BlockArgument) override { return true; }
  Value getCarried(OpBuilder &, BlockArgument argument) override {
    return loop.getTiedLoopInit(argument)->get();
  }
};

/// Values of the next iteration, after an op of this iteration.
class NextIteration : public Iteration {
public:
  NextIteration(scf::ForOp loop, Operation *anchor)
      : Iteration(loop), anchor(anchor) {}

  Value getIndex(OpBuilder &b) override {
    return arith::AddIOp::create(b, loop.getLoc(), loop.getInductionVar(),
                                 loop.getStep());
  }
  bool canGetCarried(BlockArgument argument) override {
    return canGetAtAnchor(loop.getTiedLoopYieldedValue(argument)->get());
  }
  Value getCarried(OpBuilder &b, BlockArgument argument) override {
    return getAtAnchor(b, loop.getTiedLoopYieldedValue(argument)->get());
  }

private:
  /// True if a value of this iteration dominates the insertion point.
  bool isAvailable(Value value) {
    Operation *def = value.getDefiningOp();
    if (!isInLoop(value) || !def)
      return true;
    Operation *ancestor = loop.getBody()->findAncestorOpInBlock(*def);
    return ancestor == anchor || ancestor->isBeforeInBlock(anchor);
  }
  bool canGetAtAnchor(Value value) {
    return isAvailable(value) ||
           (canCopy(value.getDefiningOp()) &&
            llvm::all_of(
                value.getDefiningOp()->getOperands(),
                [&](Value operand) { return canGetAtAnchor(operand); }));
  }
  Value getAtAnchor(OpBuilder &b, Value value) {
    if (isAvailable(value))
      return value;
    if (Value known = now.lookupOrNull(value))
      return known;
    return copy(b, value, now,
                [&](Value operand) { return getAtAnchor(b, operand); });
  }

  Operation *anchor;
  IRMapping now;
};

class PrefetchMma {
public:
  PrefetchMma(scf::ForOp loop, ArrayRef<DotIntoOp> dots)
      : loop(loop), dots(dots), groups(dots.size()) {}

  LogicalResult analyze();
  void move();

private:
  template <typename Op>
  Op findPipelineOp(Value pipeline) {
    for (Operation *user : pipeline.getUsers())
      if (auto op = dyn_cast<Op>(user); op && op->getBlock() == loop.getBody())
        return op;
    return {};
  }
  LogicalResult findGroups();
  LogicalResult addResult(Group &group);
  LogicalResult addOperands();
  Operation *findAnchor(Group &group);

  scf::ForOp loop;
  ArrayRef<DotIntoOp> dots;
  SmallVector<Group> groups;
};
} // namespace

//===----------------------------------------------------------------------===//
// Find the ops that move
//===----------------------------------------------------------------------===//

/// Adds the acquire and the commit of the stage that the dot writes.
LogicalResult PrefetchMma::addResult(Group &group) {
  for (Operation *op = group.dot->getNextNode(); op; op = op->getNextNode()) {
    auto commit = dyn_cast<CommitAfterDotsOp>(op);
    if (!commit)
      continue;
    auto acquire = findPipelineOp<ProducerAcquireOp>(commit.getPipeline());
    if (!acquire || !acquire->isBeforeInBlock(group.dot))
      return failure();
    group.ops.append({acquire, group.dot, commit});
    return success();
  }
  return failure();
}

/// Adds the copies of operands in this loop to the first dot that reads them,
/// and the releases of their stages to the last one.
LogicalResult PrefetchMma::addOperands() {
  llvm::MapVector<Value, SmallVector<unsigned>> rings;
  for (auto [index, group] : llvm::enumerate(groups))
    for (Value operand : {Value(group.dot.getA()), Value(group.dot.getB())}) {
      auto stage = operand.getDefiningOp<StageOp>();
      if (stage && stage->getBlock() == loop.getBody())
        rings[stage.getBuffer()].push_back(index);
      else if (!stage && isTmemBuffer(operand.getType()))
        return failure();
    }
  for (auto &[ring, readers] : rings) {
    CopyOp copy;
    for (Operation *user : ring.getUsers()) {
      auto stage = dyn_cast<StageOp>(user);
      if (!stage || !loop->isAncestor(stage))
        continue;
      for (Operation *op : stage->getUsers()) {
        if (auto found = dyn_cast<CopyOp>(op);
            found && found->getBlock() == loop.getBody() && !copy)
          copy = found;
        else if (!llvm::is_contained(dots, op))
          return failure();
      }
    }
    if (!copy)
      return failure();
    Operation *before = copy->getPrevNode();
    while (before && !isa<ProducerAcquireOp>(before))
      before = before->getPrevNode();
    if (!before)
      return failure();
    auto acquire = cast<ProducerAcquireOp>(before);
    Value pipeline = acquire.getPipeline();
    auto commit = findPipelineOp<ProducerCommitOp>(pipeline);
    auto wait = findPipelineOp<ConsumerWaitOp>(pipeline);
    auto release = findPipelineOp<ReleaseAfterDotsOp>(pipeline);
    if (!commit || !wait || !release)
      return failure();
    groups[readers.front()].ops.append({acquire, copy, commit, wait});
    groups[readers.back()].ops.push_back(release);
  }
  return success();
}

LogicalResult PrefetchMma::findGroups() {
  for (auto [group, dot] : llvm::zip_equal(groups, dots)) {
    group.dot = dot;
    if (failed(addResult(group)))
      return failure();
  }
  if (failed(addOperands()))
    return failure();
  // A shared pipeline op would have to move twice, for example a commit after
  // two dots or a stage that two rings share.
  llvm::SmallPtrSet<Operation *, 32> moved;
  for (Group &group : groups) {
    for (Operation *op : group.ops)
      if (!moved.insert(op).second)
        return failure();
    llvm::sort(group.ops, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
  }
  return success();
}

/// The last op that uses the memory that the dot overwrites, or the last
/// release or commit that directly follows it.
Operation *PrefetchMma::findAnchor(Group &group) {
  Operation *last = group.ops.back();
  auto use = [&](Operation *op) {
    Operation *ancestor = loop.getBody()->findAncestorOpInBlock(*op);
    if (ancestor && last->isBeforeInBlock(ancestor))
      last = ancestor;
  };
  for (Operation *user : group.dot.getAcc().getUsers()) {
    use(user);
    if (auto view = dyn_cast<TmemViewOp>(user))
      llvm::for_each(view->getUsers(), use);
  }
  while (isa<ReleaseAfterDotsOp, CommitAfterDotsOp>(last->getNextNode()))
    last = last->getNextNode();
  return last;
}

LogicalResult PrefetchMma::analyze() {
  if (failed(findGroups()))
    return failure();
  for (Group &group : groups)
    group.anchor = findAnchor(group);
  // The dots must keep their order, because a later one may wait for an earlier
  // one.
  for (auto [first, second] : llvm::zip(groups, ArrayRef(groups).drop_front()))
    if (second.anchor->isBeforeInBlock(first.anchor))
      return failure();
  FirstIteration first(loop);
  for (Group &group : groups) {
    NextIteration next(loop, group.anchor);
    for (Operation *op : group.ops)
      for (Value operand : op->getOperands())
        if (!first.canGet(operand) || !next.canGet(operand))
          return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Move them
//===----------------------------------------------------------------------===//

void PrefetchMma::move() {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  FirstIteration first(loop);
  for (Group &group : groups)
    for (Operation *op : group.ops)
      first.clone(b, op);
  for (Group &group : groups) {
    b.setInsertionPointAfter(group.anchor);
    NextIteration next(loop, group.anchor);
    Value index = next.get(b, loop.getInductionVar());
    auto predicate = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                           : arith::CmpIPredicate::slt;
    Value more =
        arith::CmpIOp::create(b, loc, predicate, index, loop.getUpperBound());
    auto branch = scf::IfOp::create(b, loc, more, /*withElseRegion=*/false);
    OpBuilder inside = branch.getThenBodyBuilder();
    for (Operation *op : group.ops)
      next.clone(inside, op);
  }
  for (Group &group : groups)
    for (Operation *op : llvm::reverse(group.ops))
      op->erase();
}

LogicalResult warp::prefetchDots(scf::ForOp loop, ArrayRef<DotIntoOp> dots) {
  PrefetchMma prefetch(loop, dots);
  if (failed(prefetch.analyze()))
    return failure();
  prefetch.move();
  return success();
}
