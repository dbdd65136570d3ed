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
// iteration count, from which the ring positions of work mailboxes follow. With
// shares, it is a loop over the pieces of the CTA's share.
//
//===----------------------------------------------------------------------===//

#include "Pipelines/Ring.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Support/CloneBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
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

namespace {
/// Lowers the loop over the pieces of a CTA's share of all blocks.
class ShareDistribution {
public:
  explicit ShareDistribution(tile::ForeachWorkOp op)
      : op(op), b(op.getLoc(), op), loc(op.getLoc()) {}

  void distribute();

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value isBelow(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, y);
  }
  Value choose(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  /// The blocks of a tile of an item of `group`, and the blocks of a piece if
  /// pieces have a fixed size.
  SmallVector<Value> emitExtent(Value group, Value tile);
  /// The blocks of all items of `group`.
  Value emitBlocksOfGroup(Value group);
  /// The tile of `group` with block `inside` of the group, and the blocks of
  /// the tiles before it.
  std::pair<Value, Value> findTile(Value group, Value inside);
  /// The item and the tile after those of the arguments.
  std::pair<Value, Value> emitNext(Value item, Value tile);
  void emitShare();
  /// Moves the start of the share to the start of a piece of fixed size.
  void skipToPiece(Value extent, Value piece);
  /// Values that do not depend on the piece.
  void emitQuotients();
  /// The CTA whose share contains the block.
  Value emitCtaOf(Value block);
  void emitPieces();
  /// The arguments of the body for the piece from `block` on of a tile with the
  /// blocks from `start` to `next`, and the end of the piece.
  std::pair<SmallVector<Value>, Value> describePiece(Value block, Value start,
                                                     Value next);
  std::pair<SmallVector<Value>, Value>
  describeFixedPiece(Value block, Value start, Value extent, Value piece);

  tile::ForeachWorkOp op;
  ImplicitLocOpBuilder b;
  Location loc;
  Value cta, ctas;
  /// The range of blocks of this share.
  Value total, end;
  /// The first item and tile, its first block and the first block of the share.
  Value item, tile, before, first;
  /// Every share has `quotient` blocks, the shares before block `split` one
  /// more.
  Value quotient, longer, remainder, split;
};
} // namespace

SmallVector<Value> ShareDistribution::emitExtent(Value group, Value tile) {
  if (op.hasTiles())
    return cloneBody(b, op.getExtent(), {group, tile});
  return cloneBody(b, op.getExtent(), group);
}

Value ShareDistribution::emitBlocksOfGroup(Value group) {
  if (!op.hasTiles())
    return arith::MulIOp::create(b, emitExtent(group, Value()).front(),
                                 op.getPer());
  Value tiles = cloneBody(b, op.getTiles(), group).front();
  auto loop = scf::ForOp::create(b, loc, constant(0), tiles, constant(1),
                                 ValueRange{constant(0)});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value blocks = emitExtent(group, loop.getInductionVar()).front();
    Value sum = arith::AddIOp::create(b, loop.getRegionIterArg(0), blocks);
    scf::YieldOp::create(b, loc, sum);
  }
  return arith::MulIOp::create(b, loop.getResult(0), op.getPer());
}

std::pair<Value, Value> ShareDistribution::findTile(Value group, Value inside) {
  Type index = b.getIndexType();
  SmallVector<Type> types(2, index);
  SmallVector<Location> locs(2, loc);
  auto loop =
      scf::WhileOp::create(b, loc, types, ValueRange{constant(0), constant(0)});
  Block *body = b.createBlock(&loop.getBefore(), {}, types, locs);
  Value current = body->getArgument(0), before = body->getArgument(1);
  Value blocks =
      arith::MulIOp::create(b, emitExtent(group, current).front(), op.getPer());
  Value end = arith::AddIOp::create(b, before, blocks);
  Value isBefore =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, end, inside);
  Value next = arith::AddIOp::create(b, current, constant(1));
  scf::ConditionOp::create(b, loc, isBefore,
                           ValueRange{choose(isBefore, next, current),
                                      choose(isBefore, end, before)});
  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  scf::YieldOp::create(b, loc, after->getArguments());
  b.setInsertionPointAfter(loop);
  return {loop.getResult(0), loop.getResult(1)};
}

std::pair<Value, Value> ShareDistribution::emitNext(Value item, Value tile) {
  Value one = constant(1), next = arith::AddIOp::create(b, item, one);
  if (!op.hasTiles())
    return {next, Value()};
  // After a group's last item comes its first one with the next tile.
  Value per = op.getPer(), zero = constant(0);
  Value group = arith::DivUIOp::create(b, item, per);
  Value isOfGroup = isBelow(arith::RemUIOp::create(b, item, per),
                            arith::SubIOp::create(b, per, one));
  Value nextTile = arith::AddIOp::create(b, tile, one);
  Value hasTile = isBelow(nextTile, cloneBody(b, op.getTiles(), group).front());
  Value back = choose(hasTile, arith::MulIOp::create(b, group, per), next);
  return {choose(isOfGroup, next, back),
          choose(isOfGroup, tile, choose(hasTile, nextTile, zero))};
}

void ShareDistribution::emitShare() {
  cta = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  ctas = gpu::GridDimOp::create(b, loc, gpu::Dimension::x);
  Value groups = arith::DivUIOp::create(b, op.getCount(), op.getPer());
  Type index = b.getIndexType();
  auto share = tile::TakeShareOp::create(b, loc, index, index, index, index,
                                         index, cta, ctas, groups);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&share.getBlocks(), {}, index, loc);
    tile::YieldOp::create(b, loc, emitBlocksOfGroup(block->getArgument(0)));
  }
  total = share.getTotal();
  first = share.getFirst();
  end = share.getEnd();
  Value group = share.getGroup();
  before = share.getBefore();
  if (op.hasTiles()) {
    Value skipped;
    std::tie(tile, skipped) =
        findTile(group, arith::SubIOp::create(b, first, before));
    before = arith::AddIOp::create(b, before, skipped);
  }
  SmallVector<Value> blocks = emitExtent(group, tile);
  Value extent = blocks.front();
  Value inside = arith::DivUIOp::create(
      b, arith::SubIOp::create(b, first, before), extent);
  item = arith::AddIOp::create(b, arith::MulIOp::create(b, group, op.getPer()),
                               inside);
  before = arith::AddIOp::create(b, before,
                                 arith::MulIOp::create(b, inside, extent));
  if (op.hasFixedPieces())
    skipToPiece(extent, blocks.back());
}

void ShareDistribution::skipToPiece(Value extent, Value piece) {
  Value pieces = arith::CeilDivUIOp::create(
      b, arith::SubIOp::create(b, first, before), piece);
  Value skipped = arith::MulIOp::create(b, pieces, piece);
  Value isInside = isBelow(skipped, extent);
  auto [nextItem, nextTile] = emitNext(item, tile);
  item = choose(isInside, item, nextItem);
  if (tile)
    tile = choose(isInside, tile, nextTile);
  Value next = arith::AddIOp::create(b, before, extent);
  first = choose(isInside, arith::AddIOp::create(b, before, skipped), next);
  before = choose(isInside, before, next);
}

void ShareDistribution::emitQuotients() {
  Value one = constant(1), whole = arith::DivUIOp::create(b, total, ctas);
  remainder = arith::RemUIOp::create(b, total, ctas);
  longer = arith::AddIOp::create(b, whole, one);
  split = arith::MulIOp::create(b, remainder, longer);
  // With fewer blocks than CTAs, all blocks are before the split.
  quotient = arith::MaxUIOp::create(b, whole, one);
}

Value ShareDistribution::emitCtaOf(Value block) {
  Value early = arith::DivUIOp::create(b, block, longer);
  Value late = arith::AddIOp::create(
      b, remainder,
      arith::DivUIOp::create(b, arith::SubIOp::create(b, block, split),
                             quotient));
  return arith::SelectOp::create(b, loc, isBelow(block, split), early, late);
}

std::pair<SmallVector<Value>, Value>
ShareDistribution::describePiece(Value block, Value start, Value next) {
  Value last = arith::MinUIOp::create(b, next, end);
  Value firstCta = emitCtaOf(start);
  Value lastCta = emitCtaOf(arith::SubIOp::create(b, next, constant(1)));
  Value parts = arith::AddIOp::create(
      b, arith::SubIOp::create(b, lastCta, firstCta), constant(1));
  return {{arith::SubIOp::create(b, block, start),
           arith::SubIOp::create(b, last, start),
           arith::SubIOp::create(b, cta, firstCta), parts, firstCta},
          last};
}

std::pair<SmallVector<Value>, Value>
ShareDistribution::describeFixedPiece(Value block, Value start, Value extent,
                                      Value piece) {
  Value first = arith::SubIOp::create(b, block, start);
  Value after =
      arith::MinUIOp::create(b, arith::AddIOp::create(b, first, piece), extent);
  Value parts = arith::CeilDivUIOp::create(b, extent, piece);
  Value lastFirst = arith::MulIOp::create(
      b, arith::SubIOp::create(b, parts, constant(1)), piece);
  Value firstCta = emitCtaOf(start);
  Value lastCta = emitCtaOf(arith::AddIOp::create(b, start, lastFirst));
  Value isShared = arith::IndexCastUIOp::create(b, b.getIndexType(),
                                                isBelow(firstCta, lastCta));
  Value number = arith::AddIOp::create(
      b, arith::MulIOp::create(b, firstCta, constant(2)), isShared);
  return {
      {first, after, arith::DivUIOp::create(b, first, piece), parts, number},
      arith::AddIOp::create(b, start, after)};
}

void ShareDistribution::emitPieces() {
  SmallVector<Value> inits = {item, first, before};
  if (tile)
    inits.push_back(tile);
  SmallVector<Type> types(inits.size(), b.getIndexType());
  SmallVector<Location> locs(inits.size(), loc);
  auto loop = scf::WhileOp::create(b, loc, types, inits);
  Block *body = b.createBlock(&loop.getBefore(), {}, types, locs);
  Value current = body->getArgument(0), block = body->getArgument(1),
        start = body->getArgument(2);
  Value currentTile = tile ? body->getArgument(3) : Value();
  SmallVector<Value> blocks =
      emitExtent(arith::DivUIOp::create(b, current, op.getPer()), currentTile);
  Value next = arith::AddIOp::create(b, start, blocks.front());
  bool isFixed = op.hasFixedPieces();
  auto [arguments, last] =
      isFixed ? describeFixedPiece(block, start, blocks.front(), blocks.back())
              : describePiece(block, start, next);
  arguments.insert(arguments.begin(), current);
  if (tile)
    arguments.push_back(currentTile);
  IRRewriter rewriter(b);
  rewriter.eraseOp(op.getBody()->getTerminator());
  rewriter.inlineBlockBefore(op.getBody(), body, body->end(), arguments);
  b.setInsertionPointToEnd(body);
  auto [nextItem, nextTile] = emitNext(current, currentTile);
  if (isFixed) {
    Value isInside = isBelow(last, next);
    nextItem = choose(isInside, current, nextItem);
    if (tile)
      nextTile = choose(isInside, currentTile, nextTile);
    next = choose(isInside, start, next);
  }
  SmallVector<Value> carried = {nextItem, last, next};
  if (tile)
    carried.push_back(nextTile);
  scf::ConditionOp::create(b, loc, isBelow(last, end), carried);
  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  scf::YieldOp::create(b, loc, after->getArguments());
}

void ShareDistribution::distribute() {
  emitShare();
  emitQuotients();
  // A share may be empty.
  Value once = arith::IndexCastUIOp::create(b, loc, b.getIndexType(),
                                            isBelow(first, end));
  auto loop = scf::ForOp::create(b, loc, constant(0), once, constant(1));
  b.setInsertionPointToStart(loop.getBody());
  emitPieces();
  op.erase();
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
    if (op.getSchedule() != tile::WorkSchedule::Static &&
        abi.getCluster() > 1) {
      op.emitError("work of schedule '")
          << stringifyWorkSchedule(op.getSchedule())
          << "' is not supported for clusters";
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
    if (op.isShared())
      ShareDistribution(op).distribute();
    else
      distribute(op, abi.getCluster() > 1);
  numLoops += loops.size();
}
