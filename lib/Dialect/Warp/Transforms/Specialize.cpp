//===- Specialize.cpp - A role for copies, one for computation --*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Relays.h"
#include "Ring.h"
#include "RoleSlicer.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPSPECIALIZE
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// A role has at least one warp group: register budgets are changed for four
// warps at a time.
static constexpr int64_t kProducerWarps = 4;
// Work numbers on their way: the producer is at most one tile ahead.
static constexpr int64_t kWorkSlots = 2;

namespace {
struct SpecializePass : warp::impl::WarpSpecializeBase<SpecializePass> {
  using WarpSpecializeBase::WarpSpecializeBase;

  void runOnOperation() override;

private:
  LogicalResult specialize(tile::AbiOp abi);
};

/// How the next work number gets from the producer to the others.
struct WorkChannel {
  Value mailbox, pipeline;

  RingState getPosition(OpBuilder &b, Location loc, Value count) const {
    Value mask = makeI32(b, loc, kWorkSlots - 1);
    Value stage = arith::AndIOp::create(b, loc, count, mask);
    Value round =
        arith::DivUIOp::create(b, loc, count, makeI32(b, loc, kWorkSlots));
    return {stage, arith::AndIOp::create(b, loc, round, makeI32(b, loc, 1))};
  }
};
} // namespace

static bool isEverybodys(Operation *op) {
  return isa<NextWorkOp, tile::AwaitPrologueOp>(op);
}

static bool isProducers(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  return (copy && copy.getAsync()) || isEverybodys(op) ||
         isa<ProducerAcquireOp, ProducerCommitOp, FetchWorkOp, SendOp,
             FinishWorkOp>(op);
}

static bool makesShared(Operation *op) {
  return isa<AllocOp, OnesOp, PipelineOp, MailboxOp, TurnsOp>(op);
}

static bool isConsumers(Operation *op) {
  return (!isProducers(op) && !makesShared(op)) || isEverybodys(op);
}

/// What roles have in common: arguments of the kernel, buffers and barriers.
static bool isSharedValue(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<gpu::GPUFuncOp>(argument.getOwner()->getParentOp());
  return makesShared(value.getDefiningOp());
}

/// Fetches the next number at the start of the round and sends it on.
static void produceWork(OpBuilder &b, Block *body, const WorkChannel &channel,
                        IRMapping &mapping) {
  for (auto next : body->getOps<NextWorkOp>()) {
    Location loc = next.getLoc();
    RingState at = channel.getPosition(b, loc, mapping.lookup(next.getCount()));
    Value pipeline = mapping.lookup(channel.pipeline);
    ProducerAcquireOp::create(b, loc, pipeline, at.stage, at.phase);
    Value work = FetchWorkOp::create(b, loc, b.getIndexType());
    SendOp::create(b, loc, work, mapping.lookup(channel.mailbox), at.stage);
    ProducerCommitOp::create(b, loc, pipeline, at.stage, at.phase);
    mapping.map(next.getWork(), work);
  }
}

static void consumeWork(OpBuilder &b, NextWorkOp next,
                        const WorkChannel &channel, IRMapping &mapping) {
  Location loc = next.getLoc();
  RingState at = channel.getPosition(b, loc, mapping.lookup(next.getCount()));
  Value pipeline = mapping.lookup(channel.pipeline);
  ConsumerWaitOp::create(b, loc, pipeline, at.stage, at.phase);
  Value work = ReceiveOp::create(b, loc, b.getIndexType(),
                                 mapping.lookup(channel.mailbox), at.stage);
  ConsumerReleaseOp::create(b, loc, pipeline, at.stage, at.phase);
  mapping.map(next.getWork(), work);
}

/// What roles share is made once, before they start.
static LogicalResult checkShared(Block &body) {
  WalkResult walk = body.walk([&](Operation *op) {
    if (!makesShared(op) || op->getBlock() == &body)
      return WalkResult::advance();
    op->emitOpError("must stand outside of loops and branches to be shared by "
                    "roles");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Work numbers travel through one ring, whose position is the count of the
/// loop over work.
static LogicalResult findWork(Block &body, SmallVectorImpl<NextWorkOp> &nexts) {
  WalkResult walk = body.walk([&](NextWorkOp next) {
    nexts.push_back(next);
    Operation *loop = next->getParentOp();
    auto count = dyn_cast<BlockArgument>(next.getCount());
    if (!isDoWhile(loop) || loop->getBlock() != &body)
      next.emitError("the next work number is fetched in the loop over work "
                     "only");
    else if (!count || count.getOwner() != next->getBlock())
      next.emitError("the count of work must be carried by the loop over work");
    else if (nexts.size() > 1)
      next.emitError("a kernel fetches work in one place");
    else
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult SpecializePass::specialize(tile::AbiOp abi) {
  gpu::GPUFuncOp kernel = getOperation();
  Block &body = kernel.getBody().front();
  tile::ScheduleAttr schedule = abi.getSchedule();
  Location loc = kernel.getLoc();
  SmallVector<NextWorkOp> nexts;
  if (failed(checkShared(body)) || failed(findWork(body, nexts)))
    return failure();

  Relays relays(isProducers, isSharedValue);
  if (sendsRelays)
    relays.insert(body);
  auto isRelay = [&](Operation *op) { return relays.isRelay(op); };
  RoleSlicer sketch(isConsumers, isSharedValue);
  if (failed(sketch.analyze(body, isRelay)))
    return failure();
  relays.reduce(sketch);
  RoleSlicer producer(isProducers, isSharedValue);
  RoleSlicer consumer(isConsumers, isSharedValue);
  if (failed(producer.analyze(
          body, [](Operation *) { return false; }, relays.getSent())) ||
      failed(consumer.analyze(body, isRelay)))
    return failure();
  SmallVector<Operation *> old;
  for (Operation &op : body.without_terminator())
    if (!makesShared(&op))
      old.push_back(&op);

  OpBuilder b(body.getTerminator());
  WorkChannel channel;
  llvm::SetVector<Value> captures;
  captures.insert(producer.getCaptures().begin(), producer.getCaptures().end());
  captures.insert(consumer.getCaptures().begin(), consumer.getCaptures().end());
  if (!nexts.empty()) {
    channel.mailbox = MailboxOp::create(
        b, loc, MailboxType::get(&getContext(), kWorkSlots), IntegerAttr());
    channel.pipeline = PipelineOp::create(
        b, loc, PipelineType::get(&getContext(), kWorkSlots), IntegerAttr(),
        StringAttr());
    captures.insert(channel.mailbox);
    captures.insert(channel.pipeline);
  }
  for (Value mailbox : relays.makeMailboxes(b, loc))
    captures.insert(mailbox);
  SmallVector<int64_t> warps = {kProducerWarps, schedule.getWarps()},
                       registers = {schedule.getProducerRegisters(),
                                    schedule.getConsumerRegisters()};
  auto roles = SpecializeOp::create(
      b, loc, captures.getArrayRef(), b.getStrArrayAttr({"load", "compute"}),
      warps, registers, schedule.getCluster(), /*rolesCount=*/2);

  auto fill = [&](unsigned index, RoleSlicer &slicer,
                  RoleSlicer::CloneHook cloneHook,
                  RoleSlicer::BodyHook bodyHook) {
    SmallVector<Location> locs(captures.size(), loc);
    SmallVector<Type> types(roles.getCaptures().getTypes());
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&roles.getRoles()[index], {}, types, locs);
    IRMapping mapping;
    mapping.map(captures.getArrayRef(), block->getArguments());
    slicer.clone(b, body, mapping, cloneHook, bodyHook);
    if (index == 0 && !nexts.empty())
      FinishWorkOp::create(b, loc);
    ReturnOp::create(b, loc);
  };
  fill(
      0, producer,
      [&](OpBuilder &b, Operation *op, IRMapping &mapping) {
        return isa<NextWorkOp>(op) || relays.send(b, op, mapping);
      },
      [&](OpBuilder &b, Block *block, IRMapping &mapping) {
        produceWork(b, block, channel, mapping);
      });
  fill(
      1, consumer,
      [&](OpBuilder &b, Operation *op, IRMapping &mapping) {
        auto next = dyn_cast<NextWorkOp>(op);
        if (next)
          consumeWork(b, next, channel, mapping);
        return next || relays.receive(b, op, mapping);
      },
      [](OpBuilder &, Block *, IRMapping &) {});
  for (Operation *op : llvm::reverse(old)) {
    op->dropAllUses();
    op->erase();
  }
  abi.setThreads(32 * roles.getNumWarps());
  return success();
}

void SpecializePass::runOnOperation() {
  tile::AbiOp abi = tile::lookupAbi(getOperation());
  if (!abi) {
    getOperation().emitError("kernel has no 'tile.abi' beside it");
    return signalPassFailure();
  }
  if (!abi.getSchedule().isSpecialized())
    return;
  if (!getOperation().getBody().hasOneBlock()) {
    getOperation().emitError("kernel must have one block");
    return signalPassFailure();
  }
  if (failed(specialize(abi)))
    return signalPassFailure();
}
