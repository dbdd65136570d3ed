//===- EmptyMask.h - Masks that hide all keys -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_EMPTYMASK_H
#define FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_EMPTYMASK_H

#include "mlir/IR/Block.h"

namespace fovea::attn {

/// True if the mask_mod region `mask` is known to be false for every query and
/// key: it yields false, or its conditions restrict a sum of coordinates and
/// captured values to an empty range, for example a window of zero keys.
bool hidesEverything(mlir::Block &mask);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_EMPTYMASK_H
