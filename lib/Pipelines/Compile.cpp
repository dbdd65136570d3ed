//===- Compile.cpp - Attention IR to PTX, in one call -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Target/Compile.h"

#include "fovea/Target/Metadata.h"
#include "fovea/Target/PTX.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace fovea;

FailureOr<std::vector<CompiledKernel>>
fovea::compileToPTX(ModuleOp module, const CompileOptions &options) {
  const TargetInfo *target = lookupTarget(
      options.target, [&] { return mlir::emitError(module.getLoc()); });
  if (!target)
    return failure();
  PassManager pm(module.getContext());
  buildToNVVMPipeline(pm, options);
  if (failed(pm.run(module)))
    return failure();
  std::vector<CompiledKernel> kernels;
  for (auto kernel : module.getOps<gpu::GPUModuleOp>()) {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> llvmModule =
        translateToLLVMIR(kernel, *target, context);
    if (!llvmModule)
      return failure();
    optimizeLLVMIR(*llvmModule, *target);
    FailureOr<std::string> ptx = emitPTX(*llvmModule, *target, kernel.getLoc());
    if (failed(ptx))
      return failure();
    for (auto abi : kernel.getOps<tile::AbiOp>()) {
      std::string metadata;
      llvm::raw_string_ostream stream(metadata);
      if (failed(writeMetadata(abi, stream)))
        return failure();
      kernels.push_back({abi.getKernel().str(), *ptx, metadata});
    }
  }
  return kernels;
}
