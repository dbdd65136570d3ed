//===- MaskRemarks.h - What is said of an analysed mask ---------*- C++ -*-===//
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

/// What an analysis found out, without its values.
struct MaskFindings {
  llvm::SmallVector<Obstacle> unknown;
  llvm::SmallVector<mlir::Operation *> hulls;
};

/// Remarks of category "mask" on the bounds and the verdicts that the op got,
/// and on each op of its mask that was in the way. Nothing where nobody
/// listens. `blocks` is null if none were looked for.
void remarkMask(AttentionOpInterface op, const MaskFindings &ranges,
                const MaskFindings *blocks);

/// A remark on an op of which there is nothing to analyse: without a mask, or
/// with bounds or lists of blocks.
void remarkUnanalyzed(AttentionOpInterface op);

/// A value of `mask_mod`, `kv_bounds` or `kv_classify` as a formula, such as
/// "min(i1 + 1, key_length)", in parentheses if an operand needs them; a long
/// one ends in "...".
std::string printFormula(mlir::Value value, bool isOperand = false);

/// The same of a comparison with another predicate.
std::string printComparison(mlir::arith::CmpIOp op,
                            mlir::arith::CmpIPredicate predicate);

/// The keys that a query sees by `maskMod`, as a union of sets: "query i sees
/// keys [max(0, i - 63), i] and keys 0 to 3"; "" if that takes too many words.
std::string describeVisibleKeys(mlir::Region &maskMod);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_MASKREMARKS_H
