//===- LowerWork.cpp - Inline single work items ---------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace fovea::tile {
#define GEN_PASS_DEF_LOWERWORK
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fovea::tile

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

static void inlineBody(IRRewriter &rewriter, ForeachWorkOp op,
                       bool isOfCluster) {
  rewriter.setInsertionPoint(op);
  Value item;
  if (isOfCluster)
    item = gpu::ClusterIdOp::create(rewriter, op.getLoc(), gpu::Dimension::x);
  else
    item = gpu::BlockIdOp::create(rewriter, op.getLoc(), gpu::Dimension::x);
  rewriter.eraseOp(op.getBody()->getTerminator());
  rewriter.inlineBlockBefore(op.getBody(), op, item);
  rewriter.eraseOp(op);
}

namespace {

struct LowerWork : fovea::tile::impl::LowerWorkBase<LowerWork> {
  using LowerWorkBase::LowerWorkBase;

  void runOnKernel() override {
    launch::AbiOp abi = launch::lookupAbi(getOperation());
    bool hasRoles = !abi || abi.getPlan().hasRoles();
    SmallVector<ForeachWorkOp> single;
    WalkResult walk = getOperation().walk([&](ForeachWorkOp op) -> WalkResult {
      if (op.getSchedule() == WorkSchedule::Single)
        single.push_back(op);
      else if (!hasRoles && !op.isShared())
        return op.emitOpError("has schedule '")
               << stringifyWorkSchedule(op.getSchedule())
               << "', which needs roles: expected a plan with "
                  "'producer_registers'";
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    for (ForeachWorkOp op : single)
      inlineBody(rewriter, op, abi && abi.getCluster() > 1);
    numInlined += single.size();
  }
};

} // namespace
