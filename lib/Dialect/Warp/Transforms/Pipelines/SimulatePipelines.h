//===- SimulatePipelines.h - Roles against each other, statically -*- C++ -*-=//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_SIMULATEPIPELINES_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_SIMULATEPIPELINES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fovea::warp {

/// Runs what the kernel's programs do with pipelines, turns and mailboxes
/// against each other, for a number of sizes, so that loops run from no times
/// to more than twice around every ring. Fails with the first error.
llvm::LogicalResult simulatePipelines(mlir::gpu::GPUFuncOp kernel);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_SIMULATEPIPELINES_H
