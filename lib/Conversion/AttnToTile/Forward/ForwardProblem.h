//===- ForwardProblem.h - What a schedule depends on ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDPROBLEM_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDPROBLEM_H

#include "Kernel/KernelOptions.h"
#include "Kernel/PackedHeads.h"
#include "Regions/StagedBias.h"

#include "fovea/Schedule/Schedule.h"

namespace fovea {

/// With few queries, tiles would have few rows. The heads that share keys have
/// the same work: they become rows, too. Not where what a region or a random
/// number makes of a head must be one value, and where nothing is shared.
PackedHeads findPackedHeads(attn::ForwardOp op);

/// Whether a tile of queries visits some blocks only.
bool picksBlocks(attn::ForwardOp op);

/// Whether blocks of a range can be told apart. One query's blocks are cheaper
/// visited than asked about.
bool canClassify(attn::ForwardOp op, PackedHeads heads);

/// Whether where blocks begin and end is computed from captured values: wide
/// arithmetic, which is done once a tile.
bool computesBoundsFromCaptures(attn::ForwardOp op);

/// What the op's schedule depends on, if `boxes` come block by block and
/// `heads` are rows.
ScheduleProblem makeForwardProblem(attn::ForwardOp op,
                                   const KernelOptions &options,
                                   const StagedBias &boxes, PackedHeads heads);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDPROBLEM_H
