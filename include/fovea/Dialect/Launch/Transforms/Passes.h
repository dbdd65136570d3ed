//===- Passes.h - Passes of the launch dialect ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_LAUNCH_TRANSFORMS_PASSES_H
#define FOVEA_DIALECT_LAUNCH_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace fovea::launch {

#define GEN_PASS_DECL
#include "fovea/Dialect/Launch/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fovea/Dialect/Launch/Transforms/Passes.h.inc"

} // namespace fovea::launch

#endif // FOVEA_DIALECT_LAUNCH_TRANSFORMS_PASSES_H
