//===- ForwardProblem.h - Schedule problem of a forward op ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Describes a forward op to the planner: its shapes, its mask and the captured
// tensors that its regions read.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDPROBLEM_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDPROBLEM_H

#include "Kernel/KernelOptions.h"
#include "Kernel/PackedHeads.h"
#include "Regions/StagedBias.h"

#include "fovea/Schedule/Schedule.h"

namespace fovea {

/// True if the keys of a query tile depend on its head.
bool boundsAskForHead(attn::ForwardOp op);

/// PackGQA: with few queries per head, the query heads that share keys become
/// rows of one tile. Not if a region or dropout needs one head per tile.
PackedHeads findPackedHeads(attn::ForwardOp op);

/// True if a query tile processes only some key blocks.
bool picksBlocks(attn::ForwardOp op);

/// True if a runtime predicate (kv_classify) can select blocks within the
/// range. With PackGQA a block costs less than its predicate.
bool canClassify(attn::ForwardOp op, PackedHeads heads);

/// True if the bounds of blocks are computed from captured values: wide
/// arithmetic, once per tile.
bool computesBoundsFromCaptures(attn::ForwardOp op);

/// Describes the op to the planner, with `boxes` staged in shared memory and
/// the rows of `heads`.
ScheduleProblem makeForwardProblem(attn::ForwardOp op,
                                   const KernelOptions &options,
                                   const StagedBias &boxes, PackedHeads heads);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDPROBLEM_H
