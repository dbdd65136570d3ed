//===- KernelFacts.cpp - Facts about warp programs --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds an op that violates a fact that passes of the warp dialect require or
// ensure (KernelFacts.td), and names the pass that establishes the fact.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/KernelFacts.h"

#include "fovea/Dialect/Warp/IR/LaneOrder.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

template <typename Op>
static Operation *findIf(gpu::GPUFuncOp kernel,
                         llvm::function_ref<bool(Op)> condition) {
  Operation *found = nullptr;
  kernel.walk([&](Op op) {
    if (!condition(op))
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

/// Returns an op with a result tile that has no thread layout yet, or null.
/// Kernels that accumulate in tensor memory keep tiles without layouts.
static Operation *findMissingLayout(gpu::GPUFuncOp kernel) {
  return findIf<Operation *>(kernel, [](Operation *op) {
    return llvm::any_of(op->getResultTypes(), [](Type type) {
      if (auto pending = dyn_cast<PendingType>(type))
        type = pending.getTile();
      auto tile = dyn_cast<RankedTensorType>(type);
      return tile && isa_and_nonnull<tile::RegAttr>(tile.getEncoding());
    });
  });
}

/// Returns an op that needs shared memory and has no offset yet, or null. A
/// pipeline needs memory for its barriers only in kernels with roles.
static Operation *findUnallocatedBuffer(gpu::GPUFuncOp kernel) {
  auto isUnallocated = [](auto op) { return !op.getOffset(); };
  if (Operation *found = findIf<AllocOp>(kernel, isUnallocated))
    return found;
  if (Operation *found = findIf<OnesOp>(kernel, isUnallocated))
    return found;
  if (!findOp<SpecializeOp>(kernel))
    return nullptr;
  Operation *found = findIf<PipelineOp>(kernel, isUnallocated);
  return found ? found : findIf<MailboxOp>(kernel, isUnallocated);
}

static Operation *findUnpartitionedKernel(gpu::GPUFuncOp kernel) {
  launch::AbiOp abi = launch::lookupAbi(kernel);
  bool hasRoles = abi && abi.getPlan().hasRoles();
  return hasRoles && !findOp<SpecializeOp>(kernel) ? kernel.getOperation()
                                                   : nullptr;
}

static Operation *findUnsynchronizedArrival(gpu::GPUFuncOp kernel) {
  LaneOrder order(kernel);
  return findIf<PipelineOpInterface>(kernel, [&](PipelineOpInterface op) {
    return order.getMissingSync(op).has_value();
  });
}

const KernelFact warp::kDotsReadMemory{findOp<tile::DotOp>, "tile-to-warp"};
const KernelFact warp::kBallotsAreLowered{findOp<tile::IfAnyOp>,
                                          "warp-lower-ballots"};
const KernelFact warp::kIsOneProgram{findOp<SpecializeOp>, "",
                                     /*endedBy=*/"warp-specialize"};
const KernelFact warp::kIsPartitioned{findUnpartitionedKernel,
                                      "warp-specialize"};
const KernelFact warp::kHasThreadLayouts{findMissingLayout,
                                         "warp-assign-layouts"};
const KernelFact warp::kBuffersHaveOffsets{findUnallocatedBuffer,
                                           "warp-allocate-shared-memory"};
const KernelFact warp::kLanesAreSynchronized{findUnsynchronizedArrival,
                                             "warp-sync-lanes"};
