//===- LoopDependences.cpp - Dependences of a loop body -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes the dependences of a loop body: values, the protocols of rings, and
// memory.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/LoopDependences.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

ArrayRef<LoopDependence> LoopDependences::getSources(Operation *op) const {
  auto found = sources.find(op);
  return found == sources.end() ? ArrayRef<LoopDependence>() : found->second;
}

ArrayRef<LoopDependence> LoopDependences::getTargets(Operation *op) const {
  auto found = targets.find(op);
  return found == targets.end() ? ArrayRef<LoopDependence>() : found->second;
}

void LoopDependences::add(Operation *from, Operation *to, int64_t distance,
                          LoopDependence::Kind kind) {
  if (from == to)
    return;
  sources[to].push_back({from, to, distance, kind});
  targets[from].push_back({from, to, distance, kind});
}

void LoopDependences::keepOrder(Operation *first, Operation *second,
                                LoopDependence::Kind kind) {
  if (isBefore(second, first))
    std::swap(first, second);
  add(first, second, /*distance=*/0, kind);
  add(second, first, /*distance=*/1, kind);
}

void LoopDependences::addValues(Operation *op) {
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      int64_t distance = 0;
      if (auto argument = dyn_cast<BlockArgument>(operand)) {
        if (argument.getOwner() != loop.getBody() ||
            argument == loop.getInductionVar())
          continue;
        operand = loop.getTiedLoopYieldedValue(argument)->get();
        distance = 1;
      }
      Operation *def = operand.getDefiningOp();
      if (def && loop->isProperAncestor(def))
        add(inBody(def), op, distance, LoopDependence::Value);
    }
  });
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

/// The op after which a dot has read its operands in shared memory: the last
/// wait for it in the loop, or the dot itself.
static Operation *getReadEnd(Operation *op) {
  auto dot = dyn_cast<DotOp>(op);
  if (!dot || !dot.getAsync())
    return op;
  Operation *end = op;
  for (Operation *user : dot->getUsers())
    if (isa<DotWaitOpInterface>(user) && user->getBlock() == op->getBlock() &&
        end->isBeforeInBlock(user))
      end = user;
  return end;
}

/// The readers and writers of a buffer in the loop: ops with a view of it.
static SmallVector<Operation *> getAccesses(scf::ForOp loop, Value buffer) {
  SmallVector<Operation *> accesses;
  SmallVector<Value> views = {buffer};
  for (size_t index = 0; index < views.size(); ++index)
    for (Operation *user : views[index].getUsers()) {
      if (!loop->isProperAncestor(user))
        continue;
      if (isa<StageOp>(user))
        views.push_back(user->getResult(0));
      else
        accesses.push_back(user);
    }
  return accesses;
}

/// Orders the reads of a buffer, and the changes to it, between its fills and
/// its releases.
void LoopDependences::addReads(Value buffer, const RingOps &ring) {
  for (Operation *access : getAccesses(loop, buffer)) {
    Operation *reader = inBody(access);
    if (ring.fills.contains(reader))
      continue;
    for (Operation *fill : ring.fills) {
      // A read before the fill is of the previous iteration's contents.
      bool isFilled = isBefore(fill, reader);
      add(fill, reader, isFilled ? 0 : 1, LoopDependence::Stage);
      if (!isFilled)
        add(reader, fill, /*distance=*/0, LoopDependence::Stage);
    }
    Operation *end = inBody(getReadEnd(access));
    for (Operation *release : ring.releases)
      if (isBefore(reader, release))
        add(end, release, /*distance=*/0, LoopDependence::Stage);
    // Without a release, the next iteration's fill has to follow the read.
    if (ring.releases.empty())
      for (Operation *fill : ring.fills)
        add(end, fill, /*distance=*/1, LoopDependence::Memory);
    if (!isa<ZeroRowsOp>(access))
      continue;
    for (Operation *other : getAccesses(loop, buffer))
      if (isBefore(reader, inBody(other)))
        add(reader, inBody(other), /*distance=*/0, LoopDependence::Stage);
  }
}

void LoopDependences::addRings() {
  for (auto &[buffer, ring] : rings) {
    // Acquire, fills, commit and wait keep their order.
    SmallVector<Operation *> fills(ring.fills.getArrayRef());
    llvm::sort(fills,
               [&](Operation *a, Operation *b) { return isBefore(a, b); });
    for (auto [first, second] : llvm::zip(fills, ArrayRef(fills).drop_front()))
      add(first, second, /*distance=*/0, LoopDependence::Stage);
    addReads(buffer, ring);
    // A stage is acquired again after its release.
    for (Operation *release : ring.releases)
      for (Operation *fill : ring.fills)
        if (auto acquire = dyn_cast<ProducerAcquireOp>(fill);
            acquire && acquire.getPipeline() == release->getOperand(0))
          add(release, acquire,
              cast<PipelineType>(acquire.getPipeline().getType()).getStages(),
              LoopDependence::Stage);
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// The accesses of an op of the body to memory that is in no ring.
struct MemoryUse {
  Operation *op = nullptr;
  llvm::SmallVector<Value> read = {}, written = {}, added = {};
  /// Orders all writes: a semaphore, or an op with other effects.
  bool isFence = false;
};
} // namespace

static bool isPipelineOp(Operation *op) {
  return isa<ProducerAcquireOp, ProducerCommitOp, ConsumerWaitOp,
             ConsumerReleaseOp, CommitAfterDotsOp, ReleaseAfterDotsOp, CopyOp,
             DotOp, DotWaitOpInterface, FenceStoresOp>(op);
}

static MemoryUse getMemoryUse(Operation *op,
                              function_ref<bool(Value)> isInRing) {
  MemoryUse use{op};
  op->walk([&](Operation *nested) {
    if (isPipelineOp(nested) || isMemoryEffectFree(nested) ||
        nested->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
      return;
    if (isa<tile::SemaphoreWaitOp, tile::SemaphoreReleaseOp>(nested)) {
      use.isFence = true;
      return;
    }
    auto adds = dyn_cast<tile::AddsToMemoryOpInterface>(nested);
    auto effects = getEffectsRecursively(nested);
    if (!effects) {
      use.isFence = true;
      return;
    }
    for (MemoryEffects::EffectInstance &effect : *effects) {
      Value buffer = effect.getValue();
      use.isFence |= !buffer;
      if (!buffer || !isa<MemRefType>(buffer.getType()))
        continue;
      buffer = getRingBuffer(buffer);
      if (isInRing(buffer))
        continue;
      if (isa<MemoryEffects::Read>(effect.getEffect()))
        use.read.push_back(buffer);
      else if (adds && adds.isAddition() && adds.getTarget() == buffer)
        use.added.push_back(buffer);
      else
        use.written.push_back(buffer);
    }
  });
  return use;
}

/// True if the order of two uses of memory matters. Additions commute.
static bool conflict(const MemoryUse &a, const MemoryUse &b) {
  auto overlap = [](ArrayRef<Value> some, ArrayRef<Value> others) {
    return llvm::any_of(
        some, [&](Value one) { return llvm::is_contained(others, one); });
  };
  auto isOrdered = [](const MemoryUse &use) {
    return use.isFence || !use.written.empty() || !use.added.empty();
  };
  if (a.isFence || b.isFence)
    return isOrdered(a) && isOrdered(b);
  auto changes = [&](const MemoryUse &one, const MemoryUse &other) {
    return overlap(one.written, other.read) ||
           overlap(one.written, other.added) ||
           overlap(one.written, other.written) ||
           overlap(one.added, other.read);
  };
  return changes(a, b) || changes(b, a);
}

void LoopDependences::addMemory() {
  SmallVector<MemoryUse> uses;
  for (Operation *op : ops) {
    MemoryUse use =
        getMemoryUse(op, [&](Value buffer) { return rings.contains(buffer); });
    if (!use.isFence && use.read.empty() && use.written.empty() &&
        use.added.empty())
      continue;
    for (const MemoryUse &before : uses)
      if (conflict(before, use))
        keepOrder(before.op, op, LoopDependence::Memory);
    uses.push_back(std::move(use));
  }
}

LoopDependences::LoopDependences(scf::ForOp loop) : loop(loop) {
  for (Operation &op : loop.getBody()->without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    addValues(op);
  rings = findRings(loop.getBody());
  addRings();
  addMemory();
}
