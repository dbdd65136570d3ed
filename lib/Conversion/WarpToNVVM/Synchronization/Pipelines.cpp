//===- Pipelines.cpp - Pipelines as cp.async groups -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers pipelines of kernels without roles. All threads produce and consume: a
// commit closes a cp.async group, and a wait is a wait for that group and a CTA
// barrier. Pipelines between roles become mbarriers before (Barriers.cpp).
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

/// Finds pipelines whose stages are filled by stores of threads only. Nothing
/// is outstanding after their commits, so a barrier suffices for their waits.
static llvm::DenseSet<Value> findStoredPipelines(gpu::GPUFuncOp kernel) {
  llvm::DenseSet<Value> stored, copied;
  kernel.walk([&](warp::ProducerCommitOp commit) {
    bool copies = false, stores = false;
    for (Operation *op = commit->getPrevNode(); op; op = op->getPrevNode()) {
      if (auto acquire = dyn_cast<warp::ProducerAcquireOp>(op);
          acquire && acquire.getPipeline() == commit.getPipeline())
        break;
      copies |= isa<warp::CopyOp>(op);
      stores |= isa<warp::LocalStoreOp>(op);
    }
    (stores && !copies ? stored : copied).insert(commit.getPipeline());
  });
  // Pipelines of which some stages hold copies.
  for (Value pipeline : copied)
    stored.erase(pipeline);
  return stored;
}

namespace {
/// Tracks the commits of a kernel in program order. Without specialisation all
/// threads produce and consume, so copy groups complete in the order of their
/// commits. A wait needs the number of commits after the one that it waits for.
class CommitOrder {
public:
  CommitOrder(gpu::GPUFuncOp kernel, const llvm::DenseSet<Value> &stored);
  LogicalResult walk(Block &block);
  /// For each wait the minimum number of commits younger than the awaited one,
  /// over all paths to the wait.
  llvm::DenseMap<Operation *, int64_t> pending;

private:
  LogicalResult visit(Operation &op);
  /// For each pipeline with a wait in `op` or after it: the ages of its commits
  /// that no wait has consumed.
  llvm::DenseMap<Value, SmallVector<int64_t>> ages(Operation *op) const;

  Block &body;
  /// Pipelines without copies.
  const llvm::DenseSet<Value> &stored;
  /// For each pipeline the last op of the kernel's entry block that contains a
  /// wait.
  llvm::DenseMap<Value, Operation *> lastWait;
  SmallVector<Value> commits;
  /// For each pipeline the position in `commits` of its first commit that may
  /// be unconsumed.
  llvm::DenseMap<Value, size_t> consumed;
};
} // namespace

CommitOrder::CommitOrder(gpu::GPUFuncOp kernel,
                         const llvm::DenseSet<Value> &stored)
    : body(kernel.getBody().front()), stored(stored) {
  kernel.walk([&](warp::ConsumerWaitOp wait) {
    lastWait[wait.getPipeline()] = body.findAncestorOpInBlock(*wait);
  });
}

llvm::DenseMap<Value, SmallVector<int64_t>>
CommitOrder::ages(Operation *op) const {
  op = body.findAncestorOpInBlock(*op);
  llvm::DenseMap<Value, SmallVector<int64_t>> result;
  for (auto [position, pipeline] : llvm::enumerate(commits)) {
    Operation *wait = lastWait.lookup(pipeline);
    if (position >= consumed.lookup(pipeline) && wait &&
        !wait->isBeforeInBlock(op))
      result[pipeline].push_back(commits.size() - position);
  }
  return result;
}

/// The body of an `scf.for`, or of a do-while loop over work; null for others.
static Block *getLoopBody(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getBody();
  auto loop = dyn_cast<scf::WhileOp>(op);
  if (loop && loop.getAfterBody()->without_terminator().empty())
    return loop.getBeforeBody();
  return nullptr;
}

LogicalResult CommitOrder::visit(Operation &op) {
  if (auto commit = dyn_cast<warp::ProducerCommitOp>(op)) {
    if (!stored.contains(commit.getPipeline()))
      commits.push_back(commit.getPipeline());
    return success();
  }
  if (auto wait = dyn_cast<warp::ConsumerWaitOp>(op)) {
    Value pipeline = wait.getPipeline();
    if (stored.contains(pipeline))
      return success();
    size_t position = consumed.lookup(pipeline);
    while (position < commits.size() && commits[position] != pipeline)
      ++position;
    if (position == commits.size())
      return wait.emitOpError("waits for a stage that no earlier op commits");
    consumed[pipeline] = position + 1;
    int64_t younger = commits.size() - position - 1;
    auto [entry, isNew] = pending.try_emplace(wait, younger);
    entry->second = std::min(entry->second, younger);
    return success();
  }
  if (Block *body = getLoopBody(op)) {
    // The state after an iteration must equal the state before it. Otherwise
    // the meaning of a later wait would depend on the trip count.
    auto before = ages(&op);
    if (failed(walk(*body)))
      return failure();
    if (ages(&op) != before)
      return op.emitOpError("commits and waits of a pipeline do not balance "
                            "in an iteration");
    return success();
  }
  for (Region &region : op.getRegions())
    for (Block &block : region) {
      WalkResult inner = block.walk([](Operation *nested) {
        return isa<warp::ProducerCommitOp, warp::ConsumerWaitOp>(nested)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      });
      if (inner.wasInterrupted())
        return op.emitOpError("must not contain commits or waits of a pipeline "
                              "without specialised roles");
    }
  return success();
}

LogicalResult CommitOrder::walk(Block &block) {
  for (Operation &op : block)
    if (failed(visit(op)))
      return failure();
  return success();
}

/// Returns true if a barrier separates the last use of the stage's old contents
/// from this acquire. Each wait ends with a barrier, so a wait before the
/// acquire in the same block suffices, and so does the start of the kernel.
static bool isStageFree(warp::ProducerAcquireOp acquire) {
  for (Operation *op = acquire->getPrevNode(); op; op = op->getPrevNode()) {
    if (isa<warp::ConsumerWaitOp>(op))
      return true;
    if (auto release = dyn_cast<warp::ConsumerReleaseOp>(op);
        release && release.getPipeline() == acquire.getPipeline())
      return false;
  }
  return isa<gpu::GPUFuncOp>(acquire->getParentOp());
}

LogicalResult fovea::lowerPipelines(gpu::GPUFuncOp kernel) {
  llvm::DenseSet<Value> stored = findStoredPipelines(kernel);
  CommitOrder order(kernel, stored);
  if (failed(order.walk(kernel.getBody().front())))
    return failure();
  SmallVector<Operation *> ops, pipelines;
  kernel.walk([&](Operation *op) {
    if (isa<warp::PipelineOp>(op))
      pipelines.push_back(op);
    else if (isa<warp::ProducerAcquireOp, warp::ProducerCommitOp,
                 warp::ConsumerWaitOp, warp::ConsumerReleaseOp>(op))
      ops.push_back(op);
  });
  llvm::DenseSet<Operation *> needBarrier;
  for (Operation *op : ops)
    if (auto acquire = dyn_cast<warp::ProducerAcquireOp>(op))
      if (!isStageFree(acquire))
        needBarrier.insert(op);
  for (Operation *op : ops) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    if (auto commit = dyn_cast<warp::ProducerCommitOp>(op)) {
      if (!stored.contains(commit.getPipeline()))
        NVVM::CpAsyncCommitGroupOp::create(b, loc);
    } else if (auto wait = dyn_cast<warp::ConsumerWaitOp>(op)) {
      if (!stored.contains(wait.getPipeline()))
        NVVM::CpAsyncWaitGroupOp::create(b, loc, order.pending.lookup(op));
      gpu::BarrierOp::create(b, loc);
    } else if (needBarrier.contains(op)) {
      gpu::BarrierOp::create(b, loc);
    }
    op->erase();
  }
  for (Operation *op : pipelines)
    op->erase();
  return success();
}
