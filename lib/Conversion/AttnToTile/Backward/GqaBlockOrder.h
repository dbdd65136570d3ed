//===- GqaBlockOrder.h - Block order of GQA key tiles -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Interleaves the heads of a GQA group: a key tile processes each query block
// for all heads of its group before the next block.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_GQABLOCKORDER_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_GQABLOCKORDER_H

#include "Backward/BackwardBlocks.h"

namespace fovea {

/// The loop of a key tile in which each block occurs once per head of a group:
/// its range, in rows from 0; the index of the first block; the direction, 1 or
/// -1; and the reciprocal of the group size for `emitMember`.
struct GqaLoop {
  RowRange range;
  mlir::Value first, direction, reciprocal;
};

/// Makes the loop over the blocks of `range`.
GqaLoop makeGqaLoop(const BackwardKernel &kernel, const RowRange &range);

/// The query block at `row` of such a loop, for the group that begins with
/// `firstHead`.
QueryPlace getGqaPosition(const BackwardKernel &kernel, const GqaLoop &visits,
                          mlir::Value firstHead, mlir::Value row);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_GQABLOCKORDER_H
