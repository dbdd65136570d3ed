//===- CarriedNames.h - Names of what loops and roles carry -----*- C++ -*-===//
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

/// Names arguments of loops, branches and roles by the values that become them.
/// Upstream's passes make loops anew without names; this is for printing.
void nameCarriedValues(mlir::Operation *root);

} // namespace fovea

#endif // FOVEA_LIB_PIPELINES_CARRIEDNAMES_H
