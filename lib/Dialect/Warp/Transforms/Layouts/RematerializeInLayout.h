//===- RematerializeInLayout.h - Clone tiles in a layout --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clones the computation of a tile with another layout, so that one use gets a
// layout that differs from that of the other uses. The layout passes for
// ballots and for relative positions use it.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_LAYOUTS_REMATERIALIZEINLAYOUT_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_LAYOUTS_REMATERIALIZEINLAYOUT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace fovea::warp {

/// Clones `value` and all tiles that it is computed from at `b`, with `layout`
/// as their encoding. `mapping` receives the clones. Returns null after a
/// diagnostic, in which `what` names the value.
mlir::Value copyWithLayout(mlir::OpBuilder &b, mlir::Value value,
                           mlir::Attribute layout, llvm::StringRef what,
                           mlir::IRMapping &mapping);

/// Replaces `operand` by such a clone, inserted before the op that uses it.
mlir::LogicalResult layOut(mlir::OpOperand &operand, mlir::Attribute layout,
                           llvm::StringRef what);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_LAYOUTS_REMATERIALIZEINLAYOUT_H
