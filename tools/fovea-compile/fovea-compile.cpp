//===- fovea-compile.cpp - Attention IR to PTX ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/InitAll.h"
#include "fovea/Target/Assemble.h"
#include "fovea/Target/Compile.h"
#include "fovea/Target/PTX.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/CommandLine.h"
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
static llvm::cl::opt<std::string> scheduleTable(
    "schedule-table",
    llvm::cl::desc("Schedules that were measured, as fovea-run --tune writes "
                   "them; fields of --schedule go first"),
    llvm::cl::value_desc("file"), llvm::cl::cat(category));
static llvm::cl::opt<bool>
    accurateTanh("accurate-tanh",
                 llvm::cl::desc("tanh within 1e-6 instead of the chip's "
                                "approximation (off by up to 2^-11)"),
                 llvm::cl::cat(category));
static llvm::cl::opt<tile::RecurrenceKind>
    recurrence("recurrence", llvm::cl::desc("Algorithm of the softmax loop:"),
               llvm::cl::init(tile::kScheduleRecurrence),
               tile::recurrenceValues(), llvm::cl::cat(category));
static llvm::cl::list<std::string> withoutMaskOptimizations(
    "without-mask-optimization", llvm::cl::CommaSeparated,
    llvm::cl::desc("Leave out what is done to masks in LLVM IR: "
                   "keep-known-bits, scalarize-masks, share-offsets, "
                   "keep-conjunctions (to see what it is worth)"),
    llvm::cl::value_desc("name"), llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    ptxasName("ptxas",
              llvm::cl::desc("The ptxas to use (default: the one on the PATH)"),
              llvm::cl::cat(category));
static llvm::cl::opt<bool> allowFaults(
    "allow-faults",
    llvm::cl::desc("With --emit=cubin: only warn where the registers of a "
                   "--schedule don't fit or its dots wait for each other"),
    llvm::cl::cat(category));
static llvm::cl::opt<bool>
    verbose("v", llvm::cl::desc("With --emit=cubin: show what ptxas says"),
            llvm::cl::cat(category));

/// What is compiled to; machine code is made of PTX.
static Artifact getArtifact(Emit kind) {
  switch (kind) {
  case Emit::Tile:
    return Artifact::Tile;
  case Emit::Warp:
    return Artifact::Warp;
  case Emit::NVVM:
    return Artifact::NVVM;
  case Emit::LLVM:
    return Artifact::LLVM;
  case Emit::PTX:
  case Emit::Cubin:
    return Artifact::PTX;
  case Emit::Metadata:
    return Artifact::Metadata;
  }
  llvm_unreachable("unknown kind of output");
}

/// Machine code of `ptx`, or none after an error was printed.
static std::optional<std::string> assemble(StringRef ptx) {
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
  Assembly assembly = assemblePTX(ptx, target, program);
  if (verbose || !assembly.machineCode)
    llvm::errs() << assembly.log;
  // Who asks for a schedule can ask for another one.
  bool isRefused = schedule != "auto" && !allowFaults;
  for (const std::string &fault : assembly.faults)
    llvm::errs() << (isRefused ? "error: " : "warning: ") << fault << "\n";
  if (!assembly.machineCode)
    llvm::errs() << "error: " << assembly.error << "\n";
  if (isRefused && !assembly.faults.empty()) {
    llvm::errs() << "note: --allow-faults keeps such a schedule\n";
    return std::nullopt;
  }
  return assembly.machineCode;
}

/// What to write, or none after diagnostics.
static std::optional<std::string> produce(ModuleOp module,
                                          TimingScope &timing) {
  CompileOptions options;
  options.target = target;
  options.schedule = schedule;
  options.scheduleTable = scheduleTable;
  options.recurrence = recurrence;
  options.accurateTanh = accurateTanh;
  options.withoutMaskOptimizations.assign(withoutMaskOptimizations.begin(),
                                          withoutMaskOptimizations.end());
  FailureOr<std::string> text =
      emitArtifact(module, getArtifact(emitKind), options, kernelName, timing,
                   applyPassManagerCLOptions);
  if (failed(text))
    return std::nullopt;
  if (emitKind != Emit::Cubin)
    return *text;
  TimingScope assembly = timing.nest("ptxas");
  return assemble(*text);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  // Others, of LLVM and MLIR, are in --help-hidden.
  llvm::cl::HideUnrelatedOptions(category);
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
