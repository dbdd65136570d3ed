//===- AssignBallotLayouts.cpp - Lane layout for ballots ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rematerializes the flags of each `tile.ballot` in the lane layout, in which
// each lane holds one flag. Runs directly after the conversion to the warp
// dialect, before the other tiles get layouts.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "Layouts/RematerializeInLayout.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPASSIGNBALLOTLAYOUTS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

namespace {
struct AssignBallotLayoutsPass
    : warp::impl::WarpAssignBallotLayoutsBase<AssignBallotLayoutsPass> {
  void runOnKernel() override;
};
} // namespace

/// Gives the ballot's flags the lane layout.
static LogicalResult assignLanes(tile::BallotOp ballot) {
  return warp::layOut(ballot.getFlagsMutable(),
                      warp::LanesAttr::get(ballot.getContext()),
                      "the flags of a ballot");
}

void AssignBallotLayoutsPass::runOnKernel() {
  SmallVector<tile::BallotOp> ballots;
  getOperation().walk([&](tile::BallotOp op) { ballots.push_back(op); });
  for (tile::BallotOp ballot : ballots)
    if (failed(assignLanes(ballot)))
      return signalPassFailure();
  numBallots += ballots.size();
}
