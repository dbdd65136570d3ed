//===- ForwardPlan.h - Plan of a forward kernel -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the plan of a forward kernel with the target's planner, and drops
// fields that do not apply to the op. Emits no IR.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDPLAN_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDPLAN_H

#include "Kernel/KernelOptions.h"
#include "Kernel/PackedHeads.h"

#include "fovea/Schedule/Schedule.h"

namespace fovea {

/// The plan of a forward kernel.
struct ForwardPlan {
  plan::KernelAttr kernel;
  /// Query rows of a tile, and keys of a block.
  int64_t rows, columns;
  /// Head dims, padded to the reduction step of the MMA.
  int64_t headDim, valueHeadDim;
  PackedHeads packedHeads;
  /// Indices of the captured tensors whose tiles are staged in shared memory.
  llvm::SmallVector<unsigned> stagedCaptures;
  /// Heads are processed in L2 sections, the longest tiles first; with tail
  /// tiles.
  bool hasSections, hasFinalTiles;
  /// Batch entries read the same tiles of captured tensors, and are processed
  /// one after the other.
  bool sharesBoxes;
  /// kv_classify selects the blocks at run time.
  bool selectsBlocks;
  /// Warp groups or roles compute disjoint rows of a tile, and each masks only
  /// the blocks that its own rows need masked.
  bool partsRows;

  /// Bytes of a key and its value.
  int64_t keyBytes;
};

/// Plans the kernel of an op: the target planner's choice, without the fields
/// that the op has no use for.
mlir::FailureOr<ForwardPlan> planForward(attn::ForwardOp op,
                                         const KernelOptions &options);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDPLAN_H
