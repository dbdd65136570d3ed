//===- CaptureMinMax.h - Extremes of captured tensors ----------*- C++ -*--===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_CAPTUREMINMAX_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_CAPTUREMINMAX_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// The extremes that kv_classify asks for, in a kernel that has them from its
/// prologue: whole blocks of queries or keys at a time.
class CaptureMinMax {
public:
  /// Declares what `region` asks for and `kb` does not have yet. Blocks of
  /// queries and keys are those of the kernel's tiles; `firstCapture` is the
  /// operand that the region's first captured value is.
  CaptureMinMax(KernelBuilder &kb, mlir::Region &region, unsigned firstCapture,
                 int64_t queries, int64_t keys);

  /// The extreme over block `number`, a scalar, or over the blocks from
  /// `number` on, a column tile of `columns`. `others` are the indices beside
  /// the range.
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
  /// The memory of the summary that an extreme is an entry of.
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
  /// By the captured value's argument, the dimension and the block.
  llvm::DenseMap<std::tuple<unsigned, int64_t, int64_t>, mlir::Value> memory;
};

/// Makes the kernel that finds the extremes which `kb` has declared, with its
/// ABI, beside the kernel whose ABI is `main`; makes it its prologue.
void buildSummaries(const KernelBuilder &kb, launch::AbiOp main);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_CAPTUREMINMAX_H
