//===- MultiVersionBlock.h - Two ways to compute one block ---------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_MULTIVERSIONBLOCK_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_MULTIVERSIONBLOCK_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fovea {

/// Whether two values are computed alike from the same: each way to compute a
/// block has its own clone of what both need.
bool isSameValue(mlir::Value left, mlir::Value right);

/// Moves what both ways load as boxes to before the choice between them, once
/// for both. Loads are defined outside of tensors too, so nothing is asked. Who
/// copies boxes ahead of their use can't look into a choice.
void hoistLoads(mlir::scf::IfOp choice);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_MULTIVERSIONBLOCK_H
