//===- MultiVersionBlock.h - Two versions of one block ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Helpers for a block that is emitted in two versions: a comparison of values
// of both, and the hoisting of loads that both contain.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_MULTIVERSIONBLOCK_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_MULTIVERSIONBLOCK_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fovea {

/// True if two values are structurally equivalent: each version of a block has
/// its own clone of common values.
bool isSameValue(mlir::Value left, mlir::Value right);

/// Moves tile loads that both versions contain before the branch, once for
/// both. Out-of-bounds loads are defined, so no condition is needed. Passes
/// that make copies asynchronous cannot handle loads inside a branch.
void hoistLoads(mlir::scf::IfOp choice);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_MULTIVERSIONBLOCK_H
