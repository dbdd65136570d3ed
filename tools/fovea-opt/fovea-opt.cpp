//===- fovea-opt.cpp - mlir-opt with Fovea's dialects and passes ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt with Fovea's dialects, passes and pipelines, for tests and for
// pipelines of other compilers.
//
//===----------------------------------------------------------------------===//

#include "fovea/InitAll.h"
#include "fovea/Support/Tool.h"
#include "fovea/Support/Untrusted.h"

#ifdef FOVEA_REGISTER_ALL_OF_MLIR
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#else
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"
#endif
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

/// Processes the files as mlir-opt does, after checking the program's text
/// before it is parsed.
static LogicalResult run(StringRef inputName, StringRef outputName,
                         DialectRegistry &registry) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input =
      fovea::openProgramFile(inputName, message);
  if (!input) {
    llvm::errs() << message << "\n";
    return failure();
  }
  if (failed(fovea::checkProgramFile(*input)))
    return failure();
  std::unique_ptr<llvm::ToolOutputFile> output =
      openOutputFile(outputName, &message);
  if (!output) {
    llvm::errs() << message << "\n";
    return failure();
  }
  if (failed(MlirOptMain(output->os(), std::move(input), registry,
                         MlirOptMainConfig::createFromCLOptions())))
    return failure();
  output->keep();
  return success();
}

/// Omits the op from diagnostics unless the option is given, as Fovea's other
/// tools do. Upstream prints the op after each diagnostic; an op that is
/// isolated from above, such as attn.forward, is printed without operand names.
static void omitOpsFromDiagnostics() {
  registerMLIRContextCLOptions();
  auto *option = static_cast<llvm::cl::opt<bool> *>(
      llvm::cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic"));
  option->setInitialValue(false);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  fovea::setVersionPrinter();
  // Pipelines are parsed during command line parsing, so their text is checked
  // first.
  for (int i = 1; i < argc; ++i)
    if (std::string wrong = fovea::checkPipelineText(argv[i]); !wrong.empty()) {
      llvm::errs() << "error: argument " << i << ": " << wrong << "\n";
      return EXIT_FAILURE;
    }
  DialectRegistry registry;
  fovea::registerDialects(registry);
  fovea::registerPasses();
#ifdef FOVEA_REGISTER_ALL_OF_MLIR
  // Pipelines of other compilers also run in this tool.
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllPasses();
#else
  // The linalg dialect is the input of raising to attention.
  registry.insert<linalg::LinalgDialect>();
  registerTransformsPasses();
#endif
  omitOpsFromDiagnostics();
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "Fovea optimizer driver\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  // Options that only print lists read no input.
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  return asMainReturnCode(run(input, output, registry));
}
