//===- Passes.h - Passes of the warp dialect --------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_TRANSFORMS_PASSES_H
#define FOVEA_DIALECT_WARP_TRANSFORMS_PASSES_H

#include "fovea/Dialect/Warp/IR/KernelFacts.h"
#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Pass/Pass.h"

namespace fovea::warp {

#define GEN_PASS_DECL
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"

} // namespace fovea::warp

#endif // FOVEA_DIALECT_WARP_TRANSFORMS_PASSES_H
