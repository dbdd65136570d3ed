//===- Barriers.cpp - Pipelines between roles as mbarriers ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers pipelines between roles, and the asynchronous copies into their
// stages. Each stage has a full barrier, on which consumers wait, and an empty
// barrier, on which the producer waits. Runs after roles have become branches
// and before tiles become vectors.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "fovea/Dialect/Warp/IR/LaneOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

static constexpr int64_t kBarrierBytes = 8;

/// Returns true if each CTA of a cluster holds the whole buffer.
static bool isReplicated(MemRefType buffer) {
  return warp::getCtas(buffer) == 1;
}

namespace {
/// The copies between an acquire and its commit.
struct StageFill {
  SmallVector<warp::CopyOp> copies;
  Operation *commit = nullptr;
};
} // namespace

static FailureOr<StageFill> getStageFill(warp::ProducerAcquireOp acquire) {
  StageFill fill;
  for (Operation *op = acquire->getNextNode(); op; op = op->getNextNode()) {
    if (auto copy = dyn_cast<warp::CopyOp>(op))
      fill.copies.push_back(copy);
    if (auto other = dyn_cast<warp::ProducerAcquireOp>(op)) {
      other.emitOpError(
          "acquires a stage before the previous one is committed");
      return failure();
    }
    auto signal = dyn_cast<warp::PipelineOpInterface>(op);
    if (!signal || signal.getOpKind() != warp::PipelineOpKind::Commit)
      continue;
    fill.commit = op;
    if (signal.getPipeline() == acquire.getPipeline() &&
        signal.getStage() == acquire.getStage())
      return fill;
    op->emitOpError("commits a stage other than the one acquired last");
    return failure();
  }
  acquire.emitOpError("has no commit after it in its block");
  return failure();
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

namespace {
/// A pipeline between roles: barriers full[0..stages), empty[0..stages).
class RolePipeline {
public:
  RolePipeline(warp::PipelineOp op, const Specialization &roles,
               TmaLoads &copies)
      : op(op), roles(roles), copies(copies),
        stages(op.getPipeline().getType().getStages()) {}

  LogicalResult analyze();
  void emitSetup();
  LogicalResult lowerUsers();

private:
  LogicalResult addProducer(Operation *user, const Role *role);
  void addConsumer(Operation *user, const Role *role);
  bool isShared();
  void lowerSignal(warp::PipelineOpInterface op);
  void lowerCommit(warp::PipelineOpInterface commit);
  void lowerRelease(warp::PipelineOpInterface release);
  void lowerSignalAfterDots(Operation *user, Value barrier);
  void emitFenceAfterWait(OpBuilder &b, Operation *wait);
  LogicalResult lowerAcquire(warp::ProducerAcquireOp acquire);
  Value emitFull(OpBuilder &b, Location loc, Value stage);
  Value emitEmpty(OpBuilder &b, Location loc, Value stage);

  warp::PipelineOp op;
  const Specialization &roles;
  TmaLoads &copies;
  int64_t stages;
  /// Each CTA of the cluster copies a part of the data for all CTAs.
  bool shared = false;
  /// The pipeline orders accesses to tensor memory, or dots after their
  /// operands.
  bool hasTensorMemory = false;
  const Role *producer = nullptr;
  llvm::SmallPtrSet<const Role *, 4> consumers;
  /// Commits that need no arrival: the barrier completes when the last byte of
  /// the copies has landed.
  llvm::SmallPtrSet<Operation *, 8> signalledByCopies;
};
} // namespace

LogicalResult RolePipeline::addProducer(Operation *user, const Role *role) {
  if (!role->isSingleWarp && shared)
    return user->emitOpError("role '")
           << role->name.getValue()
           << "' copies for all CTAs of a cluster: expected a role that only "
              "fills pipelines";
  if (producer && producer != role)
    return user->emitOpError("pipeline has two producers: role '")
           << producer->name.getValue() << "' and role '"
           << role->name.getValue() << "'";
  producer = role;
  return success();
}

void RolePipeline::addConsumer(Operation *user, const Role *role) {
  if (cast<warp::PipelineOpInterface>(user).getOpKind() ==
      warp::PipelineOpKind::Release)
    consumers.insert(role);
}

/// The number of arrivals with which a role signals a barrier.
static int64_t countArrivals(const Role &role) {
  return role.isSingleWarp ? 1 : role.warps;
}

LogicalResult RolePipeline::analyze() {
  if (!op.getOffset())
    return op.emitError("pipeline between roles has no offset; run "
                        "'warp-allocate-shared-memory' first");
  shared = isShared();
  for (Operation *user : op.getPipeline().getUsers()) {
    const Role *role = roles.getRole(user);
    if (!role)
      return user->emitOpError(
          "is outside the kernel's roles: expected all uses of the pipeline in "
          "roles");
    auto op = cast<warp::PipelineOpInterface>(user);
    hasTensorMemory |= warp::ordersTensorMemory(op);
    if (op.isProducerOp()) {
      if (failed(addProducer(user, role)))
        return failure();
    } else {
      addConsumer(user, role);
    }
  }
  if (!producer)
    return op.emitOpError("pipeline has no producer role");
  return success();
}

bool RolePipeline::isShared() {
  if (roles.clusterSize == 1)
    return false;
  // The pipeline is shared if an acquire precedes copies into a buffer that
  // each CTA holds whole.
  for (Operation *user : op.getPipeline().getUsers())
    if (isa<warp::ProducerAcquireOp>(user))
      for (Operation *next = user->getNextNode(); next;
           next = next->getNextNode()) {
        if (isa<warp::ProducerCommitOp>(next))
          break;
        auto copy = dyn_cast<warp::CopyOp>(next);
        if (copy && isReplicated(copy.getTarget().getType()))
          return true;
      }
  return false;
}

/// A producer of one warp arrives once. Other producers, and consumers, arrive
/// with one thread per warp. Consumers arrive at the empty barriers of all CTAs
/// that copy for them.
void RolePipeline::emitSetup() {
  OpBuilder b(roles.endOfSetup);
  Location loc = op.getLoc();
  int64_t releases = 0;
  for (const Role *role : consumers)
    releases += countArrivals(*role) * (shared ? roles.clusterSize : 1);
  auto initialize = [&](Value barrier, int64_t count) {
    emitAsm(b, loc, "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}",
            {barrier, emitI32(b, loc, count)});
  };
  for (int64_t stage = 0; stage < stages; ++stage)
    initialize(emitFull(b, loc, emitI32(b, loc, stage)),
               countArrivals(*producer));
  for (int64_t stage = 0; stage < stages; ++stage)
    initialize(emitEmpty(b, loc, emitI32(b, loc, stage)),
               std::max<int64_t>(releases, 1));
}

static Value emitBarrier(OpBuilder &b, Location loc, int64_t offset,
                         Value stage) {
  Value distance =
      arith::MulIOp::create(b, loc, stage, emitI32(b, loc, kBarrierBytes));
  return arith::AddIOp::create(b, loc, emitSharedAddress(b, loc, offset),
                               distance);
}

Value RolePipeline::emitFull(OpBuilder &b, Location loc, Value stage) {
  return emitBarrier(b, loc, *op.getOffset(), stage);
}

Value RolePipeline::emitEmpty(OpBuilder &b, Location loc, Value stage) {
  return emitBarrier(b, loc, *op.getOffset() + kBarrierBytes * stages, stage);
}

/// One arrival per warp. `leader` was elected at the start of the role, so
/// ptxas has no computation to delay the arrival for.
static void emitArrive(OpBuilder &b, Location loc, Value barrier,
                       Value leader) {
  emitAsm(b, loc, "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];",
          "r,b,~{memory}", {barrier, leader});
}

/// Waits until the barrier has left the phase of the given parity.
static void emitWait(OpBuilder &b, Location loc, Value barrier, Value phase) {
  emitAsm(b, loc,
          "{\n\t.reg .pred p;\n\tWAIT:\n\t"
          "mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\n\t"
          "@p bra DONE;\n\tbra WAIT;\n\tDONE:\n\t}",
          "r,r,~{memory}", {barrier, phase});
}

//===----------------------------------------------------------------------===//
// Tensor memory
//===----------------------------------------------------------------------===//

/// A pipeline may order accesses to tensor memory, and dots after the arrival
/// of their operands. The accesses of the thread that waits follow a fence
/// after the wait (PTX ISA, tcgen05 memory consistency, pattern of mbarriers).
void RolePipeline::emitFenceAfterWait(OpBuilder &b, Operation *wait) {
  if (hasTensorMemory && warp::usesTensorMemory(*roles.getRole(wait)->body))
    NVVM::Tcgen05FenceOp::create(b, wait->getLoc(),
                                 NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
}

/// The arrival follows the dots that the executing thread has issued: all of
/// them are issued by the role's leader. It implies a fence before it.
void RolePipeline::lowerSignalAfterDots(Operation *user, Value barrier) {
  OpBuilder b(user);
  Location loc = user->getLoc();
  auto branch = scf::IfOp::create(b, loc, roles.getRole(user)->leader,
                                  /*withElseRegion=*/false);
  OpBuilder inside = branch.getThenBodyBuilder();
  NVVM::Tcgen05CommitOp::create(inside, loc,
                                emitSharedPointer(inside, loc, barrier),
                                /*multicastMask=*/Value());
}

LogicalResult RolePipeline::lowerAcquire(warp::ProducerAcquireOp acquire) {
  FailureOr<StageFill> fill = getStageFill(acquire);
  if (failed(fill))
    return failure();
  OpBuilder b(acquire);
  Location loc = acquire.getLoc();
  // All stages are empty at the start: the first use waits for the phase before
  // the first.
  Value before =
      arith::XOrIOp::create(b, loc, acquire.getPhase(), emitI32(b, loc, 1));
  emitWait(b, loc, emitEmpty(b, loc, acquire.getStage()), before);
  emitFenceAfterWait(b, acquire);
  if (fill->copies.empty())
    return success();
  if (!producer->isSingleWarp)
    return acquire.emitOpError("role '")
           << producer->name.getValue()
           << "' copies into a pipeline: expected a role that only fills "
              "pipelines";
  int64_t bytes = 0;
  for (warp::CopyOp copy : fill->copies)
    if (shared !=
        (roles.clusterSize > 1 && isReplicated(copy.getTarget().getType())))
      return copy.emitOpError(
          "copies to one CTA: expected a copy to all CTAs of the cluster, as "
          "other copies of this pipeline");
  for (warp::CopyOp copy : fill->copies)
    bytes += warp::getStorageBytes(copy.getTarget().getType());
  // After the mailbox stores that belong to the stage: the arrival releases
  // them.
  b.setInsertionPoint(fill->copies.front());
  Value full = emitFull(b, loc, acquire.getStage());
  Value leader = producer->leader;
  emitAsm(b, loc, "@$2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
          "r,r,b,~{memory}", {full, emitI32(b, loc, bytes), leader});
  signalledByCopies.insert(fill->commit);
  for (warp::CopyOp copy : fill->copies)
    if (failed(copies.lower(copy, full, leader, roles)))
      return failure();
  return success();
}

/// The last byte of the copies completes the barrier of a stage that copies
/// fill.
void RolePipeline::lowerCommit(warp::PipelineOpInterface commit) {
  if (signalledByCopies.contains(commit))
    return;
  OpBuilder b(commit);
  Location loc = commit.getLoc();
  emitArrive(b, loc, emitFull(b, loc, commit.getStage()), producer->leader);
}

/// Arrives at this CTA's empty barrier. If the pipeline is shared, also arrives
/// at the empty barriers of all other CTAs of the cluster. `.release.cluster`
/// is not needed, because the consumer has written nothing.
void RolePipeline::lowerRelease(warp::PipelineOpInterface release) {
  OpBuilder b(release);
  Location loc = release.getLoc();
  Value empty = emitEmpty(b, loc, release.getStage());
  Value leader = roles.getRole(release)->leader;
  emitArrive(b, loc, empty, leader);
  if (!shared)
    return;
  for (int64_t distance = 1; distance < roles.clusterSize; ++distance) {
    Value peer =
        arith::XOrIOp::create(b, loc, roles.rank, emitI32(b, loc, distance));
    emitAsm(b, loc,
            "{\n\t.reg .b32 r;\n\tmapa.shared::cluster.u32 r, $0, $2;\n\t"
            "@$1 mbarrier.arrive.shared::cluster.b64 _, [r];\n\t}",
            "r,b,r,~{memory}", {empty, leader, peer});
  }
}

void RolePipeline::lowerSignal(warp::PipelineOpInterface op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  bool isProducer = op.isProducerOp();
  if (op.signalsAfterDots())
    return lowerSignalAfterDots(op, isProducer
                                        ? emitFull(b, loc, op.getStage())
                                        : emitEmpty(b, loc, op.getStage()));
  switch (op.getOpKind()) {
  case warp::PipelineOpKind::Acquire:
    return;
  case warp::PipelineOpKind::Commit:
    return lowerCommit(op);
  case warp::PipelineOpKind::Wait:
    emitWait(b, loc, emitFull(b, loc, op.getStage()), op.getPhase());
    return emitFenceAfterWait(b, op);
  case warp::PipelineOpKind::Release:
    return lowerRelease(op);
  }
}

LogicalResult RolePipeline::lowerUsers() {
  SmallVector<Operation *> users(op.getPipeline().getUsers());
  for (Operation *user : users)
    if (auto acquire = dyn_cast<warp::ProducerAcquireOp>(user))
      if (failed(lowerAcquire(acquire)))
        return failure();
  for (Operation *user : users)
    lowerSignal(cast<warp::PipelineOpInterface>(user));
  for (Operation *user : users)
    user->erase();
  op.erase();
  return success();
}

LogicalResult fovea::lowerRolePipelines(gpu::GPUFuncOp kernel,
                                        launch::AbiOp abi,
                                        const Specialization &roles) {
  if (!roles.hasRoles())
    return success();
  TmaLoads copies(kernel, abi);
  if (failed(copies.collect(roles)))
    return failure();
  OpBuilder setup(roles.endOfSetup);
  copies.emitPrefetches(setup);
  SmallVector<warp::PipelineOp> pipelines;
  kernel.walk([&](warp::PipelineOp op) {
    bool isUsedByRole =
        llvm::any_of(op.getPipeline().getUsers(), [&](Operation *user) {
          return roles.getRole(user) != nullptr;
        });
    if (isUsedByRole)
      pipelines.push_back(op);
  });
  std::vector<RolePipeline> lowerings;
  for (warp::PipelineOp op : pipelines) {
    lowerings.emplace_back(op, roles, copies);
    if (failed(lowerings.back().analyze()))
      return failure();
  }
  for (RolePipeline &lowering : lowerings) {
    lowering.emitSetup();
    if (failed(lowering.lowerUsers()))
      return failure();
  }
  WalkResult walk = kernel.walk([&](warp::CopyOp copy) -> WalkResult {
    if (copy.getAsync() && roles.getRole(copy))
      return copy.emitOpError("has no stage: expected an acquire before it and "
                              "a commit after it in its block");
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}
