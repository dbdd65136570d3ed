//===- BackwardTurns.cpp - The order in which dQ is summed ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where gradients are to be deterministic, tiles of keys add to the sums of
// queries in one order. A few blocks of queries have a turn in common: a
// semaphore counts the tiles that have added to them, and a tile waits until
// those before it have: all of them, or, where a mask has bounds or tells
// blocks apart one by one, those that visit one of the blocks. A kernel in
// front finds how many that are, by what the kernel of keys goes by: emitBounds
// and ClassifiedWords say which blocks a tile visits, to both. A tile that no
// block sees visits one all the same, since roles visit one in any case. By
// bounds that is the first one, and its turn is counted. By kv_classify it is
// the last one, and there is no turn: all that the tile adds is 0, which
// changes no sum, and nobody need look at all of a tile's blocks to count one
// turn.
//
// Turns have blocks whose numbers follow each other, and a tile visits blocks
// in ascending or descending order. So those that it visits of a turn follow
// each other, too, and it holds one turn at a time: from the first to the last
// of them, which need be neither the turn's first nor its last one.
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

BackwardEmitter::Turn BackwardEmitter::emitTurn(const ScoreBlock &block) {
  return block.member ? emitTurnOfHeads(block) : emitTurnOfBlocks(block);
}

BackwardEmitter::Turn
BackwardEmitter::emitTurnOfBlocks(const ScoreBlock &block) {
  OpBuilder &b = kb.builder;
  Value step = kb.constant(getColumns());
  Value number = arith::DivUIOp::create(b, loc, block.query, step);
  Value blocks = kb.constant(part.turn.blocks);
  if (block.begins)
    return {block.head, arith::DivUIOp::create(b, loc, number, blocks),
            block.begins, block.ends};
  if (part.turn.blocks == 1)
    return {block.head, number, {}, {}};
  auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, predicate, x, y).getResult();
  };
  auto either = [&](Value x, Value y) {
    return arith::OrIOp::create(b, loc, x, y).getResult();
  };
  Value place = arith::RemUIOp::create(b, loc, number, blocks);
  Value end = arith::AddIOp::create(b, loc, block.query, step);
  Value isLowest =
      either(compare(arith::CmpIPredicate::eq, place, kb.constant(0)),
             compare(arith::CmpIPredicate::sle, block.query, block.lower));
  Value isHighest =
      either(compare(arith::CmpIPredicate::eq, place,
                     kb.constant(part.turn.blocks - 1)),
             compare(arith::CmpIPredicate::sge, end, block.upper));
  // Otherwise blocks are visited downwards.
  if (!followsDiagonal())
    std::swap(isLowest, isHighest);
  return {block.head, arith::DivUIOp::create(b, loc, number, blocks), isLowest,
          isHighest};
}

BackwardEmitter::Turn
BackwardEmitter::emitTurnOfHeads(const ScoreBlock &block) {
  OpBuilder &b = kb.builder;
  Value number =
      arith::DivUIOp::create(b, loc, block.query, kb.constant(getColumns()));
  if (part.turn.heads == 1)
    return {block.head, number, {}, {}};
  auto equals = [&](Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, x, y);
  };
  Value place = arith::RemUIOp::create(b, loc, block.member,
                                       kb.constant(part.turn.heads));
  Value last = arith::SubIOp::create(b, loc, group, kb.constant(1));
  Value isHighest = arith::OrIOp::create(
      b, loc, equals(place, kb.constant(part.turn.heads - 1)),
      equals(block.member, last));
  return {arith::SubIOp::create(b, loc, block.head, place), number,
          equals(place, kb.constant(0)), isHighest};
}

void BackwardEmitter::emitStartOfTurn(const ScoreBlock &block, const Turn &turn,
                                      Value part) {
  OpBuilder &b = kb.builder;
  Value tile =
      arith::DivUIOp::create(b, loc, work.row, kb.constant(getTileRows()));
  Value before;
  if (scratch.turns)
    before = memref::LoadOp::create(
        b, loc, scratchArgument(scratch.turns),
        ValueRange{work.batch, turn.head, tile, turn.number});
  else
    before = arith::IndexCastOp::create(b, loc, b.getI32Type(), tile);
  tile::SemaphoreWaitOp::create(b, loc, scratchArgument(scratch.semaphores),
                                ValueRange{work.batch, turn.head, turn.number},
                                before, turn.begins, part,
                                b.getStringAttr("turn_acquire"));
}

void BackwardEmitter::emitEndOfTurn(const ScoreBlock &block, const Turn &turn,
                                    Value part) {
  OpBuilder &b = kb.builder;
  tile::SemaphoreReleaseOp::create(
      b, loc, scratchArgument(scratch.semaphores),
      ValueRange{work.batch, turn.head, turn.number}, turn.ends, part,
      b.getStringAttr("turn_release"));
}

/// The tile's block of queries has had no turn; the first of those that have
/// one in common says so.
void BackwardEmitter::emitNoTurnsYet() {
  OpBuilder &b = kb.builder;
  Type i32 = b.getI32Type();
  RankedTensorType type = kb.tileType(getRows(), 1, i32);
  Value zero = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(cast<ShapedType>(type), int32_t(0)));
  Value row = tile::IotaOp::create(b, loc, type, /*dim=*/0);
  Value blocks = kb.constant(part.turn.blocks);
  Value number =
      arith::DivUIOp::create(b, loc, work.row, kb.constant(getRows()));
  Value place = arith::RemUIOp::create(b, loc, number, blocks);
  Value distance = arith::AddIOp::create(
      b, loc, row,
      tile::BroadcastOp::create(
          b, loc, type, arith::IndexCastOp::create(b, loc, i32, place)));
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, distance, zero);
  tile::ScatterOp::create(
      b, loc, zero, scratchArgument(scratch.semaphores),
      ValueRange{work.batch, work.head,
                 arith::DivUIOp::create(b, loc, number, blocks)},
      isFirst,
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

/// Turns of which some block sees the tile of keys at `row`, from number
/// `first` on: a word of blocks has those of some lanes, one behind the other.
FailureOr<Value> BackwardEmitter::emitTurnsThatSee(Value row,
                                                   const Bounds &bounds,
                                                   const TurnTiles &tiles,
                                                   Value first) {
  constexpr int64_t kBits = BlockWords::kBlocks;
  OpBuilder &b = kb.builder;
  ScoreBlock block;
  block.head = work.head;
  block.key = row;
  std::unique_ptr<BlockWords> words = makeWords(block, bounds, /*alignment=*/1);
  int64_t blocks = part.turn.blocks, lanesOfWord = kBits / blocks;
  Value lanes = tiles.number(kb.constant(0)), bits;
  for (int64_t word = 0; word < blocks; ++word) {
    Value number = arith::AddIOp::create(
        b, loc, arith::MulIOp::create(b, loc, first, kb.constant(blocks)),
        kb.constant(word * kBits));
    FailureOr<BlockWords::Word> found = words->emitBlocks(
        arith::IndexCastOp::create(b, loc, b.getI32Type(), number));
    if (failed(found))
      return failure();
    Value here = tiles.widen(found->visible);
    Value isOfWord = tiles.compare(arith::CmpIPredicate::sge, lanes,
                                   tiles.splat(word * lanesOfWord));
    bits = bits ? arith::SelectOp::create(b, loc, isOfWord, here, bits) : here;
  }
  Value place = tiles.compute<arith::MulIOp>(
      tiles.compute<arith::RemUIOp>(lanes, tiles.splat(lanesOfWord)),
      tiles.splat(blocks));
  Value ofTurn =
      tiles.compute<arith::AndIOp>(tiles.compute<arith::ShRUIOp>(bits, place),
                                   tiles.splat((1 << blocks) - 1));
  return tiles.compare(arith::CmpIPredicate::ne, ofTurn, tiles.splat(0));
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
  Value rows = kb.constant(part.turn.blocks * getColumns());
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
  FailureOr<Value> visits = areSingle
                                ? emitTurnsThatSee(row, *bounds, tiles, first)
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
