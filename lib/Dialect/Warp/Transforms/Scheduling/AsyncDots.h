//===- AsyncDots.h - Dots that are waited for later -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_ASYNCDOTS_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_ASYNCDOTS_H

#include "fovea/Dialect/Warp/IR/Warp.h"

namespace fovea::warp {

/// Issue and wait, one behind the other, instead of a synchronous dot, which is
/// gone.
DotWaitOp makeAsync(DotOp dot);

/// Undoes the above, where nothing moved in between.
void makeSync(DotWaitOp wait);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_ASYNCDOTS_H
