//===- KernelFacts.cpp - What holds of warp programs ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/KernelFacts.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

template <typename Op>
static Operation *findIf(gpu::GPUFuncOp kernel, bool (*condition)(Op)) {
  Operation *found = nullptr;
  kernel.walk([&](Op op) {
    if (!condition(op))
      return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

/// An op that makes a tile of which nobody says who holds it. Where dots
/// accumulate in tensor memory, tiles have no layouts yet.
static Operation *findOpenLayout(gpu::GPUFuncOp kernel) {
  if (findOp<DotIntoOp>(kernel))
    return nullptr;
  return findIf<Operation *>(kernel, [](Operation *op) {
    return llvm::any_of(op->getResultTypes(), [](Type type) {
      if (auto pending = dyn_cast<PendingType>(type))
        type = pending.getTile();
      auto tile = dyn_cast<RankedTensorType>(type);
      return tile && isa_and_nonnull<tile::RegAttr>(tile.getEncoding());
    });
  });
}

/// What takes shared memory and has no place there. Pipelines take some where
/// roles meet at them.
static Operation *findUnplacedBuffer(gpu::GPUFuncOp kernel) {
  auto isUnplaced = [](auto op) { return !op.getOffset(); };
  if (Operation *found = findIf<AllocOp>(kernel, isUnplaced))
    return found;
  if (Operation *found = findIf<OnesOp>(kernel, isUnplaced))
    return found;
  if (!findOp<SpecializeOp>(kernel))
    return nullptr;
  Operation *found = findIf<PipelineOp>(kernel, isUnplaced);
  return found ? found : findIf<MailboxOp>(kernel, isUnplaced);
}

static Operation *findUncutKernel(gpu::GPUFuncOp kernel) {
  launch::AbiOp abi = launch::lookupAbi(kernel);
  bool hasRoles = abi && abi.getPlan().hasRoles();
  return hasRoles && !findOp<SpecializeOp>(kernel) ? kernel.getOperation()
                                                   : nullptr;
}

const KernelFact warp::kDotsReadMemory{findOp<tile::DotOp>, "tile-to-warp"};
const KernelFact warp::kVotesAreBranches{findOp<tile::IfAnyOp>,
                                         "warp-lower-ballots"};
const KernelFact warp::kIsOneProgram{findOp<SpecializeOp>, "",
                                     /*endedBy=*/"warp-specialize"};
const KernelFact warp::kRolesAreCut{findUncutKernel, "warp-specialize"};
const KernelFact warp::kHasThreadLayouts{findOpenLayout, "warp-assign-layouts"};
const KernelFact warp::kBuffersHavePlaces{findUnplacedBuffer,
                                          "warp-allocate-shared-memory"};
