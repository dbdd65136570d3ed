//===- SafeDivision.h - Divisions that never fail --------------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_SAFEDIVISION_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_SAFEDIVISION_H

#include "mlir/IR/Builders.h"

namespace fovea {

/// Whether `op` divides integers, or gives the remainder.
bool isIntegerDivision(mlir::Operation *op);

/// `divisor`, a number or a tile of them, but 1 where it is 0. A kernel divides
/// for elements that don't exist, whose captured values read as 0, and for
/// those that a mask hides, which may divide by anything.
mlir::Value emitHarmlessDivisor(mlir::OpBuilder &b, mlir::Location loc,
                                mlir::Value divisor, bool isNonNegative);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_SAFEDIVISION_H
