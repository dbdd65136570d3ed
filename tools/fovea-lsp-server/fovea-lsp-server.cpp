//===- fovea-lsp-server.cpp - Editors' view of Fovea IR -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Speaks the language server protocol on its standard streams: diagnostics,
// definitions, hover and completion for files of Fovea's dialects.

#include "fovea/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  fovea::registerDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
