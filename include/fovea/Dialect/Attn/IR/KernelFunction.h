//===- KernelFunction.h - Functions that are one kernel ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_ATTN_IR_KERNELFUNCTION_H
#define FOVEA_DIALECT_ATTN_IR_KERNELFUNCTION_H

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fovea::attn {

/// Returns the attn op of a function whose body is one attn op on the
/// function's arguments and the return of its results; null for other
/// functions.
KernelOpInterface getKernelOp(mlir::func::FuncOp func);

} // namespace fovea::attn

#endif // FOVEA_DIALECT_ATTN_IR_KERNELFUNCTION_H
