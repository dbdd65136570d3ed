//===- fovea-guard-test.cpp - Fatal errors stay inside ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Failures that programs can't trigger in a correct compiler: a fatal error of
// LLVM and a failing allocation inside a call of the C API.

#include "Internal.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

static void print(const FoveaContext *context) {
  size_t count;
  const FoveaDiagnostic *list = foveaContextDiagnostics(context, &count);
  for (size_t i = 0; i < count; ++i)
    llvm::outs() << list[i].message.data << "\n";
}

int main() {
  FoveaContext *context = foveaContextCreate();
  static const char kText[] = "func.func private @f()";
  FoveaModule *module =
      foveaModuleParse(context, kText, sizeof kText - 1, nullptr);
  bool ended = context->call([]() -> llvm::LogicalResult {
    llvm::report_fatal_error("cannot select: all is lost");
  });
  llvm::outs() << "ended well: " << ended << "\n";
  print(context);
  // The context reports the failure from now on, and its objects can be
  // destroyed.
  llvm::outs() << "verify: " << foveaModuleVerify(module) << "\n";
  print(context);
  foveaModuleDestroy(module);
  foveaContextDestroy(context);

  context = foveaContextCreate();
  context->call([]() -> llvm::LogicalResult {
    // More than any machine has.
    std::vector<char> memory(size_t(1) << 60);
    llvm::outs() << memory.data();
    return llvm::success();
  });
  print(context);
  foveaContextDestroy(context);
  return 0;
}
