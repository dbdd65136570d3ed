//===- Passes.h - Passes of the attn dialect --------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_ATTN_TRANSFORMS_PASSES_H
#define FOVEA_DIALECT_ATTN_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace fovea::attn {

#define GEN_PASS_DECL
#include "fovea/Dialect/Attn/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fovea/Dialect/Attn/Transforms/Passes.h.inc"

} // namespace fovea::attn

#endif // FOVEA_DIALECT_ATTN_TRANSFORMS_PASSES_H
