//===- AssignVoteLayouts.cpp - One candidate a lane -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "CopiesWithLayout.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPASSIGNVOTELAYOUTS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

namespace {
struct AssignVoteLayoutsPass
    : warp::impl::WarpAssignVoteLayoutsBase<AssignVoteLayoutsPass> {
  void runOnKernel() override;
};
} // namespace

/// Votes have a layout of their own, and so has what they are about.
static LogicalResult assignLanes(tile::BallotOp ballot) {
  return warp::layOut(ballot.getFlagsMutable(),
                      warp::LanesAttr::get(ballot.getContext()),
                      "a vote's flags");
}

void AssignVoteLayoutsPass::runOnKernel() {
  SmallVector<tile::BallotOp> ballots;
  getOperation().walk([&](tile::BallotOp op) { ballots.push_back(op); });
  for (tile::BallotOp ballot : ballots)
    if (failed(assignLanes(ballot)))
      return signalPassFailure();
  numVotes += ballots.size();
}
