//===- fovea-reduce.cpp - Reduces IR that reproduces a bug ----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// mlir-reduce with Fovea's dialects, passes and reduction patterns. Given a
// script that decides whether a file is still interesting, it minimises the
// file: `fovea-reduce --reduction-tree="traversal-mode=0 test=SCRIPT" IN`.

#include "fovea/InitAll.h"
#include "fovea/Reduce/ReductionPatterns.h"
#include "fovea/Support/Tool.h"
#include "fovea/Support/Untrusted.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Reducer/Passes.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Checks the files before mlir-reduce opens them.
static LogicalResult checkFiles(ArrayRef<char *> arguments) {
  if (failed(fovea::checkFileArguments(arguments)))
    return failure();
  for (StringRef argument : arguments) {
    auto file = fovea::readRegularFile(argument);
    if (!file)
      llvm::consumeError(file.takeError());
    else if (failed(fovea::checkProgramFile(**file)))
      return failure();
  }
  return success();
}

static void print(Diagnostic &diagnostic, raw_ostream &os) {
  if (auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
    os << place.getFilename().getValue() << ":" << place.getLine() << ":"
       << place.getColumn() << ": ";
  os << "error: " << diagnostic << "\n";
}

int main(int argc, char **argv) {
  fovea::setVersionPrinter();
  if (failed(checkFiles(ArrayRef(argv, argc).drop_front())))
    return 1;
  DialectRegistry registry;
  fovea::registerDialects(registry);
  fovea::registerReductionPatterns(registry);
  fovea::registerPasses();
  registerTransformsPasses();
  registerReducerPasses();
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  // Candidates are often invalid, so their diagnostics are suppressed. Only the
  // diagnostics of a failed reduction are printed.
  std::string errors;
  llvm::raw_string_ostream os(errors);
  LogicalResult result = success();
  {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        print(diagnostic, os);
    });
    result = mlirReduceMain(argc, argv, context);
  }
  if (failed(result))
    llvm::errs() << errors;
  return failed(result);
}
