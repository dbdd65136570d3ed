//===- DeterministicDq.cpp - The order in which dQ is summed --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where gradients are to be deterministic, tiles of keys add to the sums of
// queries in one order. A semaphore for each block of queries counts the tiles
// that have added to it, and a tile waits until those before it have: all of
// them, or, where a mask has bounds or tells blocks apart one by one, or where
// blocks are listed, those that visit the block. A kernel in front finds how
// many that are, by what the kernel of keys goes by: emitQueryRange and
// BlockBitmap say which blocks a tile visits, to both. A tile that no block sees
// visits one all the same, since roles visit one in any case. By bounds that is
// the first one, and its turn is counted. By BlockBitmap it is the last one, and
// there is no turn: all that the tile adds is 0, which changes no sum, and
// nobody need look at all of a tile's blocks to count one turn.
//
// Work is dealt out in the same order, so that a CTA waits for such only that
// run already. Of the tiles at work, the first one in that order waits for
// nobody: all before it are done. So it ends, and then the next one is the
// first; whatever blocks they visit, and in whatever order.
//
// Without a mask, and where the heads of a group follow each other, that is the
// order of the tiles' numbers. Under other masks it is chosen for those that
// look back: blocks from the diagonal on, and the tile before another one
// begins a block later than that (`ShortestFirst`), so that no one waits. The
// same is right for documents. A tile with the end of one and the begin of the
// next visits the first one's blocks first, where it is ahead of that one's
// tiles; among the second one's, which have been there by then, it is the last.
// The other way round each document would begin when the one before it has
// ended.
//
//===----------------------------------------------------------------------===//

#include "Backward/DeterministicDq.h"

#include "Backward/BackwardBlocks.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

BackwardTurn fovea::emitTurn(const BackwardKernel &kernel,
                             const QueryPlace &place, Value exists) {
  KernelBuilder &kb = kernel.kb;
  Value number = kb.make<arith::DivUIOp>(place.first,
                                         kb.constant(kernel.part.getColumns()));
  return {{kernel.tile.work.batch, place.head, number}, exists};
}

void fovea::emitStartOfTurn(const BackwardKernel &kernel,
                            const BackwardTurn &turn, Value part) {
  KernelBuilder &kb = kernel.kb;
  OpBuilder &b = kb.builder;
  const BackwardScratch &scratch = kernel.memory.scratch;
  const SmallVector<Value, 3> &semaphore = turn.semaphore;
  Value tile = kb.make<arith::DivUIOp>(kernel.tile.work.row,
                                       kb.constant(kernel.part.getRows()));
  Value before;
  if (scratch.turns)
    before = kb.make<memref::LoadOp>(
        kernel.getScratch(scratch.turns),
        ValueRange{semaphore[0], semaphore[1], tile, semaphore[2]});
  else
    before = kb.make<arith::IndexCastOp>(b.getI32Type(), tile);
  tile::SemaphoreWaitOp::create(
      b, kb.getLoc(), kernel.getScratch(scratch.semaphores), semaphore, before,
      turn.exists, part, b.getStringAttr("turn_acquire"));
}

void fovea::emitEndOfTurn(const BackwardKernel &kernel,
                          const BackwardTurn &turn, Value part) {
  OpBuilder &b = kernel.kb.builder;
  tile::SemaphoreReleaseOp::create(
      b, kernel.getLoc(), kernel.getScratch(kernel.memory.scratch.semaphores),
      turn.semaphore, turn.exists, part, b.getStringAttr("turn_release"));
}

void fovea::emitNoTurnsYet(const BackwardKernel &kernel) {
  KernelBuilder &kb = kernel.kb;
  OpBuilder &b = kb.builder;
  const KernelBuilder::Work &work = kernel.tile.work;
  int64_t rows = kernel.part.getRows();
  RankedTensorType type = kb.tileType(rows, 1, b.getI32Type());
  Value zero = kb.make<arith::ConstantOp>(
      DenseElementsAttr::get(cast<ShapedType>(type), int32_t(0)));
  Value row = kb.make<tile::IotaOp>(type, /*dim=*/0);
  Value isFirst = kb.make<arith::CmpIOp>(arith::CmpIPredicate::eq, row, zero);
  Value number = kb.make<arith::DivUIOp>(work.row, kb.constant(rows));
  tile::ScatterOp::create(b, kb.getLoc(), zero,
                          kernel.getScratch(kernel.memory.scratch.semaphores),
                          ValueRange{work.batch, work.head, number}, isFirst);
}

//===----------------------------------------------------------------------===//
// The kernel in front
//===----------------------------------------------------------------------===//

namespace {
/// Column tiles of i32, a lane for each turn.
struct TurnTiles {
  KernelBuilder &kb;
  RankedTensorType type;

  Value widen(Value scalar) const {
    Value narrow = scalar;
    if (scalar.getType().isIndex())
      narrow = kb.make<arith::IndexCastOp>(kb.builder.getI32Type(), scalar);
    return kb.make<tile::BroadcastOp>(type, narrow);
  }
  Value splat(int32_t value) const {
    return kb.make<arith::ConstantOp>(
        DenseElementsAttr::get(cast<ShapedType>(type), value));
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) const {
    return kb.make<arith::CmpIOp>(predicate, x, y);
  }
  template <typename OpTy>
  Value compute(Value x, Value y) const {
    return kb.make<OpTy>(x, y);
  }
  /// The numbers of turns, of which lane 0 has the first.
  Value number(Value first) const {
    return compute<arith::AddIOp>(kb.make<tile::IotaOp>(type, /*dim=*/1),
                                  widen(first));
  }
};

/// The turns that a lane each stands for: the number of the first one; their
/// numbers, and the queries that they have, from the start to before the end.
struct TurnLanes {
  Value first, numbers, starts, ends;
};

/// Counts the turns before those of each tile of keys, of one head.
class TurnCounter {
public:
  TurnCounter(const BackwardKernel &kernel, const TurnTiles &tiles,
              const TurnLanes &lanes)
      : kernel(kernel), kb(kernel.kb), tiles(tiles), lanes(lanes) {}

  /// `finalTiles` is null where tiles have turns in the order of their numbers.
  LogicalResult emit(Value finalTiles);

private:
  /// Whether blocks are visited one by one.
  bool areSingle() const {
    attn::BackwardOp op = kernel.op;
    return kernel.part.plan->classify || op.hasBlocks();
  }
  /// Which of the turns the tile of keys at `key` has, a column tile of i1.
  FailureOr<Value> emitTurnsOf(Value key);
  Value emitTurnsWithin(const RowRange &range);
  FailureOr<Value> emitTurnsThatSee(Value key, const RowRange &range);

  const BackwardKernel &kernel;
  KernelBuilder &kb;
  const TurnTiles &tiles;
  const TurnLanes &lanes;
};
} // namespace

/// Turns within a range of queries, one block of which is visited in any case.
Value TurnCounter::emitTurnsWithin(const RowRange &range) {
  Value step = kb.constant(kernel.part.getColumns());
  Value least = kb.make<arith::AddIOp>(range.lower, step);
  Value end = kb.make<arith::MaxSIOp>(range.upper, least);
  return tiles.compute<arith::AndIOp>(
      tiles.compare(arith::CmpIPredicate::sgt, lanes.ends,
                    tiles.widen(range.lower)),
      tiles.compare(arith::CmpIPredicate::slt, lanes.starts, tiles.widen(end)));
}

/// Turns at blocks that see the tile. Nobody visits those before the bounds,
/// whatever kv_classify says of them.
FailureOr<Value> TurnCounter::emitTurnsThatSee(Value key,
                                               const RowRange &range) {
  static_assert(BlockBitmap::kBlocks == kTurnsOfWarp,
                "a word has a CTA's turns");
  FailureOr<BlockBitmap::Word> word =
      makeQueryWords(kernel, kernel.tile.work.head, key, range)
          ->emitBlocks(kb.make<arith::IndexCastOp>(kb.builder.getI32Type(),
                                                   lanes.first));
  if (failed(word))
    return failure();
  Value bit = tiles.compute<arith::AndIOp>(
      tiles.compute<arith::ShRUIOp>(tiles.widen(word->visible),
                                    tiles.number(kb.constant(0))),
      tiles.splat(1));
  return tiles.compute<arith::AndIOp>(
      tiles.compare(arith::CmpIPredicate::ne, bit, tiles.splat(0)),
      tiles.compare(arith::CmpIPredicate::sgt, lanes.ends,
                    tiles.widen(range.lower)));
}

FailureOr<Value> TurnCounter::emitTurnsOf(Value key) {
  FailureOr<RowRange> range =
      emitQueryRange(kernel, kernel.tile.work.head, key);
  if (failed(range))
    return failure();
  return areSingle() ? emitTurnsThatSee(key, *range) : emitTurnsWithin(*range);
}

/// For each tile of keys: the number of tiles before it, in the order of the
/// work, that have each of the turns, since they visit a block of it.
LogicalResult TurnCounter::emit(Value finalTiles) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  Value turns = kernel.getScratch(kernel.memory.scratch.turns);
  Value none = tiles.splat(0);
  auto loop = scf::ForOp::create(b, loc, kb.constant(0), kb.size(turns, 2),
                                 kb.constant(1), ValueRange{none});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value tile = loop.getInductionVar();
  if (finalTiles)
    tile = kb.emitShortestFirst(tile, kb.size(turns, 2), finalTiles);
  Value before = loop.getRegionIterArg(0);
  Value key = kb.make<arith::MulIOp>(tile, kb.constant(kernel.part.getRows()));
  FailureOr<Value> visits = emitTurnsOf(key);
  if (failed(visits))
    return failure();
  // A tile that no block sees looks a turn up that it does not have.
  Value written = areSingle() ? Value() : *visits;
  const KernelBuilder::Work &work = kernel.tile.work;
  tile::ScatterOp::create(
      b, loc, before, turns,
      ValueRange{work.batch, work.head, tile, lanes.numbers}, written);
  Value next = kb.make<arith::AddIOp>(
      before, kb.make<arith::ExtUIOp>(tiles.type, *visits));
  scf::YieldOp::create(b, loc, next);
  return success();
}

/// A CTA has a head, and `kTurnsOfWarp` turns.
LogicalResult fovea::emitTurns(KernelBuilder &kb, attn::BackwardOp op,
                               const BackwardKernelPlan &part,
                               const BackwardScratch &memory) {
  BackwardArguments arguments = BackwardArguments::of(kb, op);
  Value q = arguments.q;
  BackwardTile tile;
  tile.queries = kb.size(q, 2);
  tile.keys = kb.size(arguments.k, 2);
  Value turns = kb.kernel.getArgument(*memory.scratch.turns);
  Value item =
      kb.make<gpu::BlockIdOp>(kb.builder.getIndexType(), gpu::Dimension::x);
  Value heads = kb.size(q, 1), perGroup = kb.constant(kTurnsOfWarp);
  Value groups = kb.make<arith::CeilDivUIOp>(kb.size(turns, 3), perGroup);
  Value headOfAll = kb.make<arith::DivUIOp>(item, groups);
  tile.work.head = kb.make<arith::RemUIOp>(headOfAll, heads);
  tile.work.batch = kb.make<arith::DivUIOp>(headOfAll, heads);
  Value finalTiles =
      part.visitsGroups ? Value() : emitFinalTiles(kb, part, tile.keys);
  if (Value length = kb.emitKeyLength(op, tile.work.batch, tile.keys))
    tile.keys = length;

  BackwardKernel kernel{kb, op, part, memory, std::move(arguments), tile};
  TurnTiles tiles{kb, kb.tileType(1, kTurnsOfWarp, kb.builder.getI32Type())};
  Value group = kb.make<arith::RemUIOp>(item, groups);
  TurnLanes lanes;
  lanes.first = kb.make<arith::MulIOp>(group, perGroup);
  lanes.numbers = tiles.number(lanes.first);
  Value rows = kb.constant(part.getColumns());
  lanes.starts = tiles.compute<arith::MulIOp>(lanes.numbers, tiles.widen(rows));
  lanes.ends = tiles.compute<arith::AddIOp>(lanes.starts, tiles.widen(rows));
  return TurnCounter(kernel, tiles, lanes).emit(finalTiles);
}
