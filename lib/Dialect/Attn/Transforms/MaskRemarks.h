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

/// A value of `kv_bounds` or `kv_classify` as a formula, such as "min(i1 + 1,
/// key_length)"; what is long ends in "...".
std::string printFormula(mlir::Value value);

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_MASKREMARKS_H
