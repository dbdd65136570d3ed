//===- fovea-reduce.cpp - Shrinks IR that shows a bug -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// mlir-reduce with Fovea's dialects, passes and reduction patterns. Given a
// script that says whether a file is still interesting, it makes the file
// small: `fovea-reduce --reduction-tree="traversal-mode=0 test=SCRIPT" IN`.

#include "fovea/InitAll.h"
#include "fovea/Reduce/ReductionPatterns.h"
#include "fovea/Support/Untrusted.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Reducer/Passes.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  fovea::registerDialects(registry);
  fovea::registerReductionPatterns(registry);
  fovea::registerPasses();
  mlir::registerTransformsPasses();
  mlir::registerReducerPasses();
  mlir::MLIRContext context(registry);
  // mlir-reduce opens its file itself: whatever is a file is looked at before.
  for (const char *argument : llvm::ArrayRef(argv, argc).drop_front()) {
    auto file = fovea::readRegularFile(argument);
    if (!file)
      llvm::consumeError(file.takeError());
    else if (failed(fovea::checkProgramFile(**file)))
      return 1;
  }
  return failed(mlir::mlirReduceMain(argc, argv, context));
}
