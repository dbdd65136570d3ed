//===- LoopSteps.cpp - Steps of the plan's order in a loop ----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the ops of a loop body that the steps of a plan's order name.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/LoopSteps.h"

#include "Pipelines/Ring.h"
#include "Scheduling/AsyncDots.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

/// True if the op has that name or is a member of that family.
static bool isNamed(tile::NamedOpInterface op, StringRef name) {
  StringAttr attr = op.getNameAttr();
  return attr && (attr.getValue() == name || tile::getFamily(attr) == name);
}

/// The op of the loop body that is or contains `op`; null if another loop is in
/// between.
static Operation *inBody(scf::ForOp loop, Operation *op) {
  return op->getParentOfType<LoopLikeOpInterface>() == loop
             ? loop.getBody()->findAncestorOpInBlock(*op)
             : nullptr;
}

/// The shared loads of the tiles that copies named `name` load.
static void addLoads(scf::ForOp loop, StringRef name,
                     llvm::SetVector<Operation *> &ops) {
  llvm::SetVector<Value> buffers;
  loop.walk([&](CopyOp copy) {
    if (isNamed(copy, name))
      buffers.insert(getRingBuffer(copy.getTarget()));
  });
  loop.walk([&](LocalLoadOp load) {
    Operation *op = inBody(loop, load);
    if (op && buffers.contains(getRingBuffer(load.getSource())))
      ops.insert(op);
  });
}

/// Adds the op of the loop body that computes a value.
static void addSource(scf::ForOp loop, Value value,
                      llvm::SetVector<Operation *> &ops) {
  Operation *def = value.getDefiningOp();
  if (def && !isa<StageOp>(def) && loop->isProperAncestor(def))
    ops.insert(loop.getBody()->findAncestorOpInBlock(*def));
}

/// Adds the fence, the commit and the wait that follow a store to a ring.
static void addPublication(scf::ForOp loop, LocalStoreOp store,
                           llvm::SetVector<Operation *> &ops) {
  Operation *body = loop.getBody()->findAncestorOpInBlock(*store);
  for (Operation *fill :
       findRings(loop.getBody()).lookup(getRingBuffer(store.getTarget())).fills)
    if (body->isBeforeInBlock(fill))
      ops.insert(fill);
}

/// The ops of the loop with that name that do not move data between global and
/// shared memory.
static SmallVector<Operation *> findNamed(scf::ForOp loop, StringRef name) {
  SmallVector<Operation *> ops;
  loop.walk([&](tile::NamedOpInterface named) {
    if (!isa<CopyOp, tile::LoadOp>(named) && isNamed(named, name) &&
        inBody(loop, named))
      ops.push_back(named);
  });
  return ops;
}

static llvm::SetVector<Operation *> findOps(scf::ForOp loop, StringRef name) {
  llvm::SetVector<Operation *> ops;
  for (Operation *op : findNamed(loop, name)) {
    if (auto store = dyn_cast<LocalStoreOp>(op))
      addSource(loop, store.getValue(), ops);
    else
      ops.insert(inBody(loop, op));
  }
  if (ops.empty())
    addLoads(loop, name, ops);
  return ops;
}

static void addPart(scf::ForOp loop, Operation *op, plan::StepPart part,
                    llvm::SetVector<Operation *> &ops) {
  if (auto store = dyn_cast<LocalStoreOp>(op)) {
    if (part == plan::StepPart::Store)
      ops.insert(loop.getBody()->findAncestorOpInBlock(*store));
    else if (part == plan::StepPart::Done)
      addPublication(loop, store, ops);
    return;
  }
  auto dot = dyn_cast<DotOp>(op);
  if (!dot)
    return;
  if (part == plan::StepPart::Operand)
    return addSource(loop, dot.getA(), ops);
  if (part == plan::StepPart::Wide) {
    if (auto round = dot.getA().getDefiningOp<arith::TruncFOp>())
      addSource(loop, round.getIn(), ops);
    return;
  }
  if (part == plan::StepPart::Accumulator)
    return addSource(loop, dot.getAcc(), ops);
  for (Operation *user : dot->getUsers())
    if ((part == plan::StepPart::Done && isa<DotWaitOp>(user)) ||
        (part == plan::StepPart::Read && isa<AwaitReadsOp>(user)))
      if (Operation *wait = inBody(loop, user))
        ops.insert(wait);
}

void warp::makeListedDotsAsync(scf::ForOp loop, plan::KernelAttr plan) {
  for (plan::StepAttr step : plan.getOrder())
    if (step.getPart() == plan::StepPart::Done)
      for (Operation *op : findNamed(loop, step.getOpName()))
        if (auto dot = dyn_cast<DotOp>(op); dot && !dot.getAsync())
          makeAsync(dot);
}

bool warp::isListed(plan::KernelAttr plan, DotOp dot, plan::StepPart part) {
  return llvm::any_of(plan.getOrder(), [&](plan::StepAttr step) {
    return step.getPart() == part && isNamed(dot, step.getOpName());
  });
}

SmallVector<LoopStep> warp::findSteps(scf::ForOp loop, plan::KernelAttr plan) {
  SmallVector<LoopStep> steps;
  for (plan::StepAttr attr : plan.getOrder()) {
    LoopStep step{attr.getName().str(), attr.getPart(), attr.getStage()};
    if (attr.getPart() == plan::StepPart::Rest) {
      steps.push_back(step);
      continue;
    }
    llvm::SetVector<Operation *> ops;
    if (attr.getPart() == plan::StepPart::Op)
      ops = findOps(loop, attr.getOpName());
    else
      for (Operation *op : findNamed(loop, attr.getOpName()))
        addPart(loop, op, attr.getPart(), ops);
    step.ops = ops.takeVector();
    if (!step.ops.empty())
      steps.push_back(step);
  }
  // A step that names a member precedes the step of its family.
  for (LoopStep &step : steps)
    llvm::erase_if(step.ops, [&](Operation *op) {
      return llvm::any_of(steps, [&](const LoopStep &other) {
        return other.name.size() > step.name.size() &&
               llvm::is_contained(other.ops, op);
      });
    });
  llvm::erase_if(steps, [&](const LoopStep &step) {
    return step.ops.empty() && step.part != plan::StepPart::Rest;
  });
  return steps;
}
