//===- VariantOp.h - Common parts of attention ops --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_ATTN_IR_VARIANTOP_H
#define FOVEA_LIB_DIALECT_ATTN_IR_VARIANTOP_H

#include "fovea/Dialect/Attn/IR/Attn.h"

namespace fovea::attn {

/// True unless both extents are static and differ.
inline bool agree(int64_t a, int64_t b) {
  return mlir::ShapedType::isDynamic(a) || mlir::ShapedType::isDynamic(b) ||
         a == b;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Checks the rank, element type and sizes of a rank-4 tensor, which
/// diagnostics call `name`.
llvm::LogicalResult verifyTensor(mlir::Operation *op, llvm::StringRef name,
                                 mlir::RankedTensorType type);
/// Checks an f32 tensor of the query's batch, heads and sequence.
llvm::LogicalResult verifyRowValues(AttentionOpInterface op,
                                    llvm::StringRef name, mlir::Type type);
/// Checks everything that is independent of the op's direction: query, key and
/// value, scale, captured values, sinks, dropout, sequence form and block
/// lists.
llvm::LogicalResult verifyVariant(AttentionOpInterface op);
/// True if another operand or a result of such ops has that name, even if this
/// op lacks it.
bool isReservedName(AttentionOpInterface op, llvm::StringRef name);
/// True if a captured value has that name.
bool hasCaptureNamed(AttentionOpInterface op, llvm::StringRef name);
/// Checks the block lists.
llvm::LogicalResult verifyBlocks(AttentionOpInterface op);
/// Checks the regions that all attention ops have.
llvm::LogicalResult verifyVariantRegions(AttentionOpInterface op);
/// Checks the arguments, results and purity of one region. The arguments are
/// `leading` and the captured values. Ops for which `isAllowed` holds may have
/// side effects.
llvm::LogicalResult
verifyModRegion(AttentionOpInterface op, llvm::StringRef name,
                mlir::Region &region, llvm::ArrayRef<mlir::Type> leading,
                llvm::ArrayRef<mlir::Type> results,
                llvm::function_ref<bool(mlir::Operation *)> isAllowed = {});

//===----------------------------------------------------------------------===//
// Kernel interface
//===----------------------------------------------------------------------===//

/// Name and dimensions of operand `index`, which is at least
/// getFirstVariantOperand().
std::string getVariantOperandName(AttentionOpInterface op, unsigned index);
llvm::SmallVector<std::string> getVariantOperandDims(AttentionOpInterface op,
                                                     unsigned index);
/// The name of the batch dimension of Q and of the results.
std::string getQueryBatchName(AttentionOpInterface op);
/// Dimensions of Q, K and V (0, 1, 2) in host order.
llvm::SmallVector<std::string> getSequenceTensorDims(AttentionOpInterface op,
                                                     unsigned which);
/// Maps kernel dimensions to host dimensions. Kernels access rank-4 tensors of
/// heads (`isHeads`) as (B, H, S, D).
llvm::SmallVector<int64_t> getMemoryOrder(AttentionOpInterface op,
                                          mlir::Type type, bool isHeads);
llvm::SmallVector<std::pair<std::string, int64_t>>
getVariantLimits(AttentionOpInterface op);
/// Dimensions that must not be empty.
llvm::SmallVector<std::string> getVariantNonEmptyDims(AttentionOpInterface op);
llvm::SmallVector<DimCover> getVariantCovers(AttentionOpInterface op);
llvm::SmallVector<Contents> getVariantContents(AttentionOpInterface op);
/// The dimensions that contain the entries of block lists, and their limits.
llvm::SmallVector<std::string> getBlockListRows(AttentionOpInterface op);
llvm::SmallVector<std::pair<std::string, int64_t>>
getBlockListLimits(AttentionOpInterface op);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_IR_VARIANTOP_H
