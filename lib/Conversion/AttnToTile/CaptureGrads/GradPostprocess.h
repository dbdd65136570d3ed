//===- GradPostprocess.h - Converts sums to gradients -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Postprocess kernels that convert accumulated gradients in scratch memory to
// the type of the result.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_GRADPOSTPROCESS_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_GRADPOSTPROCESS_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// Makes the kernel that converts the sums in scratch memory, an argument of
/// the kernel whose ABI is `main`, to a gradient of attn.backward. It runs
/// after that kernel. Integer sums are exact sums (`exactsum`).
void emitSumRounding(const KernelBuilder &kb, launch::AbiOp main,
                     mlir::OpResult gradient, unsigned argument);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_GRADPOSTPROCESS_H
