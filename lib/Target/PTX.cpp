//===- PTX.cpp - The NVVM dialect to LLVM IR and PTX ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Target/PTX.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace mlir;
using namespace fovea;

static constexpr StringLiteral kTriple = "nvptx64-nvidia-cuda";

namespace {
/// `tile.abi` is for the host: it leaves no trace in the kernel's code.
struct AbiTranslation : LLVMTranslationDialectInterface {
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;

  LogicalResult convertOperation(Operation *op, llvm::IRBuilderBase &,
                                 LLVM::ModuleTranslation &) const override {
    return success(isa<tile::AbiOp>(op));
  }
};
} // namespace

void fovea::registerTranslations(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, tile::TileDialect *dialect) {
    dialect->addInterfaces<AbiTranslation>();
  });
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const TargetInfo &target) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  llvm::Triple triple(kTriple);
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.name, target.ptxFeature, llvm::TargetOptions(),
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

std::unique_ptr<llvm::Module>
fovea::translateToLLVMIR(gpu::GPUModuleOp module, const TargetInfo &target,
                         llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, module.getName());
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target);
  if (!result)
    return nullptr;
  if (!machine) {
    module.emitError("this build of LLVM has no NVPTX target");
    return nullptr;
  }
  result->setTargetTriple(llvm::Triple(kTriple));
  result->setDataLayout(machine->createDataLayout());
  // Subnormal scores and weights do not matter; keeping them would cost an
  // instruction at each exponential.
  for (llvm::Function &function : *result)
    if (!function.isDeclaration())
      function.addFnAttr("denormal-fp-math-f32", "preserve-sign");
  return result;
}

void fovea::optimizeLLVMIR(llvm::Module &module, const TargetInfo &target) {
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target);
  llvm::PassBuilder builder(machine.get());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  // Kernels come with their loops in order. What is left is to fold, and not to
  // hoist: O3 would move every coordinate of a mask and every address out of
  // the loop, where they hold registers that the tiles need. ptxas hoists what
  // it has room for.
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(
      passes,
      "function(sroa,early-cse,instcombine,simplifycfg,early-cse,instcombine,"
      "simplifycfg,dce)"));
  passes.run(module, modules);
}

FailureOr<std::string> fovea::emitPTX(llvm::Module &module,
                                      const TargetInfo &target, Location loc) {
  std::unique_ptr<llvm::TargetMachine> machine = createTargetMachine(target);
  if (!machine) {
    mlir::emitError(loc, "this build of LLVM has no NVPTX target");
    return failure();
  }
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile)) {
    mlir::emitError(loc, "the NVPTX target can't emit PTX");
    return failure();
  }
  passes.run(module);
  return std::string(text.str());
}
