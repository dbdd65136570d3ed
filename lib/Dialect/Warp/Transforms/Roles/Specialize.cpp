//===- Specialize.cpp - Partition a kernel into roles ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces the program of a kernel by a `warp.specialize` with one region per
// role. RoleAssignment decides which role runs which op, RoleSlicer clones the
// slice of each role, and ScalarBroadcast sends expensive integers between
// them. Work indices get a mailbox and a pipeline.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Ring.h"
#include "Roles/RoleAssignment.h"
#include "Roles/ScalarBroadcast.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPSPECIALIZE
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// Slots for work indices: the fetching role is at most one tile ahead.
static constexpr int64_t kWorkSlots = 2;

namespace {
struct SpecializePass : warp::impl::WarpSpecializeBase<SpecializePass> {
  using WarpSpecializeBase::WarpSpecializeBase;

  void runOnKernel() override;

private:
  LogicalResult specialize(launch::AbiOp abi, ArrayRef<plan::RoleAttr> attrs);
  FailureOr<std::vector<RoleSlicer>> slice(const RoleAssignment &roles,
                                           const ScalarBroadcast &broadcasts);
  SpecializeOp createRoles(OpBuilder &b, Location loc,
                           ArrayRef<plan::RoleAttr> roles, ValueRange captures,
                           int64_t cluster);
};

/// Sends the next work index from the fetching role to the others.
struct WorkChannel {
  Value mailbox, pipeline;

  RingState getPosition(OpBuilder &b, Location loc, Value count) const {
    Value mask = makeI32(b, loc, kWorkSlots - 1);
    Value stage = arith::AndIOp::create(b, loc, count, mask);
    Value cycle =
        arith::DivUIOp::create(b, loc, count, makeI32(b, loc, kWorkSlots));
    return {stage, arith::AndIOp::create(b, loc, cycle, makeI32(b, loc, 1))};
  }
};
} // namespace

/// Fetches the next work index at `next`, after the role's ops for the current
/// item, and sends it. An index fetched earlier would wait for the current item
/// while idle CTAs could have taken it, up to the time of a whole item.
static void produceWork(OpBuilder &b, NextWorkOp next,
                        const WorkChannel &channel, IRMapping &mapping) {
  Location loc = next.getLoc();
  RingState at = channel.getPosition(b, loc, mapping.lookup(next.getCount()));
  Value pipeline = mapping.lookup(channel.pipeline);
  ProducerAcquireOp::create(b, loc, pipeline, at.stage, at.phase);
  Value work =
      FetchWorkOp::create(b, getNamedLoc(loc, "work"), b.getIndexType());
  SendOp::create(b, loc, work, mapping.lookup(channel.mailbox), at.stage);
  ProducerCommitOp::create(b, loc, pipeline, at.stage, at.phase);
  mapping.map(next.getWork(), work);
}

static void consumeWork(OpBuilder &b, NextWorkOp next,
                        const WorkChannel &channel, IRMapping &mapping) {
  Location loc = next.getLoc();
  RingState at = channel.getPosition(b, loc, mapping.lookup(next.getCount()));
  Value pipeline = mapping.lookup(channel.pipeline);
  ConsumerWaitOp::create(b, loc, pipeline, at.stage, at.phase);
  Value work = ReceiveOp::create(b, getNamedLoc(loc, "work"), b.getIndexType(),
                                 mapping.lookup(channel.mailbox), at.stage);
  ConsumerReleaseOp::create(b, loc, pipeline, at.stage, at.phase);
  mapping.map(next.getWork(), work);
}

/// Shared values must be created once, before the roles start.
static LogicalResult checkShared(Block &body) {
  WalkResult walk = body.walk([&](Operation *op) {
    if (!makesShared(op) || op->getBlock() == &body)
      return WalkResult::advance();
    op->emitOpError(
        "must be outside of loops and branches to be shared by roles");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Work indices use one ring, whose position is the iteration count of the loop
/// over work.
static LogicalResult findWork(Block &body, SmallVectorImpl<NextWorkOp> &nexts) {
  WalkResult walk = body.walk([&](NextWorkOp next) {
    nexts.push_back(next);
    Operation *loop = next->getParentOp();
    auto count = dyn_cast<BlockArgument>(next.getCount());
    if (!isDoWhile(loop) || loop->getBlock() != &body)
      next.emitError(
          "the next work index must be fetched in the loop over work");
    else if (!count || count.getOwner() != next->getBlock())
      next.emitError("the count of work must be carried by the loop over work");
    else if (nexts.size() > 1)
      next.emitError("a kernel must fetch work in one place");
    else
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Computes the slices of all roles. A role does not compute the values that it
/// receives.
FailureOr<std::vector<RoleSlicer>>
SpecializePass::slice(const RoleAssignment &roles,
                      const ScalarBroadcast &broadcasts) {
  Block &body = getOperation().getBody().front();
  std::vector<RoleSlicer> slices;
  for (unsigned role = 0; role < roles.getRoles().size(); ++role) {
    slices.emplace_back(roles.getOwns(role), isSharedValue,
                        [&](Operation *op) { return roles.isOwned(op); });
    if (failed(slices.back().analyze(
            body,
            [&](Operation *op) { return broadcasts.isReceived(role, op); },
            broadcasts.getSent(role))))
      return failure();
  }
  return slices;
}

/// Replaces loads from a stage that the role itself filled by the stored tile:
/// the producer of a stage does not wait for it.
static void forwardStoredTiles(Block &role) {
  role.walk([](LocalLoadOp load) {
    for (Operation *op = load->getPrevNode(); op; op = op->getPrevNode()) {
      auto store = dyn_cast<LocalStoreOp>(op);
      if (!store || store.getTarget() != load.getSource())
        continue;
      if (store.getValue().getType() == load.getType()) {
        load.replaceAllUsesWith(store.getValue());
        load.erase();
      }
      return;
    }
  });
}

SpecializeOp SpecializePass::createRoles(OpBuilder &b, Location loc,
                                         ArrayRef<plan::RoleAttr> roles,
                                         ValueRange captures, int64_t cluster) {
  SmallVector<Attribute> names;
  SmallVector<int64_t> warps, registers;
  for (plan::RoleAttr role : roles) {
    names.push_back(b.getStringAttr(role.getName()));
    warps.push_back(role.getWarps());
    registers.push_back(role.getRegisters());
  }
  return SpecializeOp::create(b, loc, captures, b.getArrayAttr(names), warps,
                              registers, cluster, /*rolesCount=*/roles.size());
}

LogicalResult SpecializePass::specialize(launch::AbiOp abi,
                                         ArrayRef<plan::RoleAttr> attrs) {
  gpu::GPUFuncOp kernel = getOperation();
  Block &body = kernel.getBody().front();
  Location loc = kernel.getLoc();
  SmallVector<NextWorkOp> nexts;
  if (failed(checkShared(body)) || failed(findWork(body, nexts)))
    return failure();

  RoleAssignment roles(kernel, attrs);
  if (failed(roles.compute()))
    return failure();
  ScalarBroadcast broadcasts(roles);
  if (broadcastsScalars)
    broadcasts.insert(body);
  FailureOr<std::vector<RoleSlicer>> slices = slice(roles, broadcasts);
  if (failed(slices))
    return failure();
  broadcasts.reduce(*slices);
  slices = slice(roles, broadcasts);
  if (failed(slices))
    return failure();
  SmallVector<Operation *> old;
  for (Operation &op : body.without_terminator())
    if (!makesShared(&op))
      old.push_back(&op);

  OpBuilder b(body.getTerminator());
  WorkChannel channel;
  llvm::SetVector<Value> captures;
  for (const RoleSlicer &slice : *slices)
    captures.insert(slice.getCaptures().begin(), slice.getCaptures().end());
  if (!nexts.empty()) {
    channel.mailbox = MailboxOp::create(
        b, getNamedLoc(loc, "work_mailbox"),
        MailboxType::get(&getContext(), kWorkSlots), IntegerAttr());
    channel.pipeline =
        PipelineOp::create(b, getNamedLoc(loc, "work_pipeline"),
                           PipelineType::get(&getContext(), kWorkSlots),
                           IntegerAttr(), StringAttr());
    captures.insert(channel.mailbox);
    captures.insert(channel.pipeline);
  }
  for (Value mailbox : broadcasts.makeMailboxes(b, loc))
    captures.insert(mailbox);
  SpecializeOp op = createRoles(b, loc, attrs, captures.getArrayRef(),
                                abi.getPlan()->cluster);
  for (auto [role, slice] : llvm::enumerate(*slices)) {
    bool fetches = role == roles.getFetcher();
    SmallVector<Location> locs(captures.size(), loc);
    SmallVector<Type> types(op.getCaptures().getTypes());
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&op.getRoles()[role], {}, types, locs);
    IRMapping mapping;
    mapping.map(captures.getArrayRef(), block->getArguments());
    slice.clone(
        b, body, mapping,
        [&, role = role](OpBuilder &b, Operation *op, IRMapping &mapping) {
          auto next = dyn_cast<NextWorkOp>(op);
          if (next && fetches)
            produceWork(b, next, channel, mapping);
          else if (next)
            consumeWork(b, next, channel, mapping);
          return next || broadcasts.clone(role, b, op, mapping);
        });
    if (fetches && !nexts.empty())
      FinishWorkOp::create(b, loc);
    ReturnOp::create(b, loc);
    forwardStoredTiles(*block);
  }
  for (Operation *op : llvm::reverse(old)) {
    op->dropAllUses();
    op->erase();
  }
  abi.setThreads(32 * op.getNumWarps());
  return success();
}

void SpecializePass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  SmallVector<plan::RoleAttr> roles = getRoles(getOperation(), abi);
  if (roles.empty())
    return;
  if (!getOperation().getBody().hasOneBlock()) {
    getOperation().emitError("kernel must have one block");
    return signalPassFailure();
  }
  if (failed(specialize(abi, roles)))
    return signalPassFailure();
  numRoles += roles.size();
}
