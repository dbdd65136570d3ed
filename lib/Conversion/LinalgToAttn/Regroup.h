//===- Regroup.h - Permute and reshape axes ---------------------*- C++ -*-===//
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

/// True if a tensor with these positions already has the dimensions `groups`.
bool isGrouped(llvm::ArrayRef<Position> positions, const Groups &groups);

/// Reshapes and transposes a tensor from the dimensions `from` to the
/// dimensions `to`. Both have the same axes, each once.
mlir::Value regroup(mlir::OpBuilder &builder, mlir::Location loc,
                    const Space &space, mlir::Value tensor, const Groups &from,
                    const Groups &to);

/// The extent of an axis at run time.
mlir::OpFoldResult getExtent(mlir::OpBuilder &builder, mlir::Location loc,
                             const Space &space, unsigned axis);

} // namespace fovea::raising

#endif // FOVEA_LIB_CONVERSION_LINALGTOATTN_REGROUP_H
