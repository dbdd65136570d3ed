//===- Compile.cpp - Attention IR to PTX, in one call -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the pipelines and the LLVM backend, and validates the options that they
// do not check.
//
//===----------------------------------------------------------------------===//

#include "fovea/Pipelines/Compile.h"

#include "CarriedNames.h"

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Target/Metadata.h"
#include "fovea/Target/PTX.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace fovea;

/// An error about an option has no source location.
static InFlightDiagnostic emitOptionError(ModuleOp module, StringRef option) {
  return mlir::emitError(UnknownLoc::get(module.getContext()))
         << "option '" << option << "': ";
}

/// Returns the target, or null after an error. Existing kernels of the module
/// must be for this target.
static const TargetInfo *findTarget(ModuleOp module,
                                    const CompileOptions &options) {
  const TargetInfo *target = lookupTarget(
      options.target, [&] { return emitOptionError(module, "target"); });
  if (!target)
    return nullptr;
  for (StringRef name : options.withoutMaskOptimizations)
    if (!llvm::is_contained(getMaskOptimizations(), name)) {
      InFlightDiagnostic diag =
          emitOptionError(module, "without-mask-optimization")
          << "unknown optimisation of masks '" << name << "', expected one of ";
      llvm::interleaveComma(getMaskOptimizations(), diag, [&](StringRef known) {
        diag << "'" << known << "'";
      });
      return nullptr;
    }
  WalkResult walk = module.walk([&](launch::AbiOp abi) -> WalkResult {
    if (abi.getTarget() == target->name)
      return WalkResult::advance();
    return abi.emitError("kernel is for target '")
           << abi.getTarget() << "', found target '" << target->name << "'";
  });
  if (walk.wasInterrupted() || failed(checkScheduleApplies(module, options)))
    return nullptr;
  return target;
}

LogicalResult fovea::checkScheduleApplies(ModuleOp module,
                                          const CompileOptions &options) {
  if (options.schedule.empty() || options.schedule == "auto")
    return success();
  SmallVector<launch::AbiOp> kernels = launch::getEntryKernels(module);
  WalkResult walk = module.walk([](Operation *op) {
    return isa_and_nonnull<attn::AttnDialect>(op->getDialect())
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (walk.wasInterrupted() || kernels.empty())
    return success();
  return kernels.front().emitError(
             "kernel already contains a plan: the schedule '")
         << options.schedule << "' applies only to ops of the 'attn' dialect";
}

/// Returns the kernel with that name, or the only one.
static FailureOr<launch::AbiOp> selectKernel(ModuleOp module, StringRef name) {
  SmallVector<launch::AbiOp> all = launch::getEntryKernels(module);
  for (launch::AbiOp candidate : all)
    if (name.empty() ? all.size() == 1 : candidate.getKernel() == name)
      return candidate;
  if (all.empty())
    return module.emitError(
        "found no attention to compile: expected a function that holds an op "
        "of the 'attn' dialect, or a kernel with its 'launch.abi'");
  InFlightDiagnostic diag =
      name.empty() ? module.emitError() : emitOptionError(module, "kernel");
  if (name.empty())
    diag << "found several kernels, expected one to be chosen by name: ";
  else
    diag << "found no kernel '" << name << "', expected one of ";
  llvm::interleaveComma(all, diag, [&](launch::AbiOp candidate) {
    diag << "'" << candidate.getKernel() << "'";
  });
  return diag;
}

/// Translates a kernel in the NVVM dialect to the text of LLVM IR or PTX.
static FailureOr<std::string> translate(gpu::GPUModuleOp kernel,
                                        const TargetInfo &target,
                                        const CompileOptions &options,
                                        bool toPTX, TimingScope &timing) {
  llvm::LLVMContext context;
  TimingScope translation = timing.nest("Translation to LLVM IR");
  std::unique_ptr<llvm::Module> module =
      translateToLLVMIR(kernel, target, context);
  translation.stop();
  if (!module)
    return failure();
  TimingScope optimization = timing.nest("LLVM optimisation");
  optimizeLLVMIR(*module, target, options.withoutMaskOptimizations);
  optimization.stop();
  if (!toPTX) {
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    return text;
  }
  TimingScope backend = timing.nest("NVPTX backend");
  return emitPTX(*module, target, kernel.getLoc());
}

static FailureOr<std::string> getMetadata(launch::AbiOp abi) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (failed(writeMetadata(abi, stream)))
    return failure();
  return text;
}

FailureOr<std::vector<CompiledKernel>>
fovea::compileToPTX(ModuleOp module, const CompileOptions &options) {
  const TargetInfo *target = findTarget(module, options);
  if (!target)
    return failure();
  PassManager pm(module.getContext());
  buildToNVVMPipeline(pm, options);
  if (failed(pm.run(module)))
    return failure();
  std::vector<CompiledKernel> kernels;
  TimingScope timing;
  for (auto kernel : module.getOps<gpu::GPUModuleOp>()) {
    auto ptx = translate(kernel, *target, options, /*toPTX=*/true, timing);
    if (failed(ptx))
      return failure();
    for (launch::AbiOp abi : launch::getEntryKernels(kernel)) {
      FailureOr<std::string> metadata = getMetadata(abi);
      if (failed(metadata))
        return failure();
      kernels.push_back({abi.getKernel().str(), *ptx, std::move(*metadata)});
    }
  }
  return kernels;
}

std::string fovea::printModule(ModuleOp module, const CompileOptions &options) {
  OpPrintingFlags flags;
  flags.printNameLocAsPrefix();
  nameCarriedValues(module);
  if (options.sourceLines)
    flags.enableDebugInfo();
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, flags);
  stream << "\n";
  return text;
}

static LogicalResult runPipeline(ModuleOp module, Artifact artifact,
                                 const CompileOptions &options,
                                 TimingScope &timing, PassManagerSetup setup) {
  PassManager pm(module.getContext());
  pm.enableTiming(timing);
  if (setup && failed(setup(pm)))
    return failure();
  switch (artifact) {
  case Artifact::Tile:
    buildToTilePipeline(pm, options);
    break;
  case Artifact::Warp:
    buildToWarpPipeline(pm, options);
    break;
  default:
    buildToNVVMPipeline(pm, options);
    break;
  }
  return pm.run(module);
}

FailureOr<std::string> fovea::emitArtifact(ModuleOp module, Artifact artifact,
                                           const CompileOptions &options,
                                           StringRef kernel,
                                           TimingScope &timing,
                                           PassManagerSetup setup) {
  const TargetInfo *target = findTarget(module, options);
  if (!target || failed(runPipeline(module, artifact, options, timing, setup)))
    return failure();
  if (artifact == Artifact::Tile || artifact == Artifact::Warp ||
      artifact == Artifact::NVVM)
    return printModule(module, options);
  FailureOr<launch::AbiOp> abi = selectKernel(module, kernel);
  if (failed(abi))
    return failure();
  if (artifact == Artifact::Metadata)
    return getMetadata(*abi);
  return translate((*abi)->getParentOfType<gpu::GPUModuleOp>(), *target,
                   options, artifact == Artifact::PTX, timing);
}

FailureOr<CompiledKernel> fovea::compileKernel(ModuleOp module,
                                               const CompileOptions &options,
                                               StringRef name,
                                               TimingScope *timing,
                                               PassManagerSetup setup) {
  TimingScope none;
  auto ptx = emitArtifact(module, Artifact::PTX, options, name,
                          timing ? *timing : none, setup);
  if (failed(ptx))
    return failure();
  FailureOr<launch::AbiOp> abi = selectKernel(module, name);
  if (failed(abi))
    return failure();
  FailureOr<std::string> metadata = getMetadata(*abi);
  if (failed(metadata))
    return failure();
  return CompiledKernel{abi->getKernel().str(), std::move(*ptx),
                        std::move(*metadata)};
}
