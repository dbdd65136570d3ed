//===- SafeDivision.h - Divisions that cannot fault -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integer divisions in kernels, which may be executed for masked or missing
// elements.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_SAFEDIVISION_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_SAFEDIVISION_H

#include "mlir/IR/Builders.h"

namespace fovea {

/// True if `op` is an integer division or remainder.
bool isIntegerDivision(mlir::Operation *op);

/// `divisor`, a scalar or a tile, with 1 in place of 0. A kernel also divides
/// for missing elements, whose captured values read as 0, and for masked ones,
/// whose divisor may be anything.
mlir::Value emitHarmlessDivisor(mlir::OpBuilder &b, mlir::Location loc,
                                mlir::Value divisor, bool isNonNegative);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_SAFEDIVISION_H
