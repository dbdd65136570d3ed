//===- EmptyMask.h - Masks that hide everything -----------------*- C++ -*-===//
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

/// Whether it can be seen at compile time that the mask_mod region `mask` is
/// false at every query and key: it yields false, or the conditions that it
/// joins bound a sum of coordinates and captured values from both sides and
/// leave nothing between, as a window of zero keys does.
bool hidesEverything(mlir::Block &mask);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_EMPTYMASK_H
