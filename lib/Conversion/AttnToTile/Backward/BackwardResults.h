//===- BackwardResults.h - From sums to gradients ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDRESULTS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDRESULTS_H

#include "Backward/BackwardKernel.h"

namespace fovea {

/// A gradient of the op, of which the kernel writes rows of its tile's head:
/// from `row` of the sequence on.
struct GradientRows {
  mlir::Value result, row;
  std::string name;
};

/// Writes the sums.
void storeGradient(const BackwardKernel &kernel, mlir::Value sums,
                   const GradientRows &rows);
/// Writes the op's scale times the sums: a gradient by queries or keys.
void storeScaledGradient(const BackwardKernel &kernel, mlir::Value sums,
                         const GradientRows &rows);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDRESULTS_H
