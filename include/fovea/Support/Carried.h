//===- Carried.h - Values carried by loops and branches ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_CARRIED_H
#define FOVEA_SUPPORT_CARRIED_H

#include "mlir/IR/Operation.h"

namespace fovea {

/// Calls `join` with each group of values that an scf loop or branch passes on,
/// and the values that receive them: initial values with block arguments,
/// yielded values with block arguments and results. Returns false if `op` is no
/// such op.
bool forEachCarried(
    mlir::Operation *op,
    llvm::function_ref<void(mlir::ValueRange, mlir::ValueRange)> join);

} // namespace fovea

#endif // FOVEA_SUPPORT_CARRIED_H
