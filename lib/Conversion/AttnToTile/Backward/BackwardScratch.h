//===- BackwardScratch.h - Scratch memory of a backward pass ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares the scratch buffers that the kernels of a backward pass share, and
// their kernel arguments.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDSCRATCH_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDSCRATCH_H

#include "Backward/BackwardPlan.h"
#include "CaptureGrads/CaptureGrads.h"
#include "KeyBlocks/TransposeBlockLists.h"

namespace fovea {

/// Argument indices of the scratch buffers.
struct ScratchArguments {
  /// delta of each query, f32.
  std::optional<unsigned> delta;
  /// With dQ accumulated in memory, in fragments, as is delta then: the softmax
  /// constant of each query, f32, and dq_accum, f32.
  std::optional<unsigned> exponents, dqAccum;
  /// With ordered accumulation: a semaphore for each query block, i32; and the
  /// slot of each key tile at each query block, i32, unless each tile processes
  /// all blocks.
  std::optional<unsigned> semaphores, slots;
};

/// Memory that the kernels of a pass share in addition to the op's tensors.
struct BackwardScratch {
  ScratchArguments scratch;
  CaptureGrads sums;
  /// Set if a prologue kernel transposes the op's block-sparse lists for a keys
  /// kernel.
  std::optional<TransposeBlockLists> transposed;

  /// Adds arguments for the memory to the main kernel.
  static BackwardScratch declare(KernelBuilder &kb, attn::BackwardOp op,
                                 const BackwardPlan &plan);
};

/// Number of blocks of `rows` rows, in terms of the sizes of the operand that
/// `sizes` refers to. At least one per batch entry, even if it has no rows,
/// since specialized loops run at least once.
mlir::AffineExpr countBlocks(attn::BackwardOp op, SizeExpressions &sizes,
                             int64_t rows);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDSCRATCH_H
