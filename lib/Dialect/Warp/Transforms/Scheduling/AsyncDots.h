//===- AsyncDots.h - Asynchronous dots --------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts a synchronous dot to an asynchronous one with a wait, and back. The
// scheduling passes then move the two ops apart.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_ASYNCDOTS_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_ASYNCDOTS_H

#include "fovea/Dialect/Warp/IR/Warp.h"

namespace fovea::warp {

/// Replaces a synchronous dot by an asynchronous one followed by its wait.
/// Erases `dot`.
DotWaitOp makeAsync(DotOp dot);

/// Undoes `makeAsync`. No op may have moved between the dot and its wait.
void makeSync(DotWaitOp wait);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_ASYNCDOTS_H
