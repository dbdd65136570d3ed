//===- ReadEarly.cpp - Reads of streams ahead of a fence --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a dot starts from, a role reads right ahead of it, and the matrix unit
// waits for shared memory. Where the role has stored a tile just before, for
// others to read, it waits for shared memory anyway: for the fence that its
// stores need. Both waits are one if the reads are issued first.
//
//===----------------------------------------------------------------------===//

#include "ProgramTrace.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Schedule/Schedule.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPREADEARLY
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct ReadEarlyPass : warp::impl::WarpReadEarlyBase<ReadEarlyPass> {
  void runOnKernel() override;
};
} // namespace

/// The wait for a stage, the one read behind it, and what gives it back, in
/// order, if nothing else stands between them but what only computes. A second
/// read might be of another stage, whose wait it would pass.
static SmallVector<Operation *> getRead(ConsumerWaitOp wait) {
  SmallVector<Operation *> read = {wait};
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    auto release = dyn_cast<ConsumerReleaseOp>(op);
    if (isa<StageOp, LocalLoadOp>(op) || release)
      read.push_back(op);
    else if (!isMemoryEffectFree(op))
      return {};
    if (!release)
      continue;
    bool isRead = release.getPipeline() == wait.getPipeline() &&
                  llvm::count_if(read, llvm::IsaPred<LocalLoadOp>) == 1;
    return isRead ? read : SmallVector<Operation *>();
  }
  return {};
}

/// The first fence of stores ahead of the wait with nothing behind it that a
/// read of another stage may not pass: what gives stages to others, waits for
/// them, reads or computes.
static Operation *findFence(ConsumerWaitOp wait) {
  for (Operation *op = wait->getPrevNode(); op; op = op->getPrevNode()) {
    if (isa<FenceStoresOp>(op))
      return op;
    if (!isa<ProducerCommitOp, ConsumerWaitOp, LocalLoadOp>(op) &&
        !isMemoryEffectFree(op))
      return nullptr;
  }
  return nullptr;
}

/// Whether what the ops use is there at `place`, but for what they find
/// themselves.
static bool areKnown(ArrayRef<Operation *> ops, Operation *place) {
  return llvm::all_of(ops, [&](Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return !def || llvm::is_contained(ops, def) ||
             def->getBlock() != place->getBlock() ||
             def->isBeforeInBlock(place);
    });
  });
}

void ReadEarlyPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  SmallVector<ConsumerWaitOp> waits;
  getOperation().walk([&](ConsumerWaitOp wait) {
    auto made = getShared(wait.getPipeline()).getDefiningOp<PipelineOp>();
    if (made && abi.getPlan().getStream(made.getNameAttr()).readsEarly)
      waits.push_back(wait);
  });
  int64_t moved = 0;
  for (ConsumerWaitOp wait : waits) {
    SmallVector<Operation *> read = getRead(wait);
    Operation *fence = findFence(wait);
    if (read.empty() || !fence)
      continue;
    auto *load = llvm::find_if(read, llvm::IsaPred<LocalLoadOp>);
    auto stage = cast<LocalLoadOp>(*load).getSource().getDefiningOp<StageOp>();
    if (stage && !llvm::is_contained(read, stage) &&
        fence->isBeforeInBlock(stage))
      read.insert(read.begin(), stage);
    if (!areKnown(read, fence))
      continue;
    for (Operation *op : read)
      op->moveBefore(fence);
    ++moved;
  }
  numReads += moved;
  if (moved != 0)
    reportDone(getOperation(), abi, "read_early", "Streams", moved);
}
