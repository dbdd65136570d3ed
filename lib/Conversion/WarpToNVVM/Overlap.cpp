//===- Overlap.cpp - Programmatic dependent launch --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks and lowers `launch.allow_overlap` and `launch.await_previous`, which
// let the kernels of one launch overlap (programmatic dependent launch). They
// become `griddepcontrol` instructions.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "fovea/Support/Target.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fovea;

/// Returns true if an `await_previous` precedes `op` in its block, or precedes
/// one of its ancestors in the ancestor's block.
static bool isAfterWait(Operation *op) {
  for (; !isa<gpu::GPUFuncOp>(op); op = op->getParentOp())
    for (Operation *prev = op->getPrevNode(); prev; prev = prev->getPrevNode())
      if (isa<launch::AwaitPreviousOp>(prev))
        return true;
  return false;
}

/// Scratch memory that an earlier kernel accesses may be accessed only after a
/// wait for the earlier kernels.
static LogicalResult checkScratch(gpu::GPUFuncOp kernel, launch::AbiOp abi) {
  for (auto [argument, parameter] :
       llvm::zip(kernel.getArguments(), abi.getParameters())) {
    auto scratch = dyn_cast<launch::ScratchMemRefParameterAttr>(parameter);
    if (!scratch || !launch::isTouchedBefore(abi, scratch.getName()))
      continue;
    for (Operation *user : argument.getUsers())
      // Views of the memory count as accesses, too.
      if (!isa<memref::DimOp>(user) && !isAfterWait(user))
        return user->emitOpError(
            "accesses scratch memory of an earlier kernel: "
            "expected 'launch.await_previous' before it");
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
    return wait.emitOpError("is in the first kernel of its launch: expected an "
                            "earlier kernel");
  if (failed(checkScratch(kernel, abi)))
    return failure();
  // The host may start the kernel early only because its waits are emitted.
  abi.setOverlapped(true);
  return success();
}

/// The casts with which `expandArguments` replaced scratch memory arguments.
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

/// Replaces the pointer of `scratch` after `wait` by an opaque copy that is
/// defined at the wait. Otherwise LLVM may move predicated loads across the
/// wait: they are inline assembly without side effects.
static void rematerializeAfterWait(UnrealizedConversionCastOp scratch,
                                   Operation *wait) {
  auto isAfter = [&](OpOperand &use) {
    Operation *user = wait->getBlock()->findAncestorOpInBlock(*use.getOwner());
    return user && wait->isBeforeInBlock(user);
  };
  // An unused pointer would keep the kernel's argument alive.
  if (llvm::none_of(scratch->getUses(), isAfter))
    return;
  OpBuilder b(wait);
  Location loc = wait->getLoc();
  SmallVector<Value> parts(scratch.getOperands());
  parts[0] = emitAsm(b, loc, "", "=l,0", parts[0], parts[0].getType()).front();
  auto renewed = UnrealizedConversionCastOp::create(
      b, loc, scratch.getResultTypes(), parts);
  scratch.getResult(0).replaceUsesWithIf(renewed.getResult(0), isAfter);
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
        rematerializeAfterWait(cast, op);
    op->erase();
  }
}
