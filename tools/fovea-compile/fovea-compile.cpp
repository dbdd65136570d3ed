//===- fovea-compile.cpp - Attention IR to PTX ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/InitAll.h"
#include "fovea/Pipelines/Pipelines.h"
#include "fovea/Target/Metadata.h"
#include "fovea/Target/PTX.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace fovea;

namespace {
enum class Emit { Tile, Warp, NVVM, LLVM, PTX, Cubin, Metadata };
} // namespace

static llvm::cl::OptionCategory category("fovea-compile options");
static llvm::cl::opt<std::string>
    inputName(llvm::cl::Positional, llvm::cl::desc("<input .mlir, or - >"),
              llvm::cl::init("-"), llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    outputName("o", llvm::cl::desc("Output file; - is standard output"),
               llvm::cl::value_desc("file"), llvm::cl::init("-"),
               llvm::cl::cat(category));
static llvm::cl::opt<Emit> emitKind(
    "emit", llvm::cl::desc("What to write:"), llvm::cl::init(Emit::PTX),
    llvm::cl::values(
        clEnumValN(Emit::Tile, "tile", "tile programs, softmax loops fused"),
        clEnumValN(Emit::Warp, "warp", "warp programs, layouts assigned"),
        clEnumValN(Emit::NVVM, "nvvm", "kernels in the NVVM dialect"),
        clEnumValN(Emit::LLVM, "llvm", "optimised LLVM IR"),
        clEnumValN(Emit::PTX, "ptx", "PTX (the default)"),
        clEnumValN(Emit::Cubin, "cubin", "machine code, by ptxas"),
        clEnumValN(Emit::Metadata, "metadata",
                   "launch metadata as JSON, see docs/ABI.md")),
    llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    kernelName("kernel",
               llvm::cl::desc("The kernel to write, if there are several"),
               llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    target("target", llvm::cl::desc("Chip to compile for (default sm_80)"),
           llvm::cl::init("sm_80"), llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    schedule("schedule",
             llvm::cl::desc("'auto' (the default), or fields to override, for "
                            "example tile_n=32,stages=3"),
             llvm::cl::init("auto"), llvm::cl::cat(category));
static llvm::cl::opt<bool>
    accurateTanh("accurate-tanh",
                 llvm::cl::desc("tanh within 1e-6 instead of the chip's "
                                "approximation (off by up to 2^-11)"),
                 llvm::cl::cat(category));
static llvm::cl::opt<tile::RecurrenceKind>
    recurrence("recurrence", llvm::cl::desc("Algorithm of the softmax loop:"),
               llvm::cl::init(tile::kScheduleRecurrence),
               tile::recurrenceValues(), llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    ptxasName("ptxas",
              llvm::cl::desc("The ptxas to use (default: the one on the PATH)"),
              llvm::cl::cat(category));
static llvm::cl::opt<bool>
    verbose("v", llvm::cl::desc("With --emit=cubin: show what ptxas says"),
            llvm::cl::cat(category));

/// Assembles `ptx`; the machine code, or none after an error was printed.
static std::optional<std::string> assemble(StringRef ptx,
                                           const TargetInfo &info) {
  std::string program = ptxasName;
  if (program.empty()) {
    llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas");
    if (!found) {
      llvm::errs() << "error: --emit=cubin needs ptxas, which is not on the "
                      "PATH; give its place with --ptxas, or use --emit=ptx\n";
      return std::nullopt;
    }
    program = *found;
  }
  llvm::SmallString<128> source, object, log;
  if (llvm::sys::fs::createTemporaryFile("fovea", "ptx", source) ||
      llvm::sys::fs::createTemporaryFile("fovea", "cubin", object) ||
      llvm::sys::fs::createTemporaryFile("fovea", "log", log)) {
    llvm::errs() << "error: cannot create a temporary file\n";
    return std::nullopt;
  }
  llvm::FileRemover removeSource(source), removeObject(object), removeLog(log);
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(source, error);
    stream << ptx;
  }
  std::string arch = ("-arch=" + info.name).str();
  SmallVector<StringRef> arguments = {program, arch, "-v",
                                      source,  "-o", object};
  std::string message;
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log),
                                          StringRef(log)};
  int code = llvm::sys::ExecuteAndWait(program, arguments, std::nullopt,
                                       redirects, 0, 0, &message);
  auto said = llvm::MemoryBuffer::getFile(log);
  if (said && (verbose || code != 0))
    llvm::errs() << (*said)->getBuffer();
  if (code != 0) {
    llvm::errs() << "error: '" << program << "' failed"
                 << (message.empty() ? "" : ": ") << message << "\n";
    return std::nullopt;
  }
  auto machineCode = llvm::MemoryBuffer::getFile(object);
  if (!machineCode) {
    llvm::errs() << "error: cannot read what '" << program << "' wrote\n";
    return std::nullopt;
  }
  return (*machineCode)->getBuffer().str();
}

static LogicalResult runPipeline(ModuleOp module, TimingScope &timing) {
  CompileOptions options;
  options.target = target;
  options.schedule = schedule;
  options.accurateTanh = accurateTanh;
  options.recurrence = recurrence;
  PassManager pm(module.getContext());
  pm.enableTiming(timing);
  if (failed(applyPassManagerCLOptions(pm)))
    return failure();
  switch (emitKind) {
  case Emit::Tile:
    buildToTilePipeline(pm, options);
    break;
  case Emit::Warp:
    buildToWarpPipeline(pm, options);
    break;
  default:
    buildToNVVMPipeline(pm, options);
    break;
  }
  return pm.run(module);
}

/// The kernel to write: the only one, or the one that the user names.
static gpu::GPUModuleOp selectKernel(ModuleOp module, tile::AbiOp &abi) {
  SmallVector<tile::AbiOp> all;
  module.walk([&](tile::AbiOp found) { all.push_back(found); });
  for (tile::AbiOp candidate : all)
    if (kernelName.empty() ? all.size() == 1
                           : candidate.getKernel() == kernelName)
      abi = candidate;
  if (abi)
    return abi->getParentOfType<gpu::GPUModuleOp>();
  if (all.empty()) {
    module.emitError("found no attention to compile: expected a function that "
                     "holds an op of the 'attn' dialect");
    return {};
  }
  InFlightDiagnostic diag = module.emitError();
  if (kernelName.empty())
    diag << "found several kernels, expected one to be chosen with --kernel: ";
  else
    diag << "found no kernel '" << kernelName << "', expected one of ";
  llvm::interleaveComma(all, diag, [&](tile::AbiOp candidate) {
    diag << "'" << candidate.getKernel() << "'";
  });
  return {};
}

/// What to write, or none after diagnostics.
static std::optional<std::string> produce(ModuleOp module,
                                          TimingScope &timing) {
  const TargetInfo *info =
      lookupTarget(target, [&] { return mlir::emitError(module.getLoc()); });
  if (!info || failed(runPipeline(module, timing)))
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (emitKind == Emit::Tile || emitKind == Emit::Warp ||
      emitKind == Emit::NVVM) {
    module.print(stream);
    stream << "\n";
    return text;
  }
  tile::AbiOp abi;
  gpu::GPUModuleOp kernel = selectKernel(module, abi);
  if (!kernel)
    return std::nullopt;
  if (emitKind == Emit::Metadata) {
    if (failed(writeMetadata(abi, stream)))
      return std::nullopt;
    return text;
  }
  llvm::LLVMContext context;
  TimingScope translation = timing.nest("Translation to LLVM IR");
  std::unique_ptr<llvm::Module> llvmModule =
      translateToLLVMIR(kernel, *info, context);
  translation.stop();
  if (!llvmModule)
    return std::nullopt;
  TimingScope optimization = timing.nest("LLVM optimisation");
  optimizeLLVMIR(*llvmModule, *info);
  optimization.stop();
  if (emitKind == Emit::LLVM) {
    stream << *llvmModule;
    return text;
  }
  TimingScope backend = timing.nest("NVPTX backend");
  FailureOr<std::string> ptx = emitPTX(*llvmModule, *info, kernel.getLoc());
  backend.stop();
  if (failed(ptx))
    return std::nullopt;
  if (emitKind == Emit::PTX)
    return *ptx;
  TimingScope assembly = timing.nest("ptxas");
  return assemble(*ptx, *info);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  llvm::cl::ParseCommandLineOptions(
      argc, argv,
      "Fovea compiler: attention IR to PTX, and every level in between\n");

  DefaultTimingManager manager;
  applyDefaultTimingManagerCLOptions(manager);
  TimingScope timing = manager.getRootScope();

  DialectRegistry registry;
  registerDialects(registry);
  registerTranslations(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input =
      openInputFile(inputName, &message);
  if (!input) {
    llvm::errs() << "error: " << message << "\n";
    return 1;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  TimingScope parsing = timing.nest("Parser");
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  parsing.stop();
  if (!module)
    return 1;
  std::optional<std::string> text = produce(*module, timing);
  if (!text)
    return 1;
  std::unique_ptr<llvm::ToolOutputFile> output =
      openOutputFile(outputName, &message);
  if (!output) {
    llvm::errs() << "error: " << message << "\n";
    return 1;
  }
  output->os() << *text;
  output->keep();
  return 0;
}
