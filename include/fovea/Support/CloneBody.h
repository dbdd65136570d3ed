//===- CloneBody.h - Copies of a region's ops -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_CLONEBODY_H
#define FOVEA_SUPPORT_CLONEBODY_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace fovea {

/// Clones the ops of a region of one block, except its terminator, with values
/// for its arguments. Returns what the terminator yields.
inline llvm::SmallVector<mlir::Value> cloneBody(mlir::OpBuilder &builder,
                                                mlir::Region &region,
                                                mlir::ValueRange arguments) {
  mlir::IRMapping mapping;
  mlir::Block &block = region.front();
  mapping.map(block.getArguments(), arguments);
  for (mlir::Operation &inner : block.without_terminator())
    builder.clone(inner, mapping);
  return llvm::map_to_vector(
      block.getTerminator()->getOperands(),
      [&](mlir::Value value) { return mapping.lookupOrDefault(value); });
}

} // namespace fovea

#endif // FOVEA_SUPPORT_CLONEBODY_H
