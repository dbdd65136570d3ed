//===- Contraction.h - Contractions of two tensors --------------*- C++ -*-===//
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

/// A linalg op of any name that sums products of elements of two float tensors
/// over one loop. Elements may be extended first.
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

/// Strips conversions between float types.
mlir::Value skipFloatCasts(mlir::Value value);

/// The value that a reduction's body adds to result `result`; null if it is not
/// a sum.
mlir::Value getSummand(mlir::linalg::LinalgOp op, unsigned result);

} // namespace fovea::raising

#endif // FOVEA_LIB_CONVERSION_LINALGTOATTN_CONTRACTION_H
