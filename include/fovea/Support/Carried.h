//===- Carried.h - Values that control flow hands on ------------*- C++ -*-===//
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

/// Calls `join` with the values that an scf loop or branch hands on, one by
/// one, to values that stand for them: initial ones to arguments, yielded ones
/// to arguments and results. Says whether `op` is such an op.
bool forEachCarried(
    mlir::Operation *op,
    llvm::function_ref<void(mlir::ValueRange, mlir::ValueRange)> join);

} // namespace fovea

#endif // FOVEA_SUPPORT_CARRIED_H
