//===- Rematerialize.h - Recompute values of another stage ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_REMATERIALIZE_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_REMATERIALIZE_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fovea::warp {

/// Recomputes values that are used in a later stage than they are computed in,
/// if the loop would otherwise carry more than is needed to compute them: views
/// of stages, large tiles that a few ops compute from rows and columns, and
/// index tiles of scatters, whose role has other layouts.
void rematerialize(mlir::scf::ForOp loop,
                   llvm::function_ref<int64_t(mlir::Operation *)> getStage);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_REMATERIALIZE_H
