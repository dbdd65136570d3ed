//===- CopyVerifier.h - Verification of copies ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks common to all copies between global and shared memory
// (`warp.copy`, `warp.copy_out`).
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_IR_COPYVERIFIER_H
#define FOVEA_LIB_DIALECT_WARP_IR_COPYVERIFIER_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace fovea::warp {

/// One side of a copy, with the name of the operand.
struct CopySide {
  llvm::StringRef name;
  mlir::MemRefType type;
};

/// Checks a copy between global memory, at `numIndices` indices along `dims`,
/// and a shared buffer. Emits an error on `op` and fails if they do not match.
mlir::LogicalResult verifyCopy(mlir::Operation *op, CopySide global,
                               CopySide buffer, size_t numIndices,
                               llvm::ArrayRef<int64_t> dims,
                               std::optional<llvm::ArrayRef<int64_t>> fold);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_IR_COPYVERIFIER_H
