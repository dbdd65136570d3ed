//===- BackwardTurns.cpp - The order in which dQ is summed ------*- C++ -*-===//
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
// many that are, by what the kernel of keys goes by: emitBounds and BlockWords
// say which blocks a tile visits, to both. A tile that no block sees visits one
// all the same, since roles visit one in any case. By bounds that is the first
// one, and its turn is counted. By BlockWords it is the last one, and there is
// no turn: all that the tile adds is 0, which changes no sum, and nobody need
// look at all of a tile's blocks to count one turn.
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

#include "BackwardEmitter.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

SmallVector<Value, 3> BackwardEmitter::emitSemaphore(const ScoreBlock &block) {
  Value number = arith::DivUIOp::create(kb.builder, loc, block.query,
                                        kb.constant(getColumns()));
  return {work.batch, block.head, number};
}

void BackwardEmitter::emitStartOfTurn(const ScoreBlock &block,
                                      ValueRange semaphore, Value part) {
  OpBuilder &b = kb.builder;
  Value tile = arith::DivUIOp::create(b, loc, work.row, kb.constant(getRows()));
  Value before;
  if (scratch.turns)
    before = memref::LoadOp::create(
        b, loc, scratchArgument(scratch.turns),
        ValueRange{semaphore[0], semaphore[1], tile, semaphore[2]});
  else
    before = arith::IndexCastOp::create(b, loc, b.getI32Type(), tile);
  tile::SemaphoreWaitOp::create(b, loc, scratchArgument(scratch.semaphores),
                                semaphore, before, block.hasTurn, part,
                                b.getStringAttr("turn_acquire"));
}

void BackwardEmitter::emitEndOfTurn(const ScoreBlock &block,
                                    ValueRange semaphore, Value part) {
  OpBuilder &b = kb.builder;
  tile::SemaphoreReleaseOp::create(b, loc, scratchArgument(scratch.semaphores),
                                   semaphore, block.hasTurn, part,
                                   b.getStringAttr("turn_release"));
}

/// The tile's block of queries has had no turn.
void BackwardEmitter::emitNoTurnsYet() {
  OpBuilder &b = kb.builder;
  RankedTensorType type = kb.tileType(getRows(), 1, b.getI32Type());
  Value zero = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(cast<ShapedType>(type), int32_t(0)));
  Value row = tile::IotaOp::create(b, loc, type, /*dim=*/0);
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, row, zero);
  Value number =
      arith::DivUIOp::create(b, loc, work.row, kb.constant(getRows()));
  tile::ScatterOp::create(b, loc, zero, scratchArgument(scratch.semaphores),
                          ValueRange{work.batch, work.head, number}, isFirst,
                          /*add=*/UnitAttr());
}

//===----------------------------------------------------------------------===//
// The kernel in front
//===----------------------------------------------------------------------===//

/// Column tiles of i32, a lane for each turn.
struct BackwardEmitter::TurnTiles {
  OpBuilder &b;
  Location loc;
  RankedTensorType type;

  Value widen(Value scalar) const {
    Value narrow = scalar;
    if (scalar.getType().isIndex())
      narrow = arith::IndexCastOp::create(b, loc, b.getI32Type(), scalar);
    return tile::BroadcastOp::create(b, loc, type, narrow);
  }
  Value splat(int32_t value) const {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(cast<ShapedType>(type), value));
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) const {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  template <typename OpTy>
  Value compute(Value x, Value y) const {
    return OpTy::create(b, loc, x, y);
  }
  /// The numbers of turns, of which lane 0 has the first.
  Value number(Value first) const {
    return compute<arith::AddIOp>(tile::IotaOp::create(b, loc, type, /*dim=*/1),
                                  widen(first));
  }
};

/// Turns within a range of queries, one block of which is visited in any case.
Value BackwardEmitter::emitTurnsWithin(const Bounds &bounds,
                                       const TurnTiles &tiles, Value starts,
                                       Value ends) {
  OpBuilder &b = kb.builder;
  Value step = kb.constant(getColumns());
  Value least = arith::AddIOp::create(b, loc, bounds.lower, step);
  Value end = arith::MaxSIOp::create(b, loc, bounds.upper, least);
  return tiles.compute<arith::AndIOp>(
      tiles.compare(arith::CmpIPredicate::sgt, ends, tiles.widen(bounds.lower)),
      tiles.compare(arith::CmpIPredicate::slt, starts, tiles.widen(end)));
}

/// Turns at blocks that see the tile of keys at `row`, from number `first` on.
/// Nobody visits those before the bounds, whatever kv_classify says of them.
FailureOr<Value> BackwardEmitter::emitTurnsThatSee(Value row,
                                                   const Bounds &bounds,
                                                   const TurnTiles &tiles,
                                                   Value first, Value ends) {
  static_assert(BlockWords::kBlocks == kTurnsOfWarp,
                "a word has a CTA's turns");
  OpBuilder &b = kb.builder;
  ScoreBlock block;
  block.head = work.head;
  block.key = row;
  FailureOr<BlockWords::Word> word =
      makeWords(block, bounds)
          ->emitBlocks(
              arith::IndexCastOp::create(b, loc, b.getI32Type(), first));
  if (failed(word))
    return failure();
  Value bit = tiles.compute<arith::AndIOp>(
      tiles.compute<arith::ShRUIOp>(tiles.widen(word->visible),
                                    tiles.number(kb.constant(0))),
      tiles.splat(1));
  return tiles.compute<arith::AndIOp>(
      tiles.compare(arith::CmpIPredicate::ne, bit, tiles.splat(0)),
      tiles.compare(arith::CmpIPredicate::sgt, ends,
                    tiles.widen(bounds.lower)));
}

/// For each tile of keys: the number of tiles before it, in the order of the
/// work, that have each of the CTA's turns, since they visit a block of it.
LogicalResult BackwardEmitter::emitTurns() {
  OpBuilder &b = kb.builder;
  emitOperands();
  Value turns = scratchArgument(scratch.turns);
  Value item =
      gpu::BlockIdOp::create(b, loc, b.getIndexType(), gpu::Dimension::x);
  Value heads = kb.size(q, 1), lanes = kb.constant(kTurnsOfWarp);
  Value groups = arith::CeilDivUIOp::create(b, loc, kb.size(turns, 3), lanes);
  Value headOfAll = arith::DivUIOp::create(b, loc, item, groups);
  work.head = arith::RemUIOp::create(b, loc, headOfAll, heads);
  work.batch = arith::DivUIOp::create(b, loc, headOfAll, heads);
  bool inOrder = visitsGroupByBlocks(op, plan);
  Value finalTiles = inOrder ? Value() : emitFinalTiles();
  if (Value length = kb.emitKeyLength(op, work.batch, keys))
    keys = length;

  TurnTiles tiles{b, loc, kb.tileType(1, kTurnsOfWarp, b.getI32Type())};
  Value group = arith::RemUIOp::create(b, loc, item, groups);
  Value first = arith::MulIOp::create(b, loc, group, lanes);
  Value numbers = tiles.number(first);
  Value rows = kb.constant(getColumns());
  Value starts = tiles.compute<arith::MulIOp>(numbers, tiles.widen(rows));
  Value ends = tiles.compute<arith::AddIOp>(starts, tiles.widen(rows));
  Value none = tiles.splat(0);
  auto loop = scf::ForOp::create(b, loc, kb.constant(0), kb.size(turns, 2),
                                 kb.constant(1), ValueRange{none});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value tile = loop.getInductionVar();
  if (!inOrder)
    tile = kb.emitShortestFirst(tile, kb.size(turns, 2), finalTiles);
  Value before = loop.getRegionIterArg(0);
  Value row = arith::MulIOp::create(b, loc, tile, kb.constant(getRows()));
  FailureOr<Bounds> bounds =
      emitBounds(op.getQueryBounds(), work.head, row, keys, queries);
  if (failed(bounds))
    return failure();
  bool areSingle = plan->classify || op.hasBlocks();
  FailureOr<Value> visits =
      areSingle ? emitTurnsThatSee(row, *bounds, tiles, first, ends)
                : emitTurnsWithin(*bounds, tiles, starts, ends);
  if (failed(visits))
    return failure();
  // A tile that no block sees looks a turn up that it does not have.
  Value written = areSingle ? Value() : *visits;
  tile::ScatterOp::create(b, loc, before, turns,
                          ValueRange{work.batch, work.head, tile, numbers},
                          written, /*add=*/UnitAttr());
  Value next = arith::AddIOp::create(
      b, loc, before, arith::ExtUIOp::create(b, loc, tiles.type, *visits));
  scf::YieldOp::create(b, loc, next);
  return success();
}
