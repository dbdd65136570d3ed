//===- Overlap.cpp - Kernels of a launch that overlap -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "fovea/Support/Target.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fovea;

/// Whether a wait for the kernels before stands before `op` in its block or,
/// before the op that it is nested in, in a block around it.
static bool isBehindWait(Operation *op) {
  for (; !isa<gpu::GPUFuncOp>(op); op = op->getParentOp())
    for (Operation *prev = op->getPrevNode(); prev; prev = prev->getPrevNode())
      if (isa<launch::AwaitPreviousOp>(prev))
        return true;
  return false;
}

/// What kernels before this one touch, it touches behind a wait for them only.
static LogicalResult checkScratch(gpu::GPUFuncOp kernel, launch::AbiOp abi) {
  for (auto [argument, parameter] :
       llvm::zip(kernel.getArguments(), abi.getParameters())) {
    auto scratch = dyn_cast<launch::ScratchMemRefParameterAttr>(parameter);
    if (!scratch || !launch::isTouchedBefore(abi, scratch.getName()))
      continue;
    for (Operation *user : argument.getUsers())
      // A view of it is as good as it.
      if (!isa<memref::DimOp>(user) && !isBehindWait(user))
        return user->emitOpError("touches scratch memory as a kernel before "
                                 "does, and no 'launch.await_previous' stands "
                                 "before it");
  }
  return success();
}

LogicalResult fovea::checkOverlap(gpu::GPUFuncOp kernel, launch::AbiOp abi) {
  const TargetInfo *target =
      lookupTarget(abi.getTarget(), [&] { return abi.emitError(); });
  if (!target)
    return failure();
  launch::AwaitPreviousOp wait;
  WalkResult walked = kernel.walk([&](Operation *op) {
    if (!isa<launch::AllowOverlapOp, launch::AwaitPreviousOp>(op))
      return WalkResult::advance();
    if (!target->overlapsLaunches) {
      op->emitOpError("is not for target '")
          << target->name << "', where launches do not overlap";
      return WalkResult::interrupt();
    }
    if (auto found = dyn_cast<launch::AwaitPreviousOp>(op))
      wait = found;
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  if (!wait)
    return success();
  if (launch::getKernelsBefore(abi).empty())
    return wait.emitOpError("stands in a kernel that none of its launch comes "
                            "before");
  if (failed(checkScratch(kernel, abi)))
    return failure();
  // Who starts the kernel early relies on the waits that are emitted.
  abi.setOverlapped(true);
  return success();
}

/// Scratch memory, as `expandArguments` put it together.
static SmallVector<UnrealizedConversionCastOp>
findScratch(gpu::GPUFuncOp kernel, launch::AbiOp abi) {
  SmallVector<UnrealizedConversionCastOp> found;
  for (auto cast :
       kernel.getBody().front().getOps<UnrealizedConversionCastOp>()) {
    auto pointer = dyn_cast<BlockArgument>(cast.getOperand(0));
    if (pointer && isa<launch::ScratchParameterAttr>(
                       abi.getParameters()[pointer.getArgNumber()]))
      found.push_back(cast);
  }
  return found;
}

/// Gives what stands behind `wait` a pointer that exists since the wait only:
/// loads under a predicate are assembly that LLVM takes for arithmetic.
static void renew(UnrealizedConversionCastOp scratch, Operation *wait) {
  auto isBehind = [&](OpOperand &use) {
    Operation *user = wait->getBlock()->findAncestorOpInBlock(*use.getOwner());
    return user && wait->isBeforeInBlock(user);
  };
  // A pointer that nobody reads would keep the kernel's argument.
  if (llvm::none_of(scratch->getUses(), isBehind))
    return;
  OpBuilder b(wait);
  Location loc = wait->getLoc();
  SmallVector<Value> parts(scratch.getOperands());
  parts[0] = emitAsm(b, loc, "", "=l,0", parts[0], parts[0].getType()).front();
  auto renewed = UnrealizedConversionCastOp::create(
      b, loc, scratch.getResultTypes(), parts);
  scratch.getResult(0).replaceUsesWithIf(renewed.getResult(0), isBehind);
}

void fovea::lowerOverlap(gpu::GPUFuncOp kernel, launch::AbiOp abi) {
  SmallVector<UnrealizedConversionCastOp> scratch = findScratch(kernel, abi);
  SmallVector<Operation *> ops;
  kernel.walk([&](Operation *op) {
    if (isa<launch::AllowOverlapOp, launch::AwaitPreviousOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder b(op);
    bool waits = isa<launch::AwaitPreviousOp>(op);
    NVVM::GriddepcontrolOp::create(
        b, op->getLoc(),
        waits ? NVVM::GridDepActionKind::wait
              : NVVM::GridDepActionKind::launch_dependents);
    if (waits)
      for (UnrealizedConversionCastOp cast : scratch)
        renew(cast, op);
    op->erase();
  }
}
