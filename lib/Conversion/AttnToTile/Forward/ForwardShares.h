//===- ForwardShares.h - Forward kernels with split keys --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits what a forward kernel needs so that several CTAs may share the keys of
// one query tile: the number of its key blocks, the blocks of one CTA, and the
// join of the softmax states.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDSHARES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDSHARES_H

#include "Forward/ForwardKernel.h"
#include "KeyBlocks/KeyBlocks.h"

namespace fovea {

/// A softmax state of rows of a query tile.
struct SoftmaxState {
  mlir::Value m, l, acc;
};

/// Fills the region of the loop over work that yields an item's blocks.
llvm::LogicalResult emitExtent(const ForwardKernel &kernel);

/// Restricts the range of key blocks to those of this CTA.
void restrictToPiece(const ForwardKernel &kernel, KeyBlocks &blocks);

/// Joins the states of all CTAs that share the keys of the tile. `emitResults`
/// emits the results of a state of all rows of a kernel's tile, or of some of
/// its rows.
void emitJoin(
    const ForwardKernel &kernel, const SoftmaxState &state,
    llvm::function_ref<void(const ForwardKernel &, SoftmaxState)> emitResults);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDSHARES_H
