//===- CaptureMinMax.h - Block min/max of captured tensors ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Minima and maxima of captured tensors per block of queries or keys, which
// kv_classify reads. A prologue kernel computes them.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_CAPTUREMINMAX_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_CAPTUREMINMAX_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// The block min/max buffers that kv_classify reads, in a kernel that gets them
/// from its prologue.
class CaptureMinMax {
public:
  /// Declares the buffers that `region` needs and `kb` does not have yet.
  /// `queries` and `keys` are the block sizes of the kernel's tiles;
  /// `firstCapture` is the operand of the region's first captured value.
  CaptureMinMax(KernelBuilder &kb, mlir::Region &region, unsigned firstCapture,
                int64_t queries, int64_t keys);

  /// The minimum or maximum over block `number`, a scalar, or over the blocks
  /// from `number` on, a column tile of `columns`. `others` are the indices
  /// besides the range.
  template <typename OpTy>
  mlir::Value emitOfBlock(mlir::OpBuilder &b, OpTy op, mlir::ValueRange others,
                          mlir::Value number) const {
    return emitScalar(b, op.getLoc(), find(op), isLargest(op), others, number,
                      op.getType());
  }
  template <typename OpTy>
  mlir::Value emitOfCandidates(mlir::OpBuilder &b, OpTy op,
                               mlir::ValueRange others, mlir::Value number,
                               int64_t columns) const {
    return emitColumns(b, op.getLoc(), find(op), isLargest(op), others, number,
                       columns, op.getType());
  }

private:
  template <typename OpTy>
  static bool isLargest(OpTy) {
    return std::is_same_v<OpTy, attn::BlockMaxOp>;
  }
  /// The buffer of a minimum or maximum.
  template <typename OpTy>
  mlir::Value find(OpTy op) const {
    auto capture = mlir::cast<mlir::BlockArgument>(op.getTensor());
    return memory.lookup({capture.getArgNumber(), int64_t(op.getDim()),
                          op.isOverQueries() ? queries : keys});
  }
  mlir::Value emitScalar(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value summary, bool largest,
                         mlir::ValueRange others, mlir::Value number,
                         mlir::Type element) const;
  mlir::Value emitColumns(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::Value summary, bool largest,
                          mlir::ValueRange others, mlir::Value number,
                          int64_t columns, mlir::Type element) const;

  int64_t queries, keys;
  /// Buffers by the captured value's argument, dimension and block size.
  llvm::DenseMap<std::tuple<unsigned, int64_t, int64_t>, mlir::Value> memory;
};

/// Creates the prologue kernel that computes the declared block min/max, with
/// its ABI, next to the kernel whose ABI is `main`.
void buildMinMaxKernel(const KernelBuilder &kb, launch::AbiOp main);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_CAPTUREMINMAX_H
