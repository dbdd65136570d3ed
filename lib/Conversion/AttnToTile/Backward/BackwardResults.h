//===- BackwardResults.h - Stores of gradients ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts accumulators to the gradient's type and stores them.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDRESULTS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDRESULTS_H

#include "Backward/BackwardKernel.h"

namespace fovea {

/// A gradient of the op, and the first row of the tile in the sequence.
struct GradientRows {
  mlir::Value result, row;
  std::string name;
};

/// Stores the accumulators.
void storeGradient(const BackwardKernel &kernel, mlir::Value sums,
                   const GradientRows &rows);
/// Stores the accumulators times the op's scale: dQ or dK.
void storeScaledGradient(const BackwardKernel &kernel, mlir::Value sums,
                         const GradientRows &rows);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDRESULTS_H
