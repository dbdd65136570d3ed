//===- LaneOrder.cpp - Where lanes must synchronise -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the arrivals before which the lanes of a warp must synchronise.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/LaneOrder.h"

#include "fovea/Dialect/Launch/IR/Launch.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

//===----------------------------------------------------------------------===//
// Ops of the interfaces
//===----------------------------------------------------------------------===//

/// Matrices are loaded by collective instructions.
bool LocalLoadOp::isAccessByLanes() {
  return getType().getDimSize(0) == 1 || isRowVector(getSource().getType());
}

Value LocalLoadOp::getAccessedBuffer() { return getSource(); }

Value LocalStoreOp::getAccessedBuffer() { return getTarget(); }

/// Neither TMA nor MMA units read buffers with one element per row.
LaneFence LocalStoreOp::getLaneFences() {
  return isRowVector(getTarget().getType()) ? LaneFence::None
                                            : LaneFence::AsyncProxy;
}

Value TmemLoadOp::getAccessedBuffer() { return getSource(); }

LaneFence TmemLoadOp::getLaneFences() { return LaneFence::TmemLoads; }

Value TmemStoreOp::getAccessedBuffer() { return getTarget(); }

LaneFence TmemStoreOp::getLaneFences() { return LaneFence::TmemStores; }

LaneFence FenceStoresOp::getFences() { return LaneFence::AsyncProxy; }

Value FenceStoresOp::getFencedBuffer() { return getBuffer(); }

LaneFence SyncLanesOp::getFences() {
  LaneFence fences = LaneFence::None;
  if (getAsyncProxy())
    fences |= LaneFence::AsyncProxy;
  if (getTmemLoads())
    fences |= LaneFence::TmemLoads;
  if (getTmemStores())
    fences |= LaneFence::TmemStores;
  return fences;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

Region *warp::getRole(Operation *op) {
  Region *region = op->getParentRegion();
  while (region && !isa<SpecializeOp>(region->getParentOp()))
    region = region->getParentRegion();
  return region;
}

Value warp::getShared(Value value) {
  while (true) {
    if (auto stage = value.getDefiningOp<StageOp>()) {
      value = stage.getBuffer();
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(value);
    auto op =
        argument
            ? dyn_cast_or_null<SpecializeOp>(argument.getOwner()->getParentOp())
            : SpecializeOp();
    if (!op)
      return value;
    value = op.getCaptures()[argument.getArgNumber()];
  }
}

/// Returns true if each warp holds all result tiles whole.
static bool hasWarpLocalResults(Operation *op) {
  return llvm::all_of(op->getResultTypes(), isReplicatedPerWarp);
}

/// Returns true if one of the role's threads issues the op, which completes
/// asynchronously: all other threads of the role would only wait.
static bool isIssued(Operation *op) {
  if (auto copy = dyn_cast<CopyOp>(op))
    return copy.getAsync();
  return isa<DotIntoOp, CommitAfterDotsOp, ReleaseAfterDotsOp, CopyOutOp,
             CopyOutWaitOp>(op);
}

bool warp::fitsOneWarp(Region &role) {
  auto roles = cast<SpecializeOp>(role.getParentOp());
  // In a role of whole warp groups each warp copies out the rows that it
  // stored.
  bool hasGroups = roles.getWarps()[role.getRegionNumber()] % kGroupWarps == 0;
  role.walk([&](DotIntoOp) { hasGroups = false; });
  WalkResult walk = role.walk([&](Operation *op) -> WalkResult {
    if (isa<ProducerAcquireOp, ProducerCommitOp, SendOp, FetchWorkOp,
            FinishWorkOp, SyncLanesOp, memref::LoadOp, launch::AwaitPreviousOp>(
            op) ||
        op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
      return WalkResult::advance();
    if (isa<CopyOp>(op))
      return isIssued(op) ? WalkResult::advance() : WalkResult::interrupt();
    if (!hasGroups &&
        (isIssued(op) ||
         isa<ConsumerWaitOp, ConsumerReleaseOp, ReceiveOp, ZeroRowsOp>(op)))
      return WalkResult::advance();
    bool readsOnly =
        isMemoryEffectFree(op) || hasSingleEffect<MemoryEffects::Read>(op);
    return readsOnly && hasWarpLocalResults(op) ? WalkResult::advance()
                                                : WalkResult::interrupt();
  });
  return !walk.wasInterrupted();
}

bool warp::usesTensorMemory(Block &role) {
  return role
      .walk([](Operation *op) {
        return isa<TmemLoadOp, TmemStoreOp, DotIntoOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool storesTensorMemory(Region &role) {
  return role.walk([](TmemStoreOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Uses of stages
//===----------------------------------------------------------------------===//

bool warp::ordersTensorMemory(PipelineOpInterface start) {
  if (start.signalsAfterDots())
    return true;
  if (start.isLaneArrival())
    return false;
  for (Operation *op = start->getNextNode(); op; op = op->getNextNode()) {
    auto end = dyn_cast<PipelineOpInterface>(op);
    if (end && end.getPipeline() == start.getPipeline())
      return false;
    WalkResult walk = op->walk([](Operation *nested) {
      return isa<TmemLoadOp, TmemStoreOp>(nested) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return true;
  }
  return false;
}

/// Returns true if the buffer is a stage with the given index.
static bool isStage(Value buffer, Value index) {
  auto stage = buffer.getDefiningOp<StageOp>();
  return stage && isEqualConstantIntOrValue(getAsOpFoldResult(stage.getStage()),
                                            getAsOpFoldResult(index));
}

/// Returns true if lanes access the stage by themselves in the op.
static bool isAccessedByLanes(Value stage, Operation &op) {
  auto isAccess = [&](LaneAccessOpInterface access) {
    return access.isAccessByLanes() &&
                   isStage(access.getAccessedBuffer(), stage)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  return op.walk(isAccess).wasInterrupted();
}

/// The fences that the accesses between the acquire of a stage and its commit
/// need.
static LaneFence getFencesOfFill(PipelineOpInterface commit) {
  LaneFence fences = LaneFence::None;
  for (Operation *op = commit->getPrevNode(); op; op = op->getPrevNode()) {
    auto acquire = dyn_cast<PipelineOpInterface>(op);
    if (acquire && acquire.getOpKind() == PipelineOpKind::Acquire &&
        acquire.getPipeline() == commit.getPipeline())
      break;
    op->walk([&](LaneAccessOpInterface access) {
      if (hasEffect<MemoryEffects::Write>(access.getOperation()))
        fences |= access.getLaneFences();
    });
  }
  return fences;
}

/// The fences before the last ops at which lanes synchronise, if only
/// arithmetic and, optionally, other arrivals separate these ops from this
/// arrival.
static std::optional<LaneFence> findFencesBefore(PipelineOpInterface arrival,
                                                 bool throughArrivals) {
  std::optional<LaneFence> fences;
  for (Operation *op = arrival->getPrevNode(); op; op = op->getPrevNode()) {
    auto sync = dyn_cast<LaneSyncOpInterface>(op);
    if (sync && sync.synchronizesLanes()) {
      Value buffer = sync.getFencedBuffer();
      bool isFenced = !buffer || isStage(buffer, arrival.getStage());
      fences = fences.value_or(LaneFence::None) |
               (isFenced ? sync.getFences() : LaneFence::None);
      continue;
    }
    auto other = dyn_cast<PipelineOpInterface>(op);
    bool isPassed =
        throughArrivals && !fences && other && other.isLaneArrival();
    if (!isMemoryEffectFree(op) && !isPassed)
      break;
  }
  return fences;
}

//===----------------------------------------------------------------------===//
// LaneOrder
//===----------------------------------------------------------------------===//

LaneOrder::LaneOrder(gpu::GPUFuncOp kernel) {
  kernel.walk([&](SpecializeOp op) {
    for (Region &role : op.getRoles())
      roles[&role] = {fitsOneWarp(role), usesTensorMemory(role.front()),
                      storesTensorMemory(role)};
  });
  kernel.walk([&](PipelineOpInterface op) {
    if (ordersTensorMemory(op))
      tensorPipelines.insert(getShared(op.getPipeline()));
  });
}

/// Only accesses to the stage must precede its release. Its block suffices: if
/// loads of the stage are in others, other barriers order them.
std::optional<LaneFence>
LaneOrder::getMissingSyncOfRelease(PipelineOpInterface release) const {
  for (Operation *op = release->getPrevNode(); op; op = op->getPrevNode()) {
    auto sync = dyn_cast<LaneSyncOpInterface>(op);
    if (sync && sync.synchronizesLanes())
      return std::nullopt;
    if (isAccessedByLanes(release.getStage(), *op))
      return LaneFence::None;
  }
  return std::nullopt;
}

std::optional<LaneFence>
LaneOrder::getMissingSync(PipelineOpInterface arrival) const {
  auto found = roles.find(getRole(arrival));
  // Outside of roles all threads of the CTA synchronise.
  if (found == roles.end() || !arrival.isLaneArrival())
    return std::nullopt;
  const RoleFacts &role = found->second;
  bool ordersTensors =
      role.usesTensorMemory &&
      tensorPipelines.contains(getShared(arrival.getPipeline()));
  bool isCommit = arrival.getOpKind() == PipelineOpKind::Commit;
  if (!isCommit && !ordersTensors)
    return getMissingSyncOfRelease(arrival);
  if (isCommit && !ordersTensors && role.fitsOneWarp)
    return std::nullopt;
  LaneFence fences = LaneFence::None;
  if (isCommit && !role.fitsOneWarp)
    fences |= getFencesOfFill(arrival) & LaneFence::AsyncProxy;
  // Conservative: the stage may be filled in another block.
  if (isCommit && !role.fitsOneWarp && !role.usesTensorMemory)
    fences |= LaneFence::AsyncProxy;
  if (ordersTensors)
    fences |= LaneFence::TmemLoads;
  if (ordersTensors && role.storesTensorMemory)
    fences |= LaneFence::TmemStores;
  std::optional<LaneFence> before =
      findFencesBefore(arrival, /*throughArrivals=*/ordersTensors);
  if (!before)
    return fences;
  // The lanes synchronise again after each missing fence.
  if (containsAll(*before, fences))
    return std::nullopt;
  return fences & ~*before;
}
