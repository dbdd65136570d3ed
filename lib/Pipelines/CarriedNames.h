//===- CarriedNames.h - Names of loop-carried values ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_PIPELINES_CARRIEDNAMES_H
#define FOVEA_LIB_PIPELINES_CARRIEDNAMES_H

#include "mlir/IR/Operation.h"

namespace fovea {

/// Names unnamed block arguments and results of loops, branches and roles after
/// the values that become them. Upstream passes rebuild loops without names;
/// this is for printing only.
void nameCarriedValues(mlir::Operation *root);

} // namespace fovea

#endif // FOVEA_LIB_PIPELINES_CARRIEDNAMES_H
