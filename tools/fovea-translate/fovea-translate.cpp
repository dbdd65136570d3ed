//===- fovea-translate.cpp - Translations of Fovea IR ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-translate with Fovea's translations. Each one performs a single step of
// fovea-compile, for tests and for inspection.
//
//===----------------------------------------------------------------------===//

#include "fovea/InitAll.h"
#include "fovea/Support/Tool.h"
#include "fovea/Support/Untrusted.h"
#include "fovea/Target/Metadata.h"
#include "fovea/Target/PTX.h"

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  fovea::setVersionPrinter();
  if (failed(
          fovea::checkFileArguments(llvm::ArrayRef(argv, argc).drop_front())))
    return 1;
  fovea::registerMetadataTranslation(fovea::registerDialects);
  fovea::registerPTXTranslation(fovea::registerDialects);
  return failed(
      mlir::mlirTranslateMain(argc, argv, "Fovea's translation driver"));
}
