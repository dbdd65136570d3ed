//===- Contraction.h - Sums of products of two tensors ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_LINALGTOATTN_CONTRACTION_H
#define FOVEA_LIB_CONVERSION_LINALGTOATTN_CONTRACTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace fovea::raising {

/// A linalg op, of whatever name, that sums products of two tensors' elements
/// over one loop, in floats. Elements may be extended first.
struct Contraction {
  mlir::linalg::LinalgOp op;
  unsigned reduction = 0;

  static std::optional<Contraction> get(mlir::Operation *op);

  mlir::OpOperand &getInput(unsigned number) {
    return *op.getDpsInputOperand(number);
  }
  mlir::OpOperand &getInit() { return *op.getDpsInitOperand(0); }
  mlir::OpResult getResult() { return op->getResult(0); }
};

/// Below conversions between float types.
mlir::Value skipFloatCasts(mlir::Value value);

/// What a reduction's body adds to the result of this number; null if it does
/// something else.
mlir::Value getSummand(mlir::linalg::LinalgOp op, unsigned result);

} // namespace fovea::raising

#endif // FOVEA_LIB_CONVERSION_LINALGTOATTN_CONTRACTION_H
