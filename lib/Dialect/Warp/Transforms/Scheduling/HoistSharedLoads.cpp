//===- HoistSharedLoads.cpp - Hoist loads of streams before a fence -------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For streams whose plan says `read_early`, moves the wait, the shared load and
// the release of a stage before the fence of the preceding stores. The initial
// accumulator of a dot is loaded directly before the dot, and a fence already
// waits for shared memory; after the move both latencies overlap.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/ProgramTrace.h"
#include "Pipelines/Ring.h"

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPHOISTSHAREDLOADS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct HoistSharedLoadsPass
    : warp::impl::WarpHoistSharedLoadsBase<HoistSharedLoadsPass> {
  void runOnKernel() override;
};
} // namespace

/// The pipelines of the kernel that fill each buffer.
using BufferPipelines = llvm::MapVector<Value, llvm::SetVector<Value>>;

/// A copy or store belongs to the pipeline whose stage was last acquired before
/// it.
static BufferPipelines findBufferPipelines(gpu::GPUFuncOp kernel) {
  BufferPipelines bufferPipelines;
  Value acquired;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool beginsRole = isa_and_nonnull<SpecializeOp>(op->getParentOp()) &&
                      op == &op->getBlock()->front();
    if (beginsRole)
      acquired = {};
    if (auto acquire = dyn_cast<ProducerAcquireOp>(op))
      acquired = getShared(acquire.getPipeline());
    else if (Value buffer = getFilledBuffer(op); buffer && acquired)
      bufferPipelines[getShared(buffer)].insert(acquired);
  });
  return bufferPipelines;
}

static bool isSame(Value a, Value b) {
  return isEqualConstantIntOrValue(getAsOpFoldResult(a), getAsOpFoldResult(b));
}

/// True if only the pipeline of the wait fills the loaded buffer, and the
/// stages match.
static bool loadsStageOf(LocalLoadOp load, ConsumerWaitOp wait,
                         const BufferPipelines &bufferPipelines) {
  auto stage = load.getSource().getDefiningOp<StageOp>();
  const auto *found = bufferPipelines.find(getShared(load.getSource()));
  return stage && isSame(stage.getStage(), wait.getStage()) &&
         found != bufferPipelines.end() && found->second.size() == 1 &&
         found->second.front() == getShared(wait.getPipeline());
}

/// The wait for a stage, the single load of it, and its release, in order.
/// Empty if an op with other effects is between them.
static SmallVector<Operation *>
getRead(ConsumerWaitOp wait, const BufferPipelines &bufferPipelines) {
  SmallVector<Operation *> read = {wait};
  int64_t loads = 0;
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    auto load = dyn_cast<LocalLoadOp>(op);
    auto release = dyn_cast<ConsumerReleaseOp>(op);
    if (load && (++loads > 1 || !loadsStageOf(load, wait, bufferPipelines)))
      return {};
    if (isa<StageOp>(op) || load || release)
      read.push_back(op);
    else if (!isMemoryEffectFree(op))
      return {};
    if (!release)
      continue;
    bool isSameStage = loads == 1 &&
                       release.getPipeline() == wait.getPipeline() &&
                       isSame(release.getStage(), wait.getStage()) &&
                       isSame(release.getPhase(), wait.getPhase());
    return isSameStage ? read : SmallVector<Operation *>();
  }
  return {};
}

/// The nearest fence of stores before the wait. Only commits, waits, shared
/// loads and ops without effects may be in between, because a load of another
/// stage may move above them.
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

/// True if all operands of the ops, except those that the ops themselves
/// define, are available at `place`.
static bool areAvailable(ArrayRef<Operation *> ops, Operation *place) {
  return llvm::all_of(ops, [&](Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      Operation *def = operand.getDefiningOp();
      return !def || llvm::is_contained(ops, def) ||
             def->getBlock() != place->getBlock() ||
             def->isBeforeInBlock(place);
    });
  });
}

/// Moves the wait, its load and the release above the preceding fence.
static bool hoistLoad(ConsumerWaitOp wait,
                      const BufferPipelines &bufferPipelines) {
  SmallVector<Operation *> read = getRead(wait, bufferPipelines);
  Operation *fence = findFence(wait);
  if (read.empty() || !fence)
    return false;
  auto *load = llvm::find_if(read, llvm::IsaPred<LocalLoadOp>);
  auto stage = cast<LocalLoadOp>(*load).getSource().getDefiningOp<StageOp>();
  if (!llvm::is_contained(read, stage) &&
      stage->getBlock() == fence->getBlock() && fence->isBeforeInBlock(stage))
    read.insert(read.begin(), stage);
  if (!areAvailable(read, fence))
    return false;
  for (Operation *op : read)
    op->moveBefore(fence);
  return true;
}

/// Reports the streams whose loads did not move, and removes `read_early` from
/// their plans.
static LogicalResult reportUnmoved(gpu::GPUFuncOp kernel, launch::AbiOp abi,
                                   const llvm::StringSet<> &early) {
  plan::KernelAttr plan = abi.getPlan();
  for (plan::StreamAttr stream : plan.getStreams())
    if (stream.getFields().readsEarly && !early.contains(stream.getName()) &&
        failed(reportMissed(kernel, abi, "read_early",
                            "no read of '" + stream.getName().getValue() +
                                "' can move above the preceding fence")))
      return failure();
  abi.setPlanAttr(
      plan.changeStreams([&](StringRef name, plan::StreamPlan &stream) {
        stream.readsEarly &= early.contains(name);
      }));
  return success();
}

void HoistSharedLoadsPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  SmallVector<std::pair<ConsumerWaitOp, StringAttr>> waits;
  getOperation().walk([&](ConsumerWaitOp wait) {
    auto made = getShared(wait.getPipeline()).getDefiningOp<PipelineOp>();
    if (made && abi.getPlan().getStream(made.getNameAttr()).readsEarly)
      waits.push_back({wait, made.getNameAttr()});
  });
  BufferPipelines bufferPipelines = findBufferPipelines(getOperation());
  int64_t moved = 0;
  // Also the family names, because a plan entry may name the family.
  llvm::StringSet<> early;
  for (auto [wait, name] : waits) {
    if (!hoistLoad(wait, bufferPipelines))
      continue;
    ++moved;
    early.insert(name.getValue());
    early.insert(tile::getFamily(name));
  }
  numReads += moved;
  if (moved != 0)
    reportDone(getOperation(), abi, "read_early", "Streams", moved);
  if (failed(reportUnmoved(getOperation(), abi, early)))
    return signalPassFailure();
}
