//===- LoopSteps.h - Steps of the plan's order in a loop --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPSTEPS_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPSTEPS_H

#include "fovea/Dialect/Plan/IR/Plan.h"
#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fovea::warp {

/// A step of the plan's order, and the ops of a loop body that it names.
struct LoopStep {
  std::string name;
  plan::StepPart part = plan::StepPart::Op;
  int64_t stage = 0;
  llvm::SmallVector<mlir::Operation *> ops = {};
};

/// Makes the dots of the loop asynchronous whose wait is a step of the plan's
/// order.
void makeListedDotsAsync(mlir::scf::ForOp loop, plan::KernelAttr plan);

/// True if the plan's order lists that part of a dot, or of its family.
bool isListed(plan::KernelAttr plan, DotOp dot, plan::StepPart part);

/// The steps that name ops of the loop body, in the plan's order, and the steps
/// "*".
llvm::SmallVector<LoopStep> findSteps(mlir::scf::ForOp loop,
                                      plan::KernelAttr plan);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPSTEPS_H
