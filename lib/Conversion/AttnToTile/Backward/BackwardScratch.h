//===- BackwardScratch.h - Memory of a backward pass ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDSCRATCH_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDSCRATCH_H

#include "Backward/BackwardPlan.h"
#include "CaptureGrads/CaptureGrads.h"
#include "KeyBlocks/TransposeBlockLists.h"

namespace fovea {

/// Arguments of the kernels in scratch memory, by number.
struct BackwardScratch {
  /// D of each query: f32.
  std::optional<unsigned> delta;
  /// Where dQ is summed in memory, in fragments, as D is then: what each query
  /// adds to its exponents, f32, and the sums: f32.
  std::optional<unsigned> exponents, querySums;
  /// Where tiles take turns at a block's sums: a semaphore for each block, i32.
  /// How many tiles come before one at a block: i32 by tile and block, or
  /// nothing where each tile meets all blocks.
  std::optional<unsigned> semaphores, turns;
};

/// The memory that the kernels of a pass share beside the op's tensors.
struct BackwardScratch {
  BackwardScratch scratch;
  CaptureGrads sums;
  /// Set where tiles of keys ask lists who sees them.
  std::optional<TransposeBlockLists> turned;

  /// Gives the main kernel the memory that the pass needs.
  static BackwardScratch declare(KernelBuilder &kb, attn::BackwardOp op,
                                const BackwardPlan &plan);
};

/// Blocks of so many rows that sequences of queries have, or of keys, by the
/// sizes of that operand. Where they are an entry's, one even if it has no
/// rows, since roles visit a block in any case.
mlir::AffineExpr countBlocks(attn::BackwardOp op, SizeExpressions &sizes,
                             int64_t rows);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDSCRATCH_H
