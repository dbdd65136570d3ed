//===- CopiesWithLayout.h - Values with a layout of their own ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_COPIESWITHLAYOUT_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_COPIESWITHLAYOUT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace fovea::warp {

/// A copy of `value` and of all tiles that it is computed from, at `b`, with
/// `layout` as their encoding; null after a diagnostic that names `what`, whose
/// operand it is. Copies are found in `mapping`.
mlir::Value copyWithLayout(mlir::OpBuilder &b, mlir::Value value,
                           mlir::Attribute layout, llvm::StringRef what,
                           mlir::IRMapping &mapping);

/// A copy, at `b`, of a tile and of the tiles that it is computed from, as far
/// as ops can be repeated and `isCloned` holds. Copies are found in `mapping`.
mlir::Value cloneTile(mlir::OpBuilder &b, mlir::Value tile,
                      mlir::IRMapping &mapping,
                      llvm::function_ref<bool(mlir::Operation *)> isCloned);

/// Makes `operand` a copy with `layout`, before the op whose operand it is.
mlir::LogicalResult layOut(mlir::OpOperand &operand, mlir::Attribute layout,
                           llvm::StringRef what);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_COPIESWITHLAYOUT_H
