//===- SplitSemaphoreRoles.cpp - Semaphore ops in their own roles ---------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A semaphore section (from a `tile.semaphore_wait` to its release) orders the
// stores in it. If the plan gives the wait to another role than the stores,
// that role acquires semaphore slots ahead of time and signals the storing
// role; if it gives the release to another role, that role waits for the stores
// to complete. Each signal is a pipeline without data. Runs before
// `warp-specialize`.
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
/// A semaphore section in a block: its wait, its release (or null) and the
/// stores that it orders.
struct SemaphoreSection {
  tile::SemaphoreWaitOp wait;
  tile::SemaphoreReleaseOp release;
  /// In program order.
  SmallVector<tile::StoreOp> stores;
};

/// A semaphore op whose role differs from that of its section's stores, and
/// the positions of the pipeline ops for the signal.
struct Signal {
  /// The semaphore wait or release.
  Operation *guard;
  /// The producer acquires a stage before `acquire` and commits it before
  /// `pass`, where the consumer waits for it. The consumer releases it after
  /// `release`.
  Operation *acquire, *pass, *release;
};

struct SplitSemaphoreRolesPass
    : warp::impl::WarpSplitSemaphoreRolesBase<SplitSemaphoreRolesPass> {
  void runOnKernel() override;

private:
  /// Collects the sections whose wait or release belongs to another role than
  /// their stores.
  LogicalResult collect();
  LogicalResult check(SemaphoreSection &section, bool isApart);
  /// Emits the pipeline ops. The owner of `name` is the producer.
  LogicalResult emitSignals(ArrayRef<Signal> signals, StringAttr name,
                            int64_t stages);
  LogicalResult signalWaits(MutableArrayRef<SemaphoreSection> sections);
  LogicalResult signalReleases(MutableArrayRef<SemaphoreSection> sections);

  plan::KernelAttr plan;
  SmallVector<plan::RoleAttr> roles;
  /// Sections by the names of their waits and releases. Clones of one section,
  /// such as a peeled last iteration, share a pipeline.
  llvm::MapVector<StringAttr, SmallVector<SemaphoreSection>> awaited, released;
};
} // namespace

/// The release of the same section, after the wait in its block; or null.
static tile::SemaphoreReleaseOp findRelease(tile::SemaphoreWaitOp wait) {
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    auto release = dyn_cast<tile::SemaphoreReleaseOp>(op);
    if (release && release.getSemaphores() == wait.getSemaphores() &&
        llvm::equal(release.getIndices(), wait.getIndices()))
      return release;
  }
  return {};
}

/// Finds the stores of a section. Without a release it extends to the end of
/// the block.
static SemaphoreSection findSection(tile::SemaphoreWaitOp wait) {
  SemaphoreSection section = {wait, findRelease(wait), {}};
  for (Operation *op = wait->getNextNode(); op && op != section.release;
       op = op->getNextNode())
    if (auto store = dyn_cast<tile::StoreOp>(op))
      section.stores.push_back(store);
  return section;
}

/// Rejects loads of the stored memory in a section: the storing role would have
/// to run them, but they have no name that assigns them.
static LogicalResult checkReads(SemaphoreSection &section) {
  for (Operation *op = section.wait->getNextNode(); op != section.release;
       op = op->getNextNode()) {
    auto load = dyn_cast<tile::LoadOp>(op);
    if (load && llvm::any_of(section.stores, [&](tile::StoreOp store) {
          return store.getTarget() == load.getSource();
        }))
      return load.emitError(
          "reads memory that is stored in the same semaphore section, whose "
          "wait or release belongs to another role");
  }
  return success();
}

LogicalResult SplitSemaphoreRolesPass::check(SemaphoreSection &section,
                                             bool isApart) {
  plan::RoleAttr first =
      lookupOwner(roles, section.stores.front().getNameAttr());
  for (tile::StoreOp store : section.stores)
    if (plan::RoleAttr owner = lookupOwner(roles, store.getNameAttr());
        owner && first && owner != first)
      return store.emitError("belongs to role '")
             << owner.getName() << "', but role '" << first.getName()
             << "' stores in the same semaphore section";
  if (!isApart)
    return success();
  if (!section.release)
    return section.wait.emitError("role '")
           << first.getName()
           << "' stores after this wait, which belongs to another role: "
              "expected a 'tile.semaphore_release' after the wait in the same "
              "block";
  return checkReads(section);
}

LogicalResult SplitSemaphoreRolesPass::collect() {
  SmallVector<tile::SemaphoreWaitOp> waits;
  getOperation().walk(
      [&](tile::SemaphoreWaitOp wait) { waits.push_back(wait); });
  for (tile::SemaphoreWaitOp wait : waits) {
    SemaphoreSection section = findSection(wait);
    if (section.stores.empty())
      continue;
    plan::RoleAttr stores =
        lookupOwner(roles, section.stores.front().getNameAttr());
    auto isApart = [&](StringAttr name) {
      return stores && lookupOwner(roles, name) != stores;
    };
    bool waitsApart = isApart(wait.getNameAttr()),
         endsApart = section.release && isApart(section.release.getNameAttr());
    if (failed(check(section, waitsApart || endsApart)))
      return failure();
    if (waitsApart)
      awaited[wait.getNameAttr()].push_back(section);
    if (endsApart)
      released[section.release.getNameAttr()].push_back(section);
  }
  return success();
}

LogicalResult SplitSemaphoreRolesPass::emitSignals(ArrayRef<Signal> signals,
                                                   StringAttr name,
                                                   int64_t stages) {
  Block &body = getOperation().getBody().front();
  Location first = signals.front().guard->getLoc();
  OpBuilder b(body.findAncestorOpInBlock(*signals.front().acquire));
  Value pipeline = PipelineOp::create(
      b, getNamedLoc(first, tile::getFamily(name) + "_pipeline"),
      PipelineType::get(&getContext(), stages), IntegerAttr(), name);
  Value zero = makeI32(b, first, 0);
  llvm::SetVector<Operation *> guards;
  for (const Signal &signal : signals)
    guards.insert(signal.guard);
  auto positions = assignPositions(body, guards, {zero, zero}, stages);
  if (failed(positions))
    return failure();
  ++numPipelines;
  for (const Signal &signal : signals) {
    RingState at = positions->lookup(signal.guard);
    Location loc = signal.guard->getLoc();
    b.setInsertionPoint(signal.acquire);
    ProducerAcquireOp::create(b, loc, pipeline, at.stage, at.phase);
    b.setInsertionPoint(signal.pass);
    ProducerCommitOp::create(b, loc, pipeline, at.stage, at.phase);
    ConsumerWaitOp::create(b, loc, pipeline, at.stage, at.phase);
    b.setInsertionPointAfter(signal.release);
    ConsumerReleaseOp::create(b, loc, pipeline, at.stage, at.phase);
  }
  return success();
}

/// The role that waits for the semaphore commits a stage. The storing role
/// waits for it, and releases it after the last store.
LogicalResult SplitSemaphoreRolesPass::signalWaits(
    MutableArrayRef<SemaphoreSection> sections) {
  SmallVector<Signal> signals;
  for (SemaphoreSection &section : sections) {
    signals.push_back({section.wait, section.wait, section.wait->getNextNode(),
                       section.stores.back()});
    // The `after` operands belong to the storing role.
    section.wait.getAfterMutable().clear();
  }
  StringAttr name = sections.front().wait.getNameAttr();
  return emitSignals(signals, name, plan.getStream(name).stages);
}

/// The storing role commits a stage after the last store, and the role that
/// releases the semaphore waits for it. The release follows a fence, which also
/// waits for outstanding stores of the next section. Therefore the pipeline has
/// one stage, and at most one store of the next section runs before this
/// release.
LogicalResult SplitSemaphoreRolesPass::signalReleases(
    MutableArrayRef<SemaphoreSection> sections) {
  SmallVector<Signal> signals;
  for (SemaphoreSection &section : sections) {
    size_t second = std::min<size_t>(1, section.stores.size() - 1);
    signals.push_back({section.release, section.stores[second], section.release,
                       section.release});
    section.release.getAfterMutable().clear();
  }
  StringAttr name = sections.front().stores.back().getNameAttr();
  return emitSignals(signals, name, /*stages=*/1);
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
  for (auto &[name, sections] : awaited)
    if (failed(signalWaits(sections)))
      return signalPassFailure();
  for (auto &[name, sections] : released)
    if (failed(signalReleases(sections)))
      return signalPassFailure();
}
