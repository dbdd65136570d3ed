//===- Overlap.cpp - Kernels of a launch that overlap -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

using namespace mlir;
using namespace fovea;

/// Whether a wait for the prologue stands before `op` in its block or, before
/// the op that it is nested in, in a block around it.
static bool isBehindWait(Operation *op) {
  for (; !isa<gpu::GPUFuncOp>(op); op = op->getParentOp())
    for (Operation *prev = op->getPrevNode(); prev; prev = prev->getPrevNode())
      if (isa<tile::AwaitPrologueOp>(prev))
        return true;
  return false;
}

/// What the prologue writes is touched behind a wait for it only.
static LogicalResult checkScratch(gpu::GPUFuncOp kernel, tile::AbiOp abi) {
  for (auto [argument, parameter] :
       llvm::zip(kernel.getArguments(), abi.getParameters())) {
    if (!isa<tile::ScratchMemRefParameterAttr>(parameter))
      continue;
    for (Operation *user : argument.getUsers())
      if (!isMemoryEffectFree(user) && !isBehindWait(user))
        return user->emitOpError("touches scratch memory, and no "
                                 "'tile.await_prologue' stands before it");
  }
  return success();
}

LogicalResult fovea::lowerOverlap(gpu::GPUFuncOp kernel, tile::AbiOp abi) {
  SmallVector<Operation *> ops;
  bool waits = false;
  kernel.walk([&](Operation *op) {
    waits |= isa<tile::AwaitPrologueOp>(op);
    if (isa<tile::AllowOverlapOp, tile::AwaitPrologueOp>(op))
      ops.push_back(op);
  });
  if (waits) {
    if (!abi.getPrologue())
      return ops.front()->emitOpError("stands in a kernel without prologue");
    if (failed(checkScratch(kernel, abi)))
      return failure();
    // Who starts the kernel early relies on the waits that are emitted here.
    abi.setOverlapped(true);
  }
  for (Operation *op : ops) {
    OpBuilder b(op);
    // No load may move over the wait: LLVM's intrinsic would allow it.
    emitAsm(b, op->getLoc(),
            isa<tile::AwaitPrologueOp>(op)
                ? "griddepcontrol.wait;"
                : "griddepcontrol.launch_dependents;",
            "~{memory}", {});
    op->erase();
  }
  return success();
}
