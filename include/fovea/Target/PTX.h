//===- PTX.h - The NVVM dialect to LLVM IR and PTX --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The end of the compiler: a lowered kernel is translated to LLVM IR, optimised
// and emitted as PTX.
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

/// Registers the translations of a lowered kernel's dialects to LLVM IR, also
/// for upstream's `gpu-module-to-binary`. `launch.abi` marks tensor maps as
/// parameters that are passed by value.
void registerTranslations(mlir::DialectRegistry &registry);

/// Translates a kernel's module to LLVM IR, without optimisation, with the
/// target's triple and data layout. Null after a diagnostic.
std::unique_ptr<llvm::Module> translateToLLVMIR(mlir::gpu::GPUModuleOp module,
                                                const TargetInfo &target,
                                                llvm::LLVMContext &context);

/// Names of the mask optimisations that `optimizeLLVMIR` can omit.
llvm::ArrayRef<llvm::StringLiteral> getMaskOptimizations();

/// Optimises `module` in place, without the mask optimisations named in
/// `without`.
void optimizeLLVMIR(llvm::Module &module, const TargetInfo &target,
                    llvm::ArrayRef<std::string> without = {});

/// Emits PTX of an optimised module. Fails with a diagnostic at `loc`.
mlir::FailureOr<std::string>
emitPTX(llvm::Module &module, const TargetInfo &target, mlir::Location loc);

/// Registers the translation `nvvm-to-ptx`: PTX of the only kernel in a module,
/// parsed with the dialects of `registerDialects`.
void registerPTXTranslation(void (*registerDialects)(mlir::DialectRegistry &));

} // namespace fovea

#endif // FOVEA_TARGET_PTX_H
