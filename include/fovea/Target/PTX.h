//===- PTX.h - The NVVM dialect to LLVM IR and PTX --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TARGET_PTX_H
#define FOVEA_TARGET_PTX_H

#include "fovea/Support/Target.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace fovea {

/// Registers how the dialects of a lowered kernel translate to LLVM IR, also
/// for upstream's `gpu-module-to-binary`: of `launch.abi` remains that tensor
/// maps are passed by value.
void registerTranslations(mlir::DialectRegistry &registry);

/// LLVM IR of a kernel's module, not optimised, with the target's triple and
/// data layout. Null after a diagnostic.
std::unique_ptr<llvm::Module> translateToLLVMIR(mlir::gpu::GPUModuleOp module,
                                                const TargetInfo &target,
                                                llvm::LLVMContext &context);

/// Names of the optimisations of masks that `optimizeLLVMIR` can be without.
llvm::ArrayRef<llvm::StringLiteral> getMaskOptimizations();

/// Optimises `module` in place, without the mask optimisations that `without`
/// names.
void optimizeLLVMIR(llvm::Module &module, const TargetInfo &target,
                    llvm::ArrayRef<std::string> without = {});

/// PTX of an optimised module. Fails with a diagnostic at `loc`.
mlir::FailureOr<std::string>
emitPTX(llvm::Module &module, const TargetInfo &target, mlir::Location loc);

/// Registers the translation `nvvm-to-ptx`: PTX of the only kernel in a
/// module, read with the dialects of `registerDialects`.
void registerPTXTranslation(void (*registerDialects)(mlir::DialectRegistry &));

} // namespace fovea

#endif // FOVEA_TARGET_PTX_H
