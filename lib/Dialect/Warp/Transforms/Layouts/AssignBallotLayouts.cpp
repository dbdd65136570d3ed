//===- AssignBallotLayouts.cpp - One candidate a lane ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Votes have a layout of their own, and so has what they are about.
static LogicalResult assignLanes(tile::BallotOp ballot) {
  return warp::layOut(ballot.getFlagsMutable(),
                      warp::LanesAttr::get(ballot.getContext()),
                      "a vote's flags");
}

void AssignBallotLayoutsPass::runOnKernel() {
  SmallVector<tile::BallotOp> ballots;
  getOperation().walk([&](tile::BallotOp op) { ballots.push_back(op); });
  for (tile::BallotOp ballot : ballots)
    if (failed(assignLanes(ballot)))
      return signalPassFailure();
  numVotes += ballots.size();
}
