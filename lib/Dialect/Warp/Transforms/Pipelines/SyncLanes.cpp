//===- SyncLanes.cpp - Synchronise lanes before arrivals ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inserts `warp.sync_lanes` before the arrivals that publish accesses of other
// lanes (LaneOrder.h). Runs last, before `warp-verify-pipelines`, so that no
// pass separates an access from its barrier.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/LaneOrder.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPSYNCLANES
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

namespace {
struct SyncLanesPass : warp::impl::WarpSyncLanesBase<SyncLanesPass> {
  void runOnKernel() override;

private:
  void syncAfterLoad(warp::LocalLoadOp load);
  void syncBeforeArrival(warp::PipelineOpInterface arrival,
                         warp::LaneFence fences);
};
} // namespace

/// A stage of relative positions may be released in another block.
void SyncLanesPass::syncAfterLoad(warp::LocalLoadOp load) {
  if (isa<warp::LaneSyncOpInterface>(load->getNextNode()))
    return;
  OpBuilder b(&getContext());
  b.setInsertionPointAfter(load);
  warp::SyncLanesOp::create(b, load.getLoc(), warp::LaneFence::None);
  ++numSyncs;
}

/// A release moves below the arithmetic that follows it: the loads have
/// completed by then, so the lanes do not stall.
void SyncLanesPass::syncBeforeArrival(warp::PipelineOpInterface arrival,
                                      warp::LaneFence fences) {
  Operation *op = arrival;
  if (fences == warp::LaneFence::None &&
      arrival.getOpKind() == warp::PipelineOpKind::Release) {
    Operation *next = op->getNextNode();
    while (!next->hasTrait<OpTrait::IsTerminator>() && isPure(next))
      next = next->getNextNode();
    op->moveBefore(next);
  }
  OpBuilder b(op);
  warp::SyncLanesOp::create(b, op->getLoc(), fences);
  ++numSyncs;
}

void SyncLanesPass::runOnKernel() {
  warp::LaneOrder order(getOperation());
  SmallVector<warp::LocalLoadOp> loads;
  SmallVector<warp::PipelineOpInterface> arrivals;
  getOperation().walk([&](Operation *op) {
    if (auto load = dyn_cast<warp::LocalLoadOp>(op);
        load && warp::getRole(op) &&
        isa<warp::FragmentDiagonalsAttr>(load.getType().getEncoding()))
      loads.push_back(load);
    if (auto arrival = dyn_cast<warp::PipelineOpInterface>(op))
      arrivals.push_back(arrival);
  });
  for (warp::LocalLoadOp load : loads)
    syncAfterLoad(load);
  for (warp::PipelineOpInterface arrival : arrivals)
    if (auto fences = order.getMissingSync(arrival))
      syncBeforeArrival(arrival, *fences);
}
