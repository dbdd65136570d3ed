//===- KernelLowering.cpp - Lowerings of kernel ops -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel/KernelLowering.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea;

std::unique_ptr<KernelLowering>
fovea::makeKernelLowering(attn::KernelOpInterface op) {
  using Lowering = std::unique_ptr<KernelLowering>;
  return TypeSwitch<Operation *, Lowering>(op)
      .Case([](attn::ForwardOp op) { return makeForwardLowering(op); })
      .Case([](attn::MergeOp op) { return makeMergeLowering(op); })
      .Case([](attn::AppendOp op) { return makeAppendLowering(op); })
      .Case([](attn::BackwardOp op) { return makeBackwardLowering(op); })
      .Default([](Operation *op) -> Lowering {
        op->emitError("'") << op->getName() << "' has no lowering to tiles";
        return nullptr;
      });
}
