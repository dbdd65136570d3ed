//===- Pipelines.cpp - Whole ways down --------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Pipelines/Pipelines.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void fovea::buildToTilePipeline(OpPassManager &pm,
                                const CompileOptions &options) {}

void fovea::buildToWarpPipeline(OpPassManager &pm,
                                const CompileOptions &options) {
  buildToTilePipeline(pm, options);
}

void fovea::buildToNVVMPipeline(OpPassManager &pm,
                                const CompileOptions &options) {
  buildToWarpPipeline(pm, options);
}

void fovea::registerPipelines() {
  PassPipelineRegistration<CompileOptions>(
      "fovea-to-tile", "Lower attention to fused tile programs",
      buildToTilePipeline);
  PassPipelineRegistration<CompileOptions>(
      "fovea-to-warp", "Lower attention to warp programs", buildToWarpPipeline);
  PassPipelineRegistration<CompileOptions>(
      "fovea-to-nvvm", "Lower attention to the NVVM dialect",
      buildToNVVMPipeline);
  PassPipelineRegistration<CompileOptions>(
      "fovea-compile", "Lower attention the whole way, to the NVVM dialect",
      buildToNVVMPipeline);
}
