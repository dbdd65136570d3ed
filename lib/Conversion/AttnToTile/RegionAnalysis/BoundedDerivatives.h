//===- BoundedDerivatives.h - Finite derivatives ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds the derivatives of score_gradient, so that pairs with P = 0 need no
// select.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_BOUNDEDDERIVATIVES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_BOUNDEDDERIVATIVES_H

#include "mlir/IR/Value.h"

namespace fovea {

/// True if `value` is `variable` times a finite value for all inputs of a
/// score_mod: then it is 0 if `variable` is. Constants and bounded functions
/// such as tanh are known, captured values are not.
bool isFiniteMultiple(mlir::Value value, mlir::Value variable);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_BOUNDEDDERIVATIVES_H
