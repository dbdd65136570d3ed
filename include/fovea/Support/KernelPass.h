//===- KernelPass.h - Passes that say what they require ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass on kernels states in its TableGen definition (KernelPass.td) which
// facts must hold of a kernel before it, and which ones hold after it. There it
// becomes the pass's documentation, and here what is checked: before the pass
// with a diagnostic that names the pass that makes it so, after the pass in
// builds with assertions.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_KERNELPASS_H
#define FOVEA_SUPPORT_KERNELPASS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace fovea {

/// What may hold of a kernel; KernelPass.td says it in words.
struct KernelFact {
  /// An op that shows that it does not hold; null if it does.
  mlir::Operation *(*findOffender)(mlir::gpu::GPUFuncOp kernel);
  /// The pass that sees to it, or else the one that ends it.
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
/// Whether a pass on kernels can be scheduled on such an op: a `gpu.func`, or
/// an op that holds some.
bool canHoldKernels(llvm::StringRef opName);
/// Adds a pass on kernels to a pipeline for `op`, which holds kernels. Warns if
/// it holds none.
void nestOnKernels(mlir::Operation *op, mlir::OpPassManager &pipeline,
                   std::unique_ptr<mlir::Pass> pass);
} // namespace detail

/// The base of passes whose TableGen class is `KernelPass`. A pass that is
/// scheduled on a module, as by a flag of `mlir-opt`, runs on the module's
/// kernels: a flag alone nests one level, and kernels are two levels down.
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

/// The first op in the kernel that is one of `Ops`.
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
/// A diagnostic at an op that shows that `fact` does not hold before `pass`.
mlir::LogicalResult checkRequired(const KernelFact &fact,
                                  mlir::gpu::GPUFuncOp kernel,
                                  llvm::StringRef pass);
/// The same of a fact that the pass itself should have made hold.
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
