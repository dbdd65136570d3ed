//===- fovea-lsp-server.cpp - Editors' view of Fovea IR -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Speaks the language server protocol on its standard streams: diagnostics,
// definitions, hover and completion for files of Fovea's dialects.

#include "fovea/InitAll.h"
#include "fovea/Support/Tool.h"
#include "fovea/Support/Untrusted.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

/// Upstream's parser, and what the linker gives its callers in the server
/// instead of it: see CMakeLists.txt.
LogicalResult
parseUnchecked(const llvm::SourceMgr &, Block *, const ParserConfig &,
               AsmParserState *,
               AsmParserCodeCompleteContext *) asm(FOVEA_REAL_PARSE);
LogicalResult
parseChecked(const llvm::SourceMgr &, Block *, const ParserConfig &,
             AsmParserState *,
             AsmParserCodeCompleteContext *) asm(FOVEA_WRAPPED_PARSE);

/// Text that upstream's parser doesn't survive gets a diagnostic at its place,
/// as in all tools. Editors ask for each keystroke.
LogicalResult parseChecked(const llvm::SourceMgr &sources, Block *block,
                           const ParserConfig &config, AsmParserState *state,
                           AsmParserCodeCompleteContext *completion) {
  const llvm::MemoryBuffer *text =
      sources.getMemoryBuffer(sources.getMainFileID());
  if (failed(fovea::checkProgramText(config.getContext(), text->getBuffer(),
                                     text->getBufferIdentifier())))
    return failure();
  return parseUnchecked(sources, block, config, state, completion);
}

int main(int argc, char **argv) {
  fovea::setVersionPrinter();
  mlir::DialectRegistry registry;
  fovea::registerDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
