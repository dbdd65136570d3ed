//===- Passes.h - Passes of one level to the next ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_CONVERSION_PASSES_H
#define FOVEA_CONVERSION_PASSES_H

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Dialect/Warp/IR/KernelFacts.h"
#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Support/DefaultTarget.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace fovea {

#define GEN_PASS_DECL
#include "fovea/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "fovea/Conversion/Passes.h.inc"

} // namespace fovea

#endif // FOVEA_CONVERSION_PASSES_H
