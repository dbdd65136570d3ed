//===- RelativePositionGrads.cpp - Relative-position gradients ------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaptureGrads/RelativePositionGrads.h"

#include "Backward/BackwardScores.h"
#include "Regions/RegionToTile.h"

using namespace mlir;
using namespace fovea;

LogicalResult fovea::addRelativePositionGrads(const BackwardKernel &kernel,
                                              const QueryPlace &place,
                                              const KeyRows &keys,
                                              const RelativeShares &shares) {
  attn::BackwardOp op = kernel.op;
  SmallVector<attn::ContributeOp> contributions = getReducedContributions(op);
  if (!kernel.part.sums || contributions.empty())
    return success();
  KernelBuilder &kb = kernel.kb;
  RegionContext context =
      kernel.makeContext(place.head, place.first, keys.first);
  auto places =
      RegionToTile(kb.builder, context)
          .cloneContributionPlaces(op.getScoreGradient(), contributions);
  if (failed(places))
    return failure();
  // Masked pairs have dS = 0 and add nothing.
  llvm::SmallDenseMap<Value, Value> wide;
  for (auto [add, share] :
       llvm::zip_equal(getRelativeShares(op), shares.others))
    wide[add.getValue()] = extendScores(kernel, share);
  SmallVector<Value> memory = kernel.memory.sums.getCaptureMemory(kb);
  for (auto [contribution, indices] : llvm::zip_equal(contributions, *places)) {
    attn::ContributeOp add = contribution;
    unsigned number = cast<BlockArgument>(add.getTarget()).getArgNumber();
    Value &added = wide[add.getValue()];
    if (!added)
      added = extendScores(kernel, shares.gradients);
    addToSums(kb.builder, add.getLoc(), added,
              memory[number - attn::BackwardOp::kScoreGradientArguments],
              indices, /*counts=*/Value(),
              kb.builder.getStringAttr("distance_sum"));
  }
  return success();
}
