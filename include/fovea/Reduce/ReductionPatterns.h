//===- ReductionPatterns.h - Patterns for fovea-reduce ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_REDUCE_REDUCTIONPATTERNS_H
#define FOVEA_REDUCE_REDUCTIONPATTERNS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fovea {

/// Adds the reduction patterns of Fovea's dialects to `registry`.
void registerReductionPatterns(mlir::DialectRegistry &registry);

} // namespace fovea

#endif // FOVEA_REDUCE_REDUCTIONPATTERNS_H
