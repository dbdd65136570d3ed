//===- MaskRemarks.h - Remarks on analysed masks ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_MASKREMARKS_H
#define FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_MASKREMARKS_H

#include "MaskAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fovea::attn {

/// The obstacles and hulls of an analysis, without its values.
struct MaskFindings {
  llvm::SmallVector<Obstacle> unknown;
  llvm::SmallVector<mlir::Operation *> hulls;
};

/// Emits remarks of category "mask" on the op's bounds and block predicate, and
/// on each op of its mask that prevented better ones, if remarks are enabled.
/// `blocks` is null if no block predicate was computed.
void remarkMask(AttentionOpInterface op, const MaskFindings &ranges,
                const MaskFindings *blocks);

/// Emits a remark on an op that is not analysed: it has no mask, or it already
/// has bounds or block lists.
void remarkUnanalyzed(AttentionOpInterface op);

/// Prints a value of `mask_mod`, `kv_bounds` or `kv_classify` as a formula,
/// such as "min(i1 + 1, key_length)". Operands get parentheses if needed; long
/// formulas end in "...".
std::string printFormula(mlir::Value value, bool isOperand = false);

/// Prints a comparison with another predicate.
std::string printComparison(mlir::arith::CmpIOp op,
                            mlir::arith::CmpIPredicate predicate);

/// Describes the keys that a query sees as a union of sets: "query i sees keys
/// [max(0, i - 63), i] and keys 0 to 3"; "" if the description is too long.
std::string describeVisibleKeys(mlir::Region &maskMod);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_MASKREMARKS_H
