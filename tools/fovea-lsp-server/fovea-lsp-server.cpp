//===- fovea-lsp-server.cpp - Language server for Fovea IR ----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Language server for files of Fovea's dialects, on standard input and output:
// diagnostics, definitions, hover and completion.
//
//===----------------------------------------------------------------------===//

#include "fovea/InitAll.h"
#include "fovea/Support/Tool.h"
#include "fovea/Support/Untrusted.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

/// Upstream's parser, and the function that the linker substitutes for it in
/// the server (--wrap, see CMakeLists.txt).
LogicalResult
parseUnchecked(const llvm::SourceMgr &, Block *, const ParserConfig &,
               AsmParserState *,
               AsmParserCodeCompleteContext *) asm(FOVEA_REAL_PARSE);
LogicalResult
parseChecked(const llvm::SourceMgr &, Block *, const ParserConfig &,
             AsmParserState *,
             AsmParserCodeCompleteContext *) asm(FOVEA_WRAPPED_PARSE);

/// Rejects text that crashes upstream's parser with a located diagnostic, as
/// all tools do. Editors parse after each keystroke, so such text is common.
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
