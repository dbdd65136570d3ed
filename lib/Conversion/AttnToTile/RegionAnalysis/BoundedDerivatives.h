//===- BoundedDerivatives.h - Derivatives that are never infinite ---------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_BOUNDEDDERIVATIVES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_BOUNDEDDERIVATIVES_H

#include "mlir/IR/Value.h"

namespace fovea {

/// Whether `value` is `variable` times something finite, whatever the values of
/// a score_mod are: then it is 0 where `variable` is. Known are constants and
/// what stays within bounds, such as tanh, not what is captured.
bool isFiniteMultiple(mlir::Value value, mlir::Value variable);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_BOUNDEDDERIVATIVES_H
