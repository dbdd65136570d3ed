//===- DistributeWork.cpp - Persistent loops over work --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers `tile.foreach_work` to a do-while loop over work items, with a static
// stride or with `warp.next_work` for dynamic scheduling. The loop carries the
// iteration count, from which the ring positions of work mailboxes follow.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Ring.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPDISTRIBUTEWORK
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct DistributeWorkPass
    : warp::impl::WarpDistributeWorkBase<DistributeWorkPass> {
  void runOnKernel() override;
};
} // namespace

/// Emits a do-while loop, because the grid has at most as many CTAs as work
/// items.
static void distribute(tile::ForeachWorkOp op, bool isOfCluster) {
  Location loc = op.getLoc();
  IRRewriter b(op);
  bool isDynamic = op.getSchedule() == tile::WorkSchedule::Dynamic;
  Type index = b.getIndexType(), i32 = b.getI32Type();
  Value first, total;
  if (isOfCluster)
    first = gpu::ClusterIdOp::create(b, loc, gpu::Dimension::x);
  else
    first = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  if (!isDynamic && isOfCluster)
    total = gpu::ClusterDimOp::create(b, loc, gpu::Dimension::x);
  else if (!isDynamic)
    total = gpu::GridDimOp::create(b, loc, gpu::Dimension::x);
  SmallVector<Type> types = {index, i32};
  SmallVector<Location> locs = {loc, loc};
  auto loop = scf::WhileOp::create(b, loc, types,
                                   ValueRange{first, makeI32(b, loc, 0)});
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locs);
  Value item = before->getArgument(0), iteration = before->getArgument(1);
  Operation *terminator = op.getBody()->getTerminator();
  b.eraseOp(terminator);
  b.inlineBlockBefore(op.getBody(), before, before->end(), item);
  b.setInsertionPointToEnd(before);
  Value next = isDynamic
                   ? NextWorkOp::create(b, loc, index, iteration).getResult()
                   : arith::AddIOp::create(b, loc, item, total).getResult();
  Value nextIteration =
      arith::AddIOp::create(b, loc, iteration, makeI32(b, loc, 1));
  Value more = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, next,
                                     op.getCount());
  scf::ConditionOp::create(b, loc, more, ValueRange{next, nextIteration});
  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  scf::YieldOp::create(b, loc, after->getArguments());
  b.eraseOp(op);
}

void DistributeWorkPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  SmallVector<tile::ForeachWorkOp> loops;
  WalkResult walk = getOperation().walk([&](tile::ForeachWorkOp op) {
    if (op.getSchedule() == tile::WorkSchedule::Single) {
      op.emitError("work of schedule 'single' is lowered by "
                   "'tile-lower-work'");
      return WalkResult::interrupt();
    }
    if (op.getSchedule() == tile::WorkSchedule::Dynamic &&
        abi.getCluster() > 1) {
      op.emitError("work of schedule 'dynamic' is not supported for clusters");
      return WalkResult::interrupt();
    }
    loops.push_back(op);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return signalPassFailure();
  if (loops.size() > 1) {
    loops[1].emitError("a kernel must have one loop over work");
    return signalPassFailure();
  }
  for (tile::ForeachWorkOp op : loops)
    distribute(op, abi.getCluster() > 1);
  numLoops += loops.size();
}
