//===- FoveaPlugin.cpp - Fovea inside a stock mlir-opt --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A plugin for Debian's mlir-opt, or any tool linked with the same libMLIR:
// `mlir-opt --load-dialect-plugin=FoveaPlugin.so
// --load-pass-plugin=FoveaPlugin.so`.

#include "fovea/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Compiler.h"

extern "C" LLVM_ATTRIBUTE_WEAK
    LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo
    mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Fovea", LLVM_VERSION_STRING,
          [](mlir::DialectRegistry *registry) {
            fovea::registerDialects(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK
    LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo
    mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Fovea", LLVM_VERSION_STRING,
          [] { fovea::registerPasses(); }};
}
