//===- VariantOp.h - What attention ops share -------------------*- C++ -*-===//
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

/// Two extents agree unless both are static and differ.
inline bool agree(int64_t a, int64_t b) {
  return mlir::ShapedType::isDynamic(a) || mlir::ShapedType::isDynamic(b) ||
         a == b;
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// Checks a tensor of rank 4, which diagnostics call `name`: its rank, elements
/// and sizes.
llvm::LogicalResult verifyTensor(mlir::Operation *op, llvm::StringRef name,
                                 mlir::RankedTensorType type);
/// Checks a tensor of the query's batch, heads and sequence, f32.
llvm::LogicalResult verifyRowValues(AttentionOpInterface op,
                                    llvm::StringRef name, mlir::Type type);
/// Checks all that is not of the op's own direction: query, key and value,
/// scale, captured values, sinks, dropout, sequence form and lists of blocks.
llvm::LogicalResult verifyVariant(AttentionOpInterface op);
/// Checks lists of blocks.
llvm::LogicalResult verifyBlocks(AttentionOpInterface op);
/// Checks the regions that any attention op has.
llvm::LogicalResult verifyVariantRegions(AttentionOpInterface op);
/// Checks arguments, results and purity of one region: arguments are `leading`
/// and the captured values. Ops of which `isAllowed` holds may have effects.
llvm::LogicalResult
verifyModRegion(AttentionOpInterface op, llvm::StringRef name,
                mlir::Region &region, llvm::ArrayRef<mlir::Type> leading,
                llvm::ArrayRef<mlir::Type> results,
                llvm::function_ref<bool(mlir::Operation *)> isAllowed = {});

//===----------------------------------------------------------------------===//
// The kernel's ABI
//===----------------------------------------------------------------------===//

/// Name and dimensions of operand `index`, one from getFirstVariantOperand()
/// on.
std::string getVariantOperandName(AttentionOpInterface op, unsigned index);
llvm::SmallVector<std::string> getVariantOperandDims(AttentionOpInterface op,
                                                     unsigned index);
/// Dimensions of Q, K and V (0, 1, 2) in host order.
llvm::SmallVector<std::string> getSequenceTensorDims(AttentionOpInterface op,
                                                     unsigned which);
/// Kernel dimension to host dimension of a value: those of rank 4 that hold
/// rows of heads (`isHeads`) are seen as (B, H, S, D).
llvm::SmallVector<int64_t> getMemoryOrder(AttentionOpInterface op,
                                          mlir::Type type, bool isHeads);
llvm::SmallVector<std::pair<std::string, int64_t>>
getVariantLimits(AttentionOpInterface op);
llvm::SmallVector<DimCover> getVariantCovers(AttentionOpInterface op);
llvm::SmallVector<Contents> getVariantContents(AttentionOpInterface op);
/// The dimensions that hold lists' entries, and how long those may be.
llvm::SmallVector<std::string> getBlockListRows(AttentionOpInterface op);
llvm::SmallVector<std::pair<std::string, int64_t>>
getBlockListLimits(AttentionOpInterface op);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_IR_VARIANTOP_H
