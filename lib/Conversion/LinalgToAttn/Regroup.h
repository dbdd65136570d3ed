//===- Regroup.h - Brings tensors into the order of axes --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_LINALGTOATTN_REGROUP_H
#define FOVEA_LIB_CONVERSION_LINALGTOATTN_REGROUP_H

#include "Space.h"

#include "mlir/IR/Builders.h"

namespace fovea::raising {

using Groups = llvm::SmallVector<AxisList, 4>;

/// Whether a tensor whose dimensions have these axes is, as it is, one whose
/// dimensions have those.
bool isGrouped(llvm::ArrayRef<Position> positions, const Groups &groups);

/// Reshapes and transposes a tensor whose dimensions have the axes of `from` so
/// that they have those of `to`. Both have the same axes, each once.
mlir::Value regroup(mlir::OpBuilder &builder, mlir::Location loc,
                    const Space &space, mlir::Value tensor, const Groups &from,
                    const Groups &to);

/// How far an axis goes, at run time.
mlir::OpFoldResult getExtent(mlir::OpBuilder &builder, mlir::Location loc,
                             const Space &space, unsigned axis);

} // namespace fovea::raising

#endif // FOVEA_LIB_CONVERSION_LINALGTOATTN_REGROUP_H
