//===- Tool.cpp - Shared code of command-line tools -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Support/Tool.h"

#include "mlir/IR/Location.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

void fovea::setVersionPrinter() {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "Fovea " FOVEA_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
  });
}

fovea::UnplacedDiagnosticHandler::UnplacedDiagnosticHandler(
    MLIRContext *context)
    : ScopedDiagnosticHandler(context) {
  setHandler([](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error ||
        !isa<UnknownLoc>(diagnostic.getLocation()))
      return failure();
    llvm::errs() << "error: " << diagnostic << "\n";
    for (Diagnostic &note : diagnostic.getNotes())
      llvm::errs() << "note: " << note << "\n";
    return success();
  });
}
