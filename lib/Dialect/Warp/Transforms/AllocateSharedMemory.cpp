//===- AllocateSharedMemory.cpp - Place shared buffers ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Target/Target.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPALLOCATESHAREDMEMORY
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

// Panels are swizzled by address bits below 1024.
static constexpr int64_t kAlignment = 1024;

namespace {
struct AllocateSharedMemoryPass
    : warp::impl::WarpAllocateSharedMemoryBase<AllocateSharedMemoryPass> {
  void runOnOperation() override;
};
} // namespace

void AllocateSharedMemoryPass::runOnOperation() {
  tile::AbiOp abi = tile::lookupAbi(getOperation());
  if (!abi) {
    getOperation().emitError("kernel has no 'tile.abi' beside it");
    return signalPassFailure();
  }
  const TargetInfo *target =
      lookupTarget(abi.getTarget(), [&] { return abi.emitError(); });
  if (!target)
    return signalPassFailure();
  Builder builder(&getContext());
  int64_t bytes = 0;
  getOperation().walk([&](warp::AllocOp alloc) {
    alloc.setOffsetAttr(builder.getI64IntegerAttr(bytes));
    MemRefType type = alloc.getBuffer().getType();
    int64_t size = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    bytes += llvm::alignTo(size, kAlignment);
  });
  if (bytes > target->sharedMemory) {
    getOperation().emitError("kernel needs ")
        << bytes << " bytes of shared memory, '" << target->name << "' has "
        << target->sharedMemory;
    return signalPassFailure();
  }
  abi.setSharedMemory(bytes);
}
