//===- HoistSharedLoads.cpp - Reads of streams ahead of a fence -----------===//
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

#include "Pipelines/ProgramTrace.h"
#include "Pipelines/Ring.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Schedule/Schedule.h"

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
struct HoistSharedLoadsPass : warp::impl::WarpHoistSharedLoadsBase<HoistSharedLoadsPass> {
  void runOnKernel() override;
};
} // namespace

/// Those of the kernel's pipelines that bring what is in a buffer.
using Bringing = llvm::MapVector<Value, llvm::SetVector<Value>>;

/// A copy or a store belongs to the pipeline whose stage was acquired last
/// before it.
static Bringing findBringing(gpu::GPUFuncOp kernel) {
  Bringing bringing;
  Value acquired;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool beginsRole = isa_and_nonnull<SpecializeOp>(op->getParentOp()) &&
                      op == &op->getBlock()->front();
    if (beginsRole)
      acquired = {};
    if (auto acquire = dyn_cast<ProducerAcquireOp>(op))
      acquired = getShared(acquire.getPipeline());
    else if (Value buffer = getFilledBuffer(op); buffer && acquired)
      bringing[getShared(buffer)].insert(acquired);
  });
  return bringing;
}

static bool isSame(Value a, Value b) {
  return isEqualConstantIntOrValue(getAsOpFoldResult(a), getAsOpFoldResult(b));
}

/// Whether what the wait waits for, and nothing else, brings what is read.
static bool isOfWait(LocalLoadOp load, ConsumerWaitOp wait,
                     const Bringing &bringing) {
  auto stage = load.getSource().getDefiningOp<StageOp>();
  const auto *found = bringing.find(getShared(load.getSource()));
  return stage && isSame(stage.getStage(), wait.getStage()) &&
         found != bringing.end() && found->second.size() == 1 &&
         found->second.front() == getShared(wait.getPipeline());
}

/// The wait for a stage, the one read behind it, of that stage, and what gives
/// it back, in order, if nothing else stands between them but what only
/// computes.
static SmallVector<Operation *> getRead(ConsumerWaitOp wait,
                                        const Bringing &bringing) {
  SmallVector<Operation *> read = {wait};
  int64_t loads = 0;
  for (Operation *op = wait->getNextNode(); op; op = op->getNextNode()) {
    auto load = dyn_cast<LocalLoadOp>(op);
    auto release = dyn_cast<ConsumerReleaseOp>(op);
    if (load && (++loads > 1 || !isOfWait(load, wait, bringing)))
      return {};
    if (isa<StageOp>(op) || load || release)
      read.push_back(op);
    else if (!isMemoryEffectFree(op))
      return {};
    if (!release)
      continue;
    bool isOfRound = loads == 1 &&
                     release.getPipeline() == wait.getPipeline() &&
                     isSame(release.getStage(), wait.getStage()) &&
                     isSame(release.getPhase(), wait.getPhase());
    return isOfRound ? read : SmallVector<Operation *>();
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

/// Moves the wait, with what is read behind it, ahead of the fence before it.
static bool readEarly(ConsumerWaitOp wait, const Bringing &bringing) {
  SmallVector<Operation *> read = getRead(wait, bringing);
  Operation *fence = findFence(wait);
  if (read.empty() || !fence)
    return false;
  auto *load = llvm::find_if(read, llvm::IsaPred<LocalLoadOp>);
  auto stage = cast<LocalLoadOp>(*load).getSource().getDefiningOp<StageOp>();
  if (!llvm::is_contained(read, stage) &&
      stage->getBlock() == fence->getBlock() && fence->isBeforeInBlock(stage))
    read.insert(read.begin(), stage);
  if (!areKnown(read, fence))
    return false;
  for (Operation *op : read)
    op->moveBefore(fence);
  return true;
}

/// Says which of the streams are read where they are needed all the same; the
/// plan then says it, too.
static LogicalResult reportLeft(gpu::GPUFuncOp kernel, launch::AbiOp abi,
                                const llvm::StringSet<> &early) {
  plan::KernelAttr plan = abi.getPlan();
  for (plan::StreamAttr stream : plan.getStreams())
    if (stream.getFields().readsEarly && !early.contains(stream.getName()) &&
        failed(reportMissed(kernel, abi, "read_early",
                            "no read of '" + stream.getName().getValue() +
                                "' can pass the fence ahead of it")))
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
  Bringing bringing = findBringing(getOperation());
  int64_t moved = 0;
  // With the entries of the plan that may speak of them.
  llvm::StringSet<> early;
  for (auto [wait, name] : waits) {
    if (!readEarly(wait, bringing))
      continue;
    ++moved;
    early.insert(name.getValue());
    early.insert(tile::getFamily(name));
  }
  numReads += moved;
  if (moved != 0)
    reportDone(getOperation(), abi, "read_early", "Streams", moved);
  if (failed(reportLeft(getOperation(), abi, early)))
    return signalPassFailure();
}
