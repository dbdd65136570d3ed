//===- KernelPass.cpp - Passes with checked requirements --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Support/KernelPass.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace fovea;

bool fovea::detail::canHoldKernels(StringRef opName) {
  return opName == gpu::GPUFuncOp::getOperationName() ||
         opName == gpu::GPUModuleOp::getOperationName() ||
         opName == ModuleOp::getOperationName();
}

/// Returns true if a pipeline nested on `gpu.module` and `gpu.func` has kernels
/// to run on.
static bool holdsKernels(Operation *op) {
  if (auto module = dyn_cast<gpu::GPUModuleOp>(op))
    return !module.getOps<gpu::GPUFuncOp>().empty();
  return llvm::any_of(cast<ModuleOp>(op).getOps<gpu::GPUModuleOp>(),
                      [](gpu::GPUModuleOp module) {
                        return !module.getOps<gpu::GPUFuncOp>().empty();
                      });
}

void fovea::detail::nestOnKernels(Operation *op, OpPassManager &pipeline,
                                  std::unique_ptr<Pass> pass) {
  if (!holdsKernels(op))
    op->emitWarning("'") << pass->getArgument()
                         << "' found no kernel: expected a 'gpu.func' within "
                            "a 'gpu.module'";
  OpPassManager &modules =
      isa<gpu::GPUModuleOp>(op) ? pipeline : pipeline.nest<gpu::GPUModuleOp>();
  modules.nest<gpu::GPUFuncOp>().addPass(std::move(pass));
}

LogicalResult fovea::detail::checkRequired(const KernelFact &fact,
                                           gpu::GPUFuncOp kernel,
                                           StringRef pass) {
  Operation *offender = fact.findOffender(kernel);
  if (!offender)
    return success();
  bool isMade = !fact.madeBy.empty();
  return offender->emitOpError("is not allowed here: expected '")
         << (isMade ? StringRef(fact.madeBy) : pass) << "' to have run before '"
         << (isMade ? pass : StringRef(fact.endedBy)) << "'";
}

LogicalResult fovea::detail::checkEnsured(const KernelFact &fact,
                                          gpu::GPUFuncOp kernel,
                                          StringRef pass) {
  Operation *offender = fact.findOffender(kernel);
  if (!offender)
    return success();
  return offender->emitOpError("remains after '")
         << pass << "', which should have rewritten it";
}
