//===- fovea-run.cpp - Runs attention programs ----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a program in the interpreter, on the emulator or on a GPU, and checks
// its results against a reference.
//
//===----------------------------------------------------------------------===//

#include "Backend.h"
#include "Device.h"
#include "Report.h"
#include "Tune.h"

#include "fovea/InitAll.h"
#include "fovea/Target/PTX.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/InitLLVM.h"

#include <chrono>
#include <unistd.h>

using namespace fovea;
using namespace fovea::run;

/// The program that computes the expected outputs; null after an error if there
/// is none.
static const Program *findReference(mlir::MLIRContext *context,
                                    const Program &program,
                                    const Options &options,
                                    std::optional<Program> &storage) {
  if (options.reference.empty()) {
    if (program.getLevel() == Level::Attn)
      return &program;
    reportError("the program is at " + getName(program.getLevel()) +
                " level: to check it, name the attn-level program that it "
                "implements with --reference");
    return nullptr;
  }
  storage = loadProgram(context, options.reference, options.entry);
  if (!storage)
    return nullptr;
  if (storage->getLevel() == Level::Attn)
    return &*storage;
  reportError(options.reference + ": the reference must be at attn level");
  return nullptr;
}

/// Sizes come from the program and the command line, so running out of memory
/// is an input error, not a crash. The handler must not allocate.
static void reportOutOfMemory(void *, const char *, bool) {
  static constexpr llvm::StringLiteral kMessage(
      "fovea-run: error: out of memory\n");
  (void)!::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  ::_exit(kBadInput);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::install_bad_alloc_error_handler(reportOutOfMemory);
  setVersionPrinter();
  std::optional<Options> options = parseOptions(argc, argv);
  if (!options)
    return kBadInput;

  mlir::DialectRegistry dialects;
  registerDialects(dialects);
  // Programs in the linalg dialect run too, after raising.
  dialects.insert<mlir::linalg::LinalgDialect>();
  registerTranslations(dialects); // --device=cuda compiles
  mlir::MLIRContext context(dialects);
  context.printOpOnDiagnostic(false);
  std::optional<Program> program =
      loadProgram(&context, options->program, options->entry);
  if (!program)
    return kBadInput;
  std::optional<Program> referenceStorage;
  const Program *reference = nullptr;
  if (options->check) {
    reference = findReference(&context, *program, *options, referenceStorage);
    if (!reference)
      return kBadInput;
  }
  if (options->outputs.size() > program->signature.outputs.size()) {
    reportError(
        "the program has " + llvm::Twine(program->signature.outputs.size()) +
        " outputs, found " + llvm::Twine(options->outputs.size()) + " files");
    return kBadInput;
  }
  std::optional<Workload> workload = makeInputs(*program, *options);
  if (!workload)
    return kBadInput;
  if (options->tune)
    return tune(*program, *options, *workload);
  std::unique_ptr<Backend> backend =
      options->onDevice ? createDeviceBackend(*program, *options)
                        : createInterpreterBackend(*program, *options);
  if (!backend)
    return kBadInput;

  Report report;
  llvm::SmallVector<interp::HostTensor> outputs;
  auto start = std::chrono::steady_clock::now();
  if (ExitCode code = backend->run(*workload, outputs))
    return code;
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  report.seconds = elapsed.count();
  report.outputs.assign(outputs.begin(), outputs.end());
  for (auto [path, tensor] : llvm::zip(options->outputs, report.outputs))
    if (!writeTensor(path, tensor, *options))
      return kBadInput;
  if (options->check &&
      !checkOutputs(*program, *reference, *workload, *options, report))
    return kBadInput;
  printReport(*program, report, *options);
  return report.passed() ? kSuccess : kCheckFailed;
}
