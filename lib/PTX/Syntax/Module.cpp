//===- Module.cpp - A parsed PTX module -----------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Module::parse: parses the text, then decodes all functions.
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Module.h"

#include "Syntax/Program.h"

using namespace fovea::ptx;

Module::Module() : program(std::make_unique<Program>()) {}
Module::~Module() = default;

const Kernel *Module::lookup(llvm::StringRef name) const {
  for (const Kernel &kernel : kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

llvm::Expected<std::unique_ptr<Module>> Module::parse(llvm::StringRef text,
                                                      llvm::StringRef name) {
  std::unique_ptr<Module> module(new Module());
  Syntax &syntax = module->program->syntax;
  syntax.file = name.str();
  // Drops the terminating zero of a C string.
  syntax.text = text.substr(0, text.find('\0')).str();
  std::vector<Diagnostic> diagnostics = ptx::parse(syntax);
  if (diagnostics.empty())
    for (const Function &function : syntax.functions)
      if (!decode(syntax, function, module->program->codes.emplace_back(),
                  diagnostics))
        break;
  if (!diagnostics.empty())
    return llvm::make_error<Report>(std::move(diagnostics));
  module->target = syntax.target;
  module->major = syntax.major;
  module->minor = syntax.minor;
  for (Function &function : syntax.functions) {
    function.kernel.staticSharedBytes = syntax.staticSharedBytes;
    module->kernels.push_back(function.kernel);
  }
  return std::move(module);
}
