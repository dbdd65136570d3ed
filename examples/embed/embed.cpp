//===- embed.cpp - Fovea inside another compiler ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// usage: fovea-embed FILE.mlir FOLDER
//
// Embeds Fovea in a compiler whose programs contain attention: each attn op
// becomes a call of a function without a body, whose kernel is written to
// FOLDER. The rest of the program is printed unchanged.

#include "fovea/Dialect/Attn/IR/KernelFunction.h"
#include "fovea/Dialect/Attn/Transforms/Passes.h"
#include "fovea/InitAll.h"
#include "fovea/Pipelines/Compile.h"
#include "fovea/Target/PTX.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;

/// Compiles a function with one attn op, and leaves its declaration.
static LogicalResult compileFunction(func::FuncOp function, StringRef folder) {
  // In a separate module, so that the passes do not affect the program.
  OwningOpRef<ModuleOp> alone = ModuleOp::create(function.getLoc());
  alone->push_back(function.clone());
  fovea::CompileOptions options;
  options.target = "sm_90a";
  auto kernel = fovea::compileKernel(*alone, options);
  if (failed(kernel))
    return failure();
  for (auto [suffix, text] :
       {std::pair(".ptx", kernel->ptx), std::pair(".json", kernel->metadata)}) {
    std::error_code error;
    llvm::raw_fd_ostream file((folder + "/" + kernel->name + suffix).str(),
                              error);
    if (error)
      return function.emitError("cannot write its kernel: ") << error.message();
    file << text;
  }
  function.eraseBody();
  function.setPrivate();
  return success();
}

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: " << argv[0] << " FILE.mlir FOLDER\n";
    return 2;
  }
  DialectRegistry registry;
  fovea::registerDialects(registry);
  fovea::registerTranslations(registry);
  MLIRContext context(registry);
  auto module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  PassManager passes(&context);
  passes.addPass(fovea::attn::createAttnOutline());
  if (failed(passes.run(*module)))
    return 1;
  for (auto function :
       llvm::make_early_inc_range(module->getOps<func::FuncOp>()))
    if (fovea::attn::getKernelOp(function) &&
        failed(compileFunction(function, argv[2])))
      return 1;
  module->print(llvm::outs());
  return 0;
}
