//===- SplitSemaphoreRoles.cpp - Turns that other roles ask for -----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A turn guards stores. Where the plan gives its wait to another role than
// theirs, that role asks for turns ahead of time and passes them on; where it
// gives the release to another role, that one waits until the stores are done,
// and who stores goes on. Both are pipelines that bring nothing: their phases
// say all.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Ring.h"
#include "Roles/RoleAssignment.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Support/ValueNames.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPSPLITSEMAPHOREROLES
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
/// A turn in a block: from its wait to its release, or null, with what it
/// guards.
struct Turn {
  tile::SemaphoreWaitOp wait;
  tile::SemaphoreReleaseOp release;
  /// In order.
  SmallVector<tile::StoreOp> stores;
};

/// A wait or a release that is another role's than the stores of its turn: both
/// sides of a pipeline that brings nothing.
struct HandOver {
  /// The wait or release.
  Operation *guard;
  /// Ops ahead of which the filler acquires a stage; ahead of which it has
  /// committed it, and the other role waits for that; and behind which that one
  /// gives it back.
  Operation *acquire, *pass, *release;
};

struct SplitSemaphoreRolesPass
    : warp::impl::WarpSplitSemaphoreRolesBase<SplitSemaphoreRolesPass> {
  void runOnKernel() override;

private:
  /// Turns that another role waits for than stores in them, or that another one
  /// ends.
  LogicalResult collect();
  LogicalResult check(Turn &turn, bool isApart);
  /// The owner of `name` fills the pipeline.
  LogicalResult handOver(ArrayRef<HandOver> places, StringAttr name,
                         int64_t stages);
  LogicalResult handOverWaits(MutableArrayRef<Turn> turns);
  LogicalResult handOverReleases(MutableArrayRef<Turn> turns);

  plan::KernelAttr plan;
  SmallVector<plan::RoleAttr> roles;
  /// By the names of their waits and releases: copies of one, as where a loop's
  /// last round stands behind it, share a pipeline.
  llvm::MapVector<StringAttr, SmallVector<Turn>> awaited, released;
};
} // namespace

/// The release of the same turn, behind the wait in its block.
static tile::SemaphoreReleaseOp findRelease(tile::SemaphoreWaitOp wait) {
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    auto release = dyn_cast<tile::SemaphoreReleaseOp>(op);
    if (release && release.getSemaphores() == wait.getSemaphores() &&
        llvm::equal(release.getIndices(), wait.getIndices()))
      return release;
  }
  return {};
}

/// Where nothing ends the turn, it guards the rest of the block.
static Turn findTurn(tile::SemaphoreWaitOp wait) {
  Turn turn = {wait, findRelease(wait), {}};
  for (Operation *op = wait->getNextNode(); op && op != turn.release;
       op = op->getNextNode())
    if (auto store = dyn_cast<tile::StoreOp>(op))
      turn.stores.push_back(store);
  return turn;
}

/// What is read in a turn of what is stored in it must be read by who stores,
/// which no name says.
static LogicalResult checkReads(Turn &turn) {
  for (Operation *op = turn.wait->getNextNode(); op != turn.release;
       op = op->getNextNode()) {
    auto load = dyn_cast<tile::LoadOp>(op);
    if (load && llvm::any_of(turn.stores, [&](tile::StoreOp store) {
          return store.getTarget() == load.getSource();
        }))
      return load.emitError("reads, in a turn that another role waits for or "
                            "ends, what is stored in it");
  }
  return success();
}

LogicalResult SplitSemaphoreRolesPass::check(Turn &turn, bool isApart) {
  plan::RoleAttr first = lookupOwner(roles, turn.stores.front().getNameAttr());
  for (tile::StoreOp store : turn.stores)
    if (plan::RoleAttr owner = lookupOwner(roles, store.getNameAttr());
        owner && first && owner != first)
      return store.emitError("is of role '")
             << owner.getName() << "' in a turn in which role '"
             << first.getName() << "' stores, too";
  if (!isApart)
    return success();
  if (!turn.release)
    return turn.wait.emitError("role '")
           << first.getName()
           << "' stores in a turn that another role waits for, and no release "
              "of it stands behind the wait in its block";
  return checkReads(turn);
}

LogicalResult SplitSemaphoreRolesPass::collect() {
  SmallVector<tile::SemaphoreWaitOp> waits;
  getOperation().walk(
      [&](tile::SemaphoreWaitOp wait) { waits.push_back(wait); });
  for (tile::SemaphoreWaitOp wait : waits) {
    Turn turn = findTurn(wait);
    if (turn.stores.empty())
      continue;
    plan::RoleAttr stores =
        lookupOwner(roles, turn.stores.front().getNameAttr());
    auto isApart = [&](StringAttr name) {
      return stores && lookupOwner(roles, name) != stores;
    };
    bool waitsApart = isApart(wait.getNameAttr()),
         endsApart = turn.release && isApart(turn.release.getNameAttr());
    if (failed(check(turn, waitsApart || endsApart)))
      return failure();
    if (waitsApart)
      awaited[wait.getNameAttr()].push_back(turn);
    if (endsApart)
      released[turn.release.getNameAttr()].push_back(turn);
  }
  return success();
}

LogicalResult SplitSemaphoreRolesPass::handOver(ArrayRef<HandOver> places,
                                          StringAttr name, int64_t stages) {
  Block &body = getOperation().getBody().front();
  Location first = places.front().guard->getLoc();
  OpBuilder b(body.findAncestorOpInBlock(*places.front().acquire));
  Value pipeline = PipelineOp::create(
      b, getNamedLoc(first, tile::getFamily(name) + "_pipeline"),
      PipelineType::get(&getContext(), stages), IntegerAttr(), name);
  Value zero = makeI32(b, first, 0);
  llvm::SetVector<Operation *> guards;
  for (const HandOver &place : places)
    guards.insert(place.guard);
  auto positions = carryPast(body, guards, {zero, zero}, stages);
  if (failed(positions))
    return failure();
  ++numPipelines;
  for (const HandOver &place : places) {
    RingState at = positions->lookup(place.guard);
    Location loc = place.guard->getLoc();
    b.setInsertionPoint(place.acquire);
    ProducerAcquireOp::create(b, loc, pipeline, at.stage, at.phase);
    b.setInsertionPoint(place.pass);
    ProducerCommitOp::create(b, loc, pipeline, at.stage, at.phase);
    ConsumerWaitOp::create(b, loc, pipeline, at.stage, at.phase);
    b.setInsertionPointAfter(place.release);
    ConsumerReleaseOp::create(b, loc, pipeline, at.stage, at.phase);
  }
  return success();
}

/// Who waits for the semaphore commits a stage; who stores waits for that, and
/// gives it back behind the last store.
LogicalResult SplitSemaphoreRolesPass::handOverWaits(MutableArrayRef<Turn> turns) {
  SmallVector<HandOver> places;
  for (Turn &turn : turns) {
    places.push_back(
        {turn.wait, turn.wait, turn.wait->getNextNode(), turn.stores.back()});
    // These are the other role's.
    turn.wait.getAfterMutable().clear();
  }
  StringAttr name = turns.front().wait.getNameAttr();
  return handOver(places, name, plan.getStream(name).stages);
}

/// Who stores commits a stage behind the last store; who releases the semaphore
/// waits for that. A release stands behind a fence, which waits for stores of
/// the next turn, too, as long as some are on their way. So there is one stage,
/// and of the next turn one store at most goes ahead of this one's end.
LogicalResult SplitSemaphoreRolesPass::handOverReleases(MutableArrayRef<Turn> turns) {
  SmallVector<HandOver> places;
  for (Turn &turn : turns) {
    size_t second = std::min<size_t>(1, turn.stores.size() - 1);
    places.push_back(
        {turn.release, turn.stores[second], turn.release, turn.release});
    turn.release.getAfterMutable().clear();
  }
  StringAttr name = turns.front().stores.back().getNameAttr();
  return handOver(places, name, /*stages=*/1);
}

void SplitSemaphoreRolesPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  plan = abi.getPlan();
  roles = getRoles(getOperation(), abi);
  if (roles.empty())
    return;
  awaited.clear();
  released.clear();
  if (failed(collect()))
    return signalPassFailure();
  for (auto &[name, turns] : awaited)
    if (failed(handOverWaits(turns)))
      return signalPassFailure();
  for (auto &[name, turns] : released)
    if (failed(handOverReleases(turns)))
      return signalPassFailure();
}
