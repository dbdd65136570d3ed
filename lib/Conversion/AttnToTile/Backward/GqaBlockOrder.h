//===- GqaBlockOrder.h - Heads that share keys -----------------*- C++ -*--===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_GQABLOCKORDER_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_GQABLOCKORDER_H

#include "Backward/BackwardBlocks.h"

namespace fovea {

/// A loop of a tile of keys in which each block comes once for each head of a
/// group: its range, in rows from 0 on; the number of its first block; 1 if the
/// next blocks are those behind it, or -1; and what places are found with.
struct GroupVisits {
  RowRange range;
  mlir::Value first, direction, reciprocal;
};

/// The loop over the blocks of `range`.
GroupVisits emitGroupVisits(const BackwardKernel &kernel,
                            const RowRange &range);

/// The block at `row` of such a loop, for the group that begins with a head.
QueryPlace placeInGroup(const BackwardKernel &kernel, const GroupVisits &visits,
                        mlir::Value firstHead, mlir::Value row);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_GQABLOCKORDER_H
