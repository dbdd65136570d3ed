//===- fovea-compile.cpp - Compiles attention IR to PTX -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads attention IR and writes PTX, machine code, launch metadata, or the IR
// of a level in between.
//
//===----------------------------------------------------------------------===//

#include "fovea/InitAll.h"
#include "fovea/Pipelines/Compile.h"
#include "fovea/Schedule/Bottleneck.h"
#include "fovea/Schedule/SmallerSchedules.h"
#include "fovea/Support/DefaultTarget.h"
#include "fovea/Support/Tool.h"
#include "fovea/Support/Untrusted.h"
#include "fovea/Target/Assemble.h"
#include "fovea/Target/PTX.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
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
    "emit", llvm::cl::desc("Output to write:"), llvm::cl::init(Emit::PTX),
    llvm::cl::values(
        clEnumValN(Emit::Tile, "tile",
                   "tile programs with fused softmax loops"),
        clEnumValN(Emit::Warp, "warp", "warp programs with assigned layouts"),
        clEnumValN(Emit::NVVM, "nvvm", "kernels in the NVVM dialect"),
        clEnumValN(Emit::LLVM, "llvm", "optimised LLVM IR"),
        clEnumValN(Emit::PTX, "ptx", "PTX (the default)"),
        clEnumValN(Emit::Cubin, "cubin", "machine code from ptxas"),
        clEnumValN(Emit::Metadata, "metadata",
                   "launch metadata as JSON, see docs/Specification/ABI.md")),
    llvm::cl::cat(category));
static llvm::cl::opt<std::string> metadataName(
    "metadata",
    llvm::cl::desc("With --emit=ptx or cubin: also write the launch metadata. "
                   "If the chosen schedule needs too many registers, machine "
                   "code and metadata are those of a smaller schedule"),
    llvm::cl::value_desc("file"), llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    kernelName("kernel",
               llvm::cl::desc("The kernel to write, if there are several"),
               llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    target("target", llvm::cl::desc("GPU to compile for (default sm_90a)"),
           llvm::cl::init(kDefaultTarget), llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    schedule("schedule",
             llvm::cl::desc("'auto' (the default), or fields to override, for "
                            "example tile_n=32,stages=3, or the \"plans\" of "
                            "launch metadata"),
             llvm::cl::init("auto"), llvm::cl::cat(category));
static llvm::cl::opt<std::string> scheduleTable(
    "schedule-table",
    llvm::cl::desc("Table of measured schedules, written by fovea-run --tune; "
                   "fields of --schedule take precedence"),
    llvm::cl::value_desc("file"), llvm::cl::cat(category));
static llvm::cl::opt<std::string> lineInfo(
    "line-info", llvm::cl::ValueOptional,
    llvm::cl::desc("Emit line information (.loc) in PTX and locations in MLIR; "
                   "with a file, write the warp program to it and refer to "
                   "its lines"),
    llvm::cl::value_desc("file"), llvm::cl::cat(category));
static llvm::cl::opt<bool>
    accurateTanh("accurate-tanh",
                 llvm::cl::desc("tanh within 1e-6 instead of the GPU's "
                                "approximation (off by up to 2^-16.5)"),
                 llvm::cl::cat(category));
static llvm::cl::opt<tile::RecurrenceKind>
    recurrence("recurrence", llvm::cl::desc("Algorithm of the softmax loop:"),
               llvm::cl::init(tile::kScheduleRecurrence),
               tile::recurrenceValues(), llvm::cl::cat(category));
static llvm::cl::list<std::string> withoutMaskOptimizations(
    "without-mask-optimization", llvm::cl::CommaSeparated,
    llvm::cl::desc("Disable an optimisation of masks in LLVM IR, for ablation: "
                   "keep-conjunctions"),
    llvm::cl::value_desc("name"), llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    ptxasName("ptxas",
              llvm::cl::desc("The ptxas to use (default: the one on the PATH)"),
              llvm::cl::cat(category));
static llvm::cl::opt<bool> allowFaults(
    "allow-faults",
    llvm::cl::desc(
        "With --emit=cubin: only warn if a schedule spills registers "
        "or ptxas serialises its wgmma instructions"),
    llvm::cl::cat(category));
static llvm::cl::opt<bool>
    why("why",
        llvm::cl::desc(
            "With --emit=ptx or cubin: say on standard error what bounds "
            "each forward kernel, by a model of its dots, shared memory "
            "and exponentials"),
        llvm::cl::cat(category));
static llvm::cl::opt<bool>
    verbose("v", llvm::cl::desc("With --emit=cubin: show the output of ptxas"),
            llvm::cl::cat(category));

/// The artifact that `emitArtifact` produces.
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
  case Emit::Metadata:
    return Artifact::Metadata;
  case Emit::PTX:
  case Emit::Cubin:
    break;
  }
  llvm_unreachable("made with its metadata");
}

static std::optional<std::string> findPtxas() {
  if (!ptxasName.empty())
    return ptxasName;
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  llvm::errs() << "error: --emit=cubin needs ptxas, which is not on the PATH; "
                  "pass its path with --ptxas, or use --emit=ptx\n";
  return std::nullopt;
}

namespace {
/// The output text, and the launch metadata if it is produced with it.
struct Product {
  std::string text, metadata;
};
} // namespace

/// Assembles the first schedule that needs fewer registers and has no faults.
static std::optional<Product> assembleSmaller(ModuleOp source,
                                              const CompiledKernel &chosen,
                                              CompileOptions &options,
                                              StringRef ptxas) {
  // Smaller schedules that exceed shared memory are skipped silently.
  ScopedDiagnosticHandler ignore(source.getContext(),
                                 [](Diagnostic &) { return success(); });
  for (std::string &smaller : getSmallerSchedules(chosen.metadata)
                                  .value_or(std::vector<std::string>())) {
    options.schedule = smaller;
    OwningOpRef<ModuleOp> copy = source.clone();
    auto kernel = compileKernel(*copy, options, kernelName);
    if (failed(kernel))
      continue;
    Assembly assembly = assemblePTX(kernel->ptx, target, ptxas);
    if (!assembly.machineCode || !assembly.faults.empty())
      continue;
    if (verbose)
      llvm::errs() << assembly.log;
    llvm::errs() << "remark: the registers of the chosen schedule don't fit; "
                    "compiled with --schedule="
                 << smaller << "\n";
    return Product{*assembly.machineCode, kernel->metadata};
  }
  return std::nullopt;
}

/// Assembles `kernel`; returns nullopt after printing an error. `source` is the
/// module that it was compiled from, to recompile with another schedule.
static std::optional<Product> assemble(const CompiledKernel &kernel,
                                       ModuleOp source,
                                       CompileOptions &options) {
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    return std::nullopt;
  Assembly assembly = assemblePTX(kernel.ptx, target, *ptxas);
  if (verbose || !assembly.machineCode)
    llvm::errs() << assembly.log;
  if (assembly.machineCode && !assembly.faults.empty() && source)
    if (auto smaller = assembleSmaller(source, kernel, options, *ptxas))
      return smaller;
  // The user can change a user-specified schedule, so its faults are errors.
  bool isRefused = schedule != "auto" && !allowFaults;
  for (const std::string &fault : assembly.faults)
    llvm::errs() << (isRefused ? "error: " : "warning: ") << fault << "\n";
  if (!assembly.machineCode) {
    llvm::errs() << "error: " << assembly.error << "\n";
    return std::nullopt;
  }
  if (isRefused && !assembly.faults.empty()) {
    llvm::errs() << "note: --allow-faults keeps such a schedule\n";
    return std::nullopt;
  }
  if (!assembly.faults.empty() && metadataName.empty() && !allowFaults)
    llvm::errs() << "note: with --metadata a schedule that needs fewer "
                    "registers may replace it\n";
  return Product{*assembly.machineCode, kernel.metadata};
}

/// Produces the output; returns nullopt after diagnostics.
static std::optional<Product> produce(ModuleOp module, TimingScope &timing) {
  CompileOptions options;
  options.target = target;
  options.schedule = schedule;
  options.scheduleTable = scheduleTable;
  options.recurrence = recurrence;
  options.accurateTanh = accurateTanh;
  options.lineInfo = lineInfo;
  options.sourceLines = lineInfo.getNumOccurrences() && lineInfo.empty();
  options.withoutMaskOptimizations.assign(withoutMaskOptimizations.begin(),
                                          withoutMaskOptimizations.end());
  if (emitKind != Emit::PTX && emitKind != Emit::Cubin) {
    FailureOr<std::string> text =
        emitArtifact(module, getArtifact(emitKind), options, kernelName, timing,
                     applyPassManagerCLOptions);
    if (failed(text))
      return std::nullopt;
    return Product{std::move(*text), ""};
  }
  // With another schedule the launch needs the metadata too.
  bool isReplaceable = emitKind == Emit::Cubin && schedule == "auto" &&
                       !allowFaults && !metadataName.empty();
  OwningOpRef<ModuleOp> source = isReplaceable ? module.clone() : ModuleOp();
  auto kernel = compileKernel(module, options, kernelName, &timing,
                              applyPassManagerCLOptions);
  if (failed(kernel))
    return std::nullopt;
  if (why)
    module.walk([](launch::AbiOp abi) {
      llvm::errs() << explainBottleneck(abi) << "\n";
    });
  if (emitKind == Emit::PTX)
    return Product{std::move(kernel->ptx), std::move(kernel->metadata)};
  TimingScope assembly = timing.nest("ptxas");
  return assemble(*kernel, source ? *source : ModuleOp(), options);
}

static LogicalResult write(StringRef name, StringRef text) {
  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> output = openOutputFile(name, &message);
  if (!output) {
    llvm::errs() << "error: " << message << "\n";
    return failure();
  }
  output->os() << text;
  output->keep();
  return success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  setVersionPrinter();
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
  // --help-hidden shows the options of LLVM and MLIR.
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(
      argc, argv,
      "Fovea compiler: attention IR to PTX, and every level in between\n");
  bool emitsCode = emitKind == Emit::PTX || emitKind == Emit::Cubin;
  if (!metadataName.empty() && !emitsCode) {
    llvm::errs() << "error: --metadata requires --emit=ptx or --emit=cubin\n";
    return 1;
  }
  if (why && !emitsCode) {
    llvm::errs() << "error: --why requires --emit=ptx or --emit=cubin\n";
    return 1;
  }

  DefaultTimingManager manager;
  applyDefaultTimingManagerCLOptions(manager);
  TimingScope timing = manager.getRootScope();

  DialectRegistry registry;
  registerDialects(registry);
  registerTranslations(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  // Diagnostics omit the op unless the option is given.
  if (!llvm::cl::getRegisteredOptions()
           .lookup("mlir-print-op-on-diagnostic")
           ->getNumOccurrences())
    context.printOpOnDiagnostic(false);

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input =
      openProgramFile(inputName, message);
  if (!input) {
    llvm::errs() << "error: " << message << "\n";
    return 1;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  UnplacedDiagnosticHandler unplaced(&context);
  TimingScope parsing = timing.nest("Parser");
  OwningOpRef<ModuleOp> module = parseProgram(sources, &context);
  parsing.stop();
  if (!module)
    return 1;
  std::optional<Product> product = produce(*module, timing);
  if (!product || failed(write(outputName, product->text)))
    return 1;
  if (!metadataName.empty() && failed(write(metadataName, product->metadata)))
    return 1;
  return 0;
}
