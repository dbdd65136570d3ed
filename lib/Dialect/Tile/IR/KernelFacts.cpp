//===- KernelFacts.cpp - Facts about tile programs ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/IR/KernelFacts.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

using namespace fovea;
using namespace fovea::tile;

const KernelFact tile::kSoftmaxIsLoops{
    findOp<SoftmaxSumOp, SoftmaxMergeOp, SoftmaxFinishOp>,
    "tile-fuse-online-softmax"};
const KernelFact tile::kBlocksAreLoops{findOp<ForBlocksOp>,
                                       "tile-lower-blocks"};
const KernelFact tile::kJoinsAreStores{findOp<JoinOp>, "tile-lower-shares"};
const KernelFact tile::kWorkIsDealt{
    findOp<ForeachWorkOp>, "tile-lower-work' or 'warp-distribute-work"};
