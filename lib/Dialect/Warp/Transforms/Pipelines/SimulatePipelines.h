//===- SimulatePipelines.h - Static simulation of roles ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulates the synchronisation of a kernel's roles at compile time.
// `warp-verify-pipelines` calls it after its local checks.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_SIMULATEPIPELINES_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_SIMULATEPIPELINES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fovea::warp {

/// Simulates the pipeline ops, ping-pong sections and mailboxes of all roles
/// for several problem sizes. Loops run from zero iterations to more than two
/// cycles of every ring. Fails with the first error.
llvm::LogicalResult simulatePipelines(mlir::gpu::GPUFuncOp kernel);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_PIPELINES_SIMULATEPIPELINES_H
