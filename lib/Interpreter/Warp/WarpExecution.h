//===- WarpExecution.h - Runs the CTAs of a grid ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes the CTAs of a kernel's grid at tile or warp level.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_WARP_WARPEXECUTION_H
#define FOVEA_LIB_INTERPRETER_WARP_WARPEXECUTION_H

#include "fovea/Interpreter/Interpreter.h"

namespace fovea::interp {

/// Returns true if values of the type refer to objects of the warp level.
bool isWarpObject(mlir::Type type);

/// Checks that only ops that support objects of the warp level use them.
llvm::LogicalResult verifyWarpObjects(mlir::Operation *kernel);

/// Executes a kernel's region for `count` blocks. A failure is recorded in
/// `frame`.
llvm::LogicalResult runBlocks(Frame &frame, mlir::Region &kernel,
                              llvm::ArrayRef<RuntimeValue> arguments,
                              int64_t count, uint64_t seed);

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_WARP_WARPEXECUTION_H
