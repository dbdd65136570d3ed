//===- Translation.cpp - Translations of fovea-translate --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers translations whose input is checked before it is parsed.
//
//===----------------------------------------------------------------------===//

#include "Translation.h"

#include "fovea/Support/Untrusted.h"

#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;

void fovea::registerTranslation(
    StringRef name, StringRef description,
    LogicalResult (*translate)(Operation *, llvm::raw_ostream &),
    std::function<void(DialectRegistry &)> registerDialects) {
  TranslateRegistration registration(
      name, description,
      [=](const std::shared_ptr<llvm::SourceMgr> &sources,
          llvm::raw_ostream &os, MLIRContext *context) -> LogicalResult {
        DialectRegistry registry;
        registerDialects(registry);
        context->appendDialectRegistry(registry);
        // Diagnostics do not print the op unless the option requests it.
        auto *printsOps = llvm::cl::getRegisteredOptions().lookup(
            "mlir-print-op-on-diagnostic");
        if (!printsOps || !printsOps->getNumOccurrences())
          context->printOpOnDiagnostic(false);
        OwningOpRef<ModuleOp> module = parseProgram(*sources, context);
        return failure(!module || failed(translate(*module, os)));
      });
}
