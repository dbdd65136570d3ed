//===- PingPong.cpp - Ping-pong between warp groups -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts `warp.begin_turn` and `warp.end_turn` around each burst of dots, so that
// the warp groups issue their bursts in order: one group runs softmax while
// another uses the tensor cores (ping-pong of FlashAttention 3).
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPPINGPONG
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct PingPongPass : warp::impl::WarpPingPongBase<PingPongPass> {
  void runOnKernel() override;
};

/// Consecutive asynchronous dots of one block with no wait for a dot in
/// between.
struct Burst {
  DotOp first, last;
};
} // namespace

static SmallVector<Burst> findBursts(Block &block) {
  SmallVector<Burst> bursts;
  Burst current;
  auto finish = [&] {
    if (current.first != current.last)
      bursts.push_back(current);
    current = Burst();
  };
  for (Operation &op : block) {
    auto dot = dyn_cast<DotOp>(op);
    if (isa<DotWaitOp>(op) || (dot && !dot.getAsync()))
      finish();
    else if (dot)
      current = {current.first ? current.first : dot, dot};
  }
  finish();
  return bursts;
}

void PingPongPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  plan::KernelAttr plan = abi.getPlan();
  int64_t groups = plan->warps / plan.getUnit().getGroupWarps();
  if (!plan.hasRoles() || !plan->pingPong)
    return;
  auto leaveOut = [&](StringRef reason) {
    if (failed(reportMissed(getOperation(), abi, "ping_pong", reason)))
      return signalPassFailure();
    abi.setPlanAttr(
        plan.change([](plan::KernelPlan &kernel) { kernel.pingPong = false; }));
  };
  if (groups < 2)
    return leaveOut("expected at least two warp groups, found one");
  groups *= plan->cluster;
  SmallVector<Burst> bursts;
  getOperation().walk(
      [&](Block *block) { llvm::append_range(bursts, findBursts(*block)); });
  if (bursts.empty())
    return leaveOut("no two dots are issued without a wait in between");
  OpBuilder b = OpBuilder::atBlockBegin(&getOperation().getBody().front());
  Value turns =
      TurnsOp::create(b, getNamedLoc(getOperation().getLoc(), "turns"),
                      TurnsType::get(&getContext(), groups));
  for (Burst burst : bursts) {
    b.setInsertionPoint(burst.first);
    BeginTurnOp::create(b, burst.first.getLoc(), turns);
    b.setInsertionPointAfter(burst.last);
    EndTurnOp::create(b, burst.last.getLoc(), turns);
    ++numSections;
  }
  reportDone(getOperation(), abi, "ping_pong", "Turns", bursts.size());
}
