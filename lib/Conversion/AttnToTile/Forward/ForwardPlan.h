//===- ForwardPlan.h - What is decided of a forward kernel ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDPLAN_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDPLAN_H

#include "Kernel/KernelOptions.h"
#include "Kernel/PackedHeads.h"

#include "fovea/Schedule/Schedule.h"

namespace fovea {

/// What is decided of a forward kernel before any of it is emitted.
struct ForwardPlan {
  plan::KernelAttr kernel;
  /// Queries of a tile, and keys of a block.
  int64_t rows, columns;
  /// Head dims, padded to what products sum over.
  int64_t headDim, valueHeadDim;
  PackedHeads packedHeads;
  /// Numbers of the captured tensors whose blocks come through shared memory.
  llvm::SmallVector<unsigned> stagedCaptures;
  /// Heads are taken in sections, the longest tiles first; with the shortest
  /// ones kept for the end.
  bool hasSections, hasFinalTiles;
  /// Batch entries read the same blocks of captured tensors, and follow each
  /// other.
  bool sharesBoxes;
  /// kv_classify says which blocks are visited.
  bool asksForBlocks;
  /// Warp groups, four warps each, or roles compute parts of a tile's rows,
  /// each on its own, and mask what those need.
  bool partsRows;

  /// Bytes of a key and its value.
  int64_t keyBytes;
};

/// The plan for an op, by the target's planner and what the op has a use for.
mlir::FailureOr<ForwardPlan> planForward(attn::ForwardOp op,
                                         const KernelOptions &options);

/// `plan` for a kernel whose products start from zero; an error if the schedule
/// asks for a summand by name.
mlir::FailureOr<plan::KernelAttr> dropAddByDot(attn::ForwardOp op,
                                               plan::KernelAttr plan);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDPLAN_H
