//===- Program.cpp - Loading and lowering programs ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses a program, selects the function or kernel to run, and lowers it to
// another level.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Pipelines/Compile.h"
#include "fovea/Pipelines/Pipelines.h"
#include "fovea/Support/Untrusted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::run;

/// Runnable ops by name.
template <typename OpTy>
using ByName = llvm::SmallVector<std::pair<StringRef, OpTy>>;

static ByName<func::FuncOp> collectFunctions(ModuleOp module) {
  ByName<func::FuncOp> result;
  module.walk([&](func::FuncOp op) {
    if (!op.isExternal())
      result.emplace_back(op.getName(), op);
  });
  return result;
}

static ByName<launch::AbiOp> collectKernels(ModuleOp module) {
  ByName<launch::AbiOp> result;
  for (launch::AbiOp op : launch::getEntryKernels(module))
    result.emplace_back(op.getKernel(), op);
  return result;
}

/// Selects the entry with that name, or the only one.
template <typename List>
static auto pick(const List &list, StringRef entry) {
  typename List::value_type::second_type none;
  if (entry.empty())
    return list.size() == 1 ? list.front().second : none;
  for (auto &[name, op] : list)
    if (name == entry)
      return op;
  return none;
}

std::optional<Program>
fovea::run::loadProgram(MLIRContext *context, StringRef path, StringRef entry) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openProgramFile(path, message);
  if (!file) {
    reportError(message);
    return std::nullopt;
  }
  Program program;
  program.sources = std::make_unique<llvm::SourceMgr>();
  program.sources->AddNewSourceBuffer(std::move(file), SMLoc());
  program.handler =
      std::make_unique<SourceMgrDiagnosticHandler>(*program.sources, context);
  program.unplaced = std::make_unique<UnplacedDiagnosticHandler>(context);
  program.module = parseProgram(*program.sources, context);
  if (!program.module)
    return std::nullopt;
  auto functions = collectFunctions(*program.module);
  auto kernels = collectKernels(*program.module);
  // Kernels take precedence over host functions.
  program.abi = pick(kernels, entry);
  if (!program.abi)
    program.function = pick(functions, entry);
  if (!program.abi && !program.function) {
    std::string names;
    for (auto &[name, op] : kernels)
      names += (names.empty() ? "" : ", ") + name.str();
    for (auto &[name, op] : functions)
      names += (names.empty() ? "" : ", ") + name.str();
    if (names.empty())
      reportError(path + ": has neither a function nor a kernel to run");
    else if (entry.empty())
      reportError(path + ": choose what to run with --entry: " + names);
    else
      reportError(path + ": has no function or kernel '" + entry +
                  "', found: " + names);
    return std::nullopt;
  }
  if (program.function && failed(prepareForExecution(program.function)))
    return std::nullopt;
  auto signature = program.abi ? interp::Signature::get(program.abi)
                               : interp::Signature::get(program.function);
  if (failed(signature))
    return std::nullopt;
  program.signature = std::move(*signature);
  return program;
}

void fovea::run::setCompileOptions(const Options &options,
                                   CompileOptions &compileOptions) {
  compileOptions.target = options.target;
  compileOptions.schedule = options.schedule;
  compileOptions.scheduleTable = options.scheduleTable;
  compileOptions.recurrence = options.recurrence;
  compileOptions.accurateTanh = options.accurateTanh;
}

Level Program::getLevel() const {
  if (!abi)
    return Level::Attn;
  launch::AbiOp op = abi;
  Operation *kernel =
      SymbolTable::lookupNearestSymbolFrom(op, op.getKernelAttr());
  WalkResult walk = kernel->walk([](Operation *op) {
    return isa_and_nonnull<warp::WarpDialect>(op->getDialect())
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return walk.wasInterrupted() ? Level::Warp : Level::Tile;
}

StringRef fovea::run::getName(Level level) {
  switch (level) {
  case Level::Attn:
    return "attn";
  case Level::Tile:
    return "tile";
  case Level::Warp:
    return "warp";
  }
  llvm_unreachable("unknown level");
}

std::optional<Program> fovea::run::lowerTo(Level level, const Program &program,
                                           const Options &options) {
  Program lowered;
  lowered.module = program.module.get().clone();
  func::FuncOp function = program.function;
  launch::AbiOp abi = program.abi;
  StringRef name = function ? function.getName() : abi.getKernel();
  // Lowers only the selected function, or the kernels if the program has any.
  if (function)
    for (auto &[other, op] : collectFunctions(*lowered.module))
      if (other != name)
        op.erase();
  CompileOptions compileOptions;
  setCompileOptions(options, compileOptions);
  if (failed(checkScheduleApplies(*lowered.module, compileOptions)))
    return std::nullopt;
  PassManager passes(lowered.module->getContext());
  if (level == Level::Warp)
    buildToWarpPipeline(passes, compileOptions);
  else
    buildToTilePipeline(passes, compileOptions);
  if (failed(passes.run(*lowered.module)))
    return std::nullopt;
  auto kernels = collectKernels(*lowered.module);
  lowered.abi = pick(kernels, abi ? name : StringRef());
  if (!lowered.abi) {
    reportError("lowering '" + name + "' to " + getName(level) +
                " level gave " + Twine(kernels.size()) +
                " kernels, expected one");
    return std::nullopt;
  }
  auto signature = interp::Signature::get(lowered.abi);
  if (failed(signature))
    return std::nullopt;
  lowered.signature = std::move(*signature);
  return lowered;
}

/// False for an argument that is only captured by attention ops whose regions
/// do not use it. Kernels do not take such arguments.
static bool isRead(BlockArgument argument) {
  return llvm::any_of(argument.getUses(), [](OpOperand &use) {
    auto forward = dyn_cast<attn::ForwardOp>(use.getOwner());
    if (!forward)
      return true;
    unsigned captures = forward.getCaptures().size();
    unsigned index =
        use.getOperandNumber() - forward.getCaptures().getBeginOperandIndex();
    if (index >= captures)
      return true;
    return llvm::any_of(forward->getRegions(), [&](Region &region) {
      return !region.empty() &&
             !region.getArguments().take_back(captures)[index].use_empty();
    });
  });
}

std::optional<Correspondence>
fovea::run::matchByName(const Program &targetProgram,
                        const Program &sourceProgram) {
  const interp::Signature &target = targetProgram.signature;
  const interp::Signature &source = sourceProgram.signature;
  func::FuncOp function = targetProgram.function;
  Correspondence result;
  for (auto [position, input] : llvm::enumerate(target.inputs)) {
    int64_t index = source.findInput(input.name);
    if (index < 0 && function && !isRead(function.getArgument(position))) {
      result.inputs.push_back(-1);
      continue;
    }
    if (index < 0) {
      std::string names;
      for (const interp::Parameter &other : source.inputs)
        names += (names.empty() ? "" : ", ") + other.name;
      reportError("no input is named '" + input.name + "', found: " + names);
      return std::nullopt;
    }
    if (source.inputs[index].isTensor() != input.isTensor()) {
      reportError("'" + input.name +
                  "' is a tensor in one program and a scalar in the other");
      return std::nullopt;
    }
    for (const std::string &alias : input.aliases)
      if (int64_t other = source.findInput(alias);
          other >= 0 && other != index) {
        reportError("'" + input.name + "' and '" + alias +
                    "' are one input of the reference and two of the program");
        return std::nullopt;
      }
    result.inputs.push_back(index);
  }
  for (const interp::Parameter &output : target.outputs)
    result.outputs.push_back(source.findOutput(output.name));
  return result;
}
