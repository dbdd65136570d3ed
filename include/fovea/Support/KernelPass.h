//===- KernelPass.h - Passes with checked requirements ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel pass lists in its TableGen definition (KernelPass.td) the facts that
// must hold before it and those that hold after it. They are part of the pass's
// documentation. Required facts are checked before the pass, with a diagnostic
// that names the pass that establishes them. Ensured facts are checked after
// the pass in builds with assertions.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_KERNELPASS_H
#define FOVEA_SUPPORT_KERNELPASS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace fovea {

/// A property of a kernel; its text is in a KernelFacts.td.
struct KernelFact {
  /// Returns an op that violates the fact, or null.
  mlir::Operation *(*findOffender)(mlir::gpu::GPUFuncOp kernel);
  /// The pass that establishes the fact, or else the one that ends it.
  llvm::StringLiteral madeBy, endedBy = "";
};

template <const KernelFact &...facts>
struct Requires {
  static mlir::LogicalResult check(mlir::gpu::GPUFuncOp kernel,
                                   llvm::StringRef pass);
};
template <const KernelFact &...facts>
struct Ensures {
  static mlir::LogicalResult check(mlir::gpu::GPUFuncOp kernel,
                                   llvm::StringRef pass);
};

namespace detail {
/// Returns true if a kernel pass can be scheduled on an op: a `gpu.func` or an
/// op that contains some.
bool canHoldKernels(llvm::StringRef opName);
/// Adds a kernel pass to a pipeline for `op`, which contains kernels. Warns if
/// there are none.
void nestOnKernels(mlir::Operation *op, mlir::OpPassManager &pipeline,
                   std::unique_ptr<mlir::Pass> pass);
} // namespace detail

/// Base class of passes whose TableGen class is `KernelPass`. If such a pass is
/// scheduled on a module, for example by a flag of `mlir-opt`, it runs on the
/// kernels of the module: a flag nests only one level, and kernels are two
/// levels down.
template <typename Required, typename Ensured>
class KernelPass : public mlir::OperationPass<> {
protected:
  using OperationPass::OperationPass;

  virtual void runOnKernel() = 0;

  mlir::gpu::GPUFuncOp getOperation() {
    return mlir::cast<mlir::gpu::GPUFuncOp>(Pass::getOperation());
  }

private:
  bool canScheduleOn(mlir::RegisteredOperationName name) const final {
    return detail::canHoldKernels(name.getStringRef());
  }

  void runOnOperation() final {
    mlir::Operation *op = Pass::getOperation();
    if (!mlir::isa<mlir::gpu::GPUFuncOp>(op)) {
      mlir::OpPassManager pipeline(op->getName().getStringRef());
      detail::nestOnKernels(op, pipeline, clone());
      if (failed(runPipeline(pipeline, op)))
        signalPassFailure();
      return;
    }
    if (failed(Required::check(getOperation(), getArgument())))
      return signalPassFailure();
    runOnKernel();
#ifndef NDEBUG
    if (!getPassState().irAndPassFailed.getInt() &&
        failed(Ensured::check(getOperation(), getArgument())))
      signalPassFailure();
#endif
  }
};

/// Returns the first op in the kernel that is one of `Ops`.
template <typename... Ops>
mlir::Operation *findOp(mlir::gpu::GPUFuncOp kernel) {
  mlir::Operation *found = nullptr;
  kernel.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (!mlir::isa<Ops...>(op))
      return mlir::WalkResult::advance();
    found = op;
    return mlir::WalkResult::interrupt();
  });
  return found;
}

namespace detail {
/// Emits an error at an op that violates `fact` before `pass`.
mlir::LogicalResult checkRequired(const KernelFact &fact,
                                  mlir::gpu::GPUFuncOp kernel,
                                  llvm::StringRef pass);
/// The same for a fact that the pass itself should have established.
mlir::LogicalResult checkEnsured(const KernelFact &fact,
                                 mlir::gpu::GPUFuncOp kernel,
                                 llvm::StringRef pass);
} // namespace detail

template <const KernelFact &...facts>
mlir::LogicalResult Requires<facts...>::check(mlir::gpu::GPUFuncOp kernel,
                                              llvm::StringRef pass) {
  return mlir::success(
      (mlir::succeeded(detail::checkRequired(facts, kernel, pass)) && ...));
}
template <const KernelFact &...facts>
mlir::LogicalResult Ensures<facts...>::check(mlir::gpu::GPUFuncOp kernel,
                                             llvm::StringRef pass) {
  return mlir::success(
      (mlir::succeeded(detail::checkEnsured(facts, kernel, pass)) && ...));
}

} // namespace fovea

#endif // FOVEA_SUPPORT_KERNELPASS_H
