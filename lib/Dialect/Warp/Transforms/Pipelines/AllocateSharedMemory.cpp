//===- AllocateSharedMemory.cpp - Allocate shared memory ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assigns offsets in shared memory to buffers, barriers and mailboxes, without
// reuse, and checks the size against the target. Runs last, before
// `warp-verify-pipelines`.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Support/Target.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPALLOCATESHAREDMEMORY
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

static constexpr int64_t kBarrierBytes = 8, kSlotBytes = 4;

namespace {
struct AllocateSharedMemoryPass
    : warp::impl::WarpAllocateSharedMemoryBase<AllocateSharedMemoryPass> {
  void runOnKernel() override;

private:
  int64_t placeBuffers();
  int64_t placeBarriers(int64_t start);
};
} // namespace

int64_t AllocateSharedMemoryPass::placeBuffers() {
  Builder builder(&getContext());
  int64_t bytes = 0;
  auto place = [&](auto alloc) {
    ++numBuffers;
    alloc.setOffsetAttr(builder.getI64IntegerAttr(bytes));
    MemRefType type = alloc.getBuffer().getType();
    bytes += llvm::alignTo(warp::getStorageBytes(type),
                           warp::getStorageAlignment(type));
    bytes = std::min(bytes, warp::kTooManyBytes);
  };
  auto placeAll = [&](bool vectors) {
    getOperation().walk([&](warp::AllocOp alloc) {
      if (warp::isVector(alloc.getBuffer().getType()) == vectors)
        place(alloc);
    });
  };
  placeAll(/*vectors=*/false);
  // After the buffers that refer to them, so that the distance is not negative.
  getOperation().walk([&](warp::OnesOp ones) { place(ones); });
  // Vectors go last, because they leave no alignment gaps.
  placeAll(/*vectors=*/true);
  return bytes;
}

/// Places the full and the empty barrier of each pipeline stage, and one word
/// for each mailbox slot.
int64_t AllocateSharedMemoryPass::placeBarriers(int64_t start) {
  Builder builder(&getContext());
  int64_t bytes = start;
  getOperation().walk([&](Operation *op) {
    if (auto pipeline = dyn_cast<warp::PipelineOp>(op)) {
      pipeline.setOffsetAttr(builder.getI64IntegerAttr(bytes));
      bytes += 2 * kBarrierBytes * pipeline.getPipeline().getType().getStages();
    } else if (auto mailbox = dyn_cast<warp::MailboxOp>(op)) {
      mailbox.setOffsetAttr(builder.getI64IntegerAttr(bytes));
      bytes +=
          llvm::alignTo(kSlotBytes * mailbox.getMailbox().getType().getSlots(),
                        kBarrierBytes);
    }
  });
  return bytes + warp::kSpareSharedBytes;
}

void AllocateSharedMemoryPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  const TargetInfo *target =
      lookupTarget(abi.getTarget(), [&] { return abi.emitError(); });
  if (!target)
    return signalPassFailure();
  int64_t bytes = placeBuffers();
  bool hasRoles = false;
  getOperation().walk([&](warp::SpecializeOp) { hasRoles = true; });
  if (hasRoles)
    bytes = placeBarriers(bytes);
  if (bytes > target->sharedMemory) {
    getOperation().emitError("kernel needs ")
        << bytes << " bytes of shared memory, but '" << target->name << "' has "
        << target->sharedMemory;
    return signalPassFailure();
  }
  abi.setSharedMemory(bytes);
}
