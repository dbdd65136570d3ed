//===- PackedSequences.cpp - Tiles of packed sequences --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only the device knows the length of each packed sequence. In the caller's
// order sequence n has the slots from s(n) = cu_q[n] / tile_m + n up to s(n +
// 1): as many as it has tiles, or one more. s ascends and depends on one
// offset, so an item finds its sequence by bisection, without a list of tiles.
// With an order from a prologue kernel s is a prefix sum in scratch memory,
// next to the sequence at each position, and the same bisection finds a
// position.
//
// A loop over shares has the sequences as groups, which count their own tiles.
//
// Offsets are unchecked user data: each is clamped to the existing rows, and
// prefix sums to the number of slots that the host provides.
//
//===----------------------------------------------------------------------===//

#include "Kernel/PackedSequences.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

PackedWorkEmitter::PackedWorkEmitter(KernelBuilder &kb, const PackedWork &work,
                                     plan::KernelAttr plan)
    : kb(kb), b(kb.builder), loc(kb.getLoc()), work(work), schedule(plan->work),
      offsets(kb.operandArgument(work.offsets)), tileM(plan.getClusterRows()) {
  if (plan->longestFirst)
    order = declareSequenceOrder(kb, work, tileM);
  queryRows = kb.size(work.queries, 2);
}

Value PackedWorkEmitter::compare(arith::CmpIPredicate predicate, Value x,
                                 Value y) {
  return arith::CmpIOp::create(b, loc, predicate, x, y);
}

Value PackedWorkEmitter::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, loc, condition, x, y);
}

/// An offset, clamped to `rows`.
static Value emitOffset(KernelBuilder &kb, Value offsets, Value n, Value rows) {
  Value raw = kb.make<memref::LoadOp>(offsets, n);
  Value wide = kb.make<arith::IndexCastOp>(kb.builder.getIndexType(), raw);
  return kb.make<arith::MinSIOp>(kb.make<arith::MaxSIOp>(wide, kb.constant(0)),
                                 rows);
}

Value PackedWorkEmitter::loadOrder(int64_t row, Value place) {
  Value found = memref::LoadOp::create(b, loc, order,
                                       ValueRange{kb.constant(row), place});
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), found);
}

/// First slot of the sequence at `place`.
Value PackedWorkEmitter::emitFirstSlot(Value place) {
  if (order)
    return loadOrder(kFirstSlots, place);
  Value offset = emitOffset(kb, offsets, place, queryRows);
  if (work.rowsPerQuery != 1)
    offset = kb.make<arith::MulIOp>(offset, kb.constant(work.rowsPerQuery));
  return kb.make<arith::AddIOp>(
      kb.make<arith::DivUIOp>(offset, kb.constant(tileM)), place);
}

/// Slots of the host's grid: an upper bound of those needed.
Value PackedWorkEmitter::emitSlotBound() {
  Value rows = queryRows;
  if (work.rowsPerQuery != 1)
    rows = kb.make<arith::MulIOp>(rows, kb.constant(work.rowsPerQuery));
  return kb.make<arith::AddIOp>(
      kb.make<arith::DivUIOp>(rows, kb.constant(tileM)), kb.size(offsets, 0));
}

/// The steps of a bisection are the powers of two from the largest one that is
/// at most the number of sequences down to 1. Its exponent is that of a float.
void PackedWorkEmitter::emitSearchRange() {
  Value one = kb.constant(1);
  Value candidates = kb.make<arith::AddIOp>(sequences, one);
  Type i32 = b.getI32Type();
  Value number = arith::IndexCastOp::create(b, loc, i32, candidates);
  Value rounded = arith::UIToFPOp::create(b, loc, b.getF32Type(), number);
  Value bits = arith::BitcastOp::create(b, loc, i32, rounded);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  };
  constexpr int64_t kMantissaBits = 23, kBias = 127;
  Value biased = kb.make<arith::ShRUIOp>(bits, constant(kMantissaBits));
  Value exponent = kb.make<arith::SubIOp>(biased, constant(kBias));
  widest = arith::IndexCastOp::create(
      b, loc, b.getIndexType(), kb.make<arith::ShLIOp>(constant(1), exponent));
  steps = kb.make<arith::AddIOp>(
      arith::IndexCastOp::create(b, loc, b.getIndexType(), exponent), one);
}

void PackedWorkEmitter::countSequences() {
  Value one = kb.constant(1);
  Value entries = kb.make<arith::MaxSIOp>(kb.size(offsets, 0), one);
  sequences = kb.make<arith::SubIOp>(entries, one);
}

/// The last position whose first slot is at most `slot`.
Value PackedWorkEmitter::emitSearch(Value slot) {
  Value zero = kb.constant(0), one = kb.constant(1);
  auto loop =
      scf::ForOp::create(b, loc, zero, steps, one, ValueRange{zero, widest});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value found = loop.getRegionIterArg(0), width = loop.getRegionIterArg(1);
  Value candidate = kb.make<arith::AddIOp>(found, width);
  Value exists = compare(arith::CmpIPredicate::ult, candidate, sequences);
  Value first = emitFirstSlot(select(exists, candidate, zero));
  Value isBefore = compare(arith::CmpIPredicate::ule, first, slot);
  Value next =
      select(kb.make<arith::AndIOp>(exists, isBefore), candidate, found);
  scf::YieldOp::create(b, loc,
                       ValueRange{next, kb.make<arith::ShRUIOp>(width, one)});
  return loop.getResult(0);
}

SequenceRows fovea::emitPackedRows(KernelBuilder &kb, Value offsets, Value n,
                                   Value rows) {
  Value one = kb.constant(1);
  Value entries = kb.make<arith::MaxSIOp>(kb.size(offsets, 0), one);
  Value last = kb.make<arith::SubIOp>(entries, one);
  Value begin = emitOffset(kb, offsets, n, rows);
  Value next = kb.make<arith::MinUIOp>(kb.make<arith::AddIOp>(n, one), last);
  Value end =
      kb.make<arith::MaxSIOp>(emitOffset(kb, offsets, next, rows), begin);
  return {begin, kb.make<arith::SubIOp>(end, begin)};
}

Value PackedWorkEmitter::clampSlot(Value slot) {
  return order ? kb.make<arith::MinUIOp>(slot, slotBound) : slot;
}

Value PackedWorkEmitter::beginLoop() {
  countSequences();
  emitSearchRange();
  // Prefix sums of unchecked data may have any value.
  slotBound = emitSlotBound();
  Value count =
      kb.make<arith::MulIOp>(clampSlot(emitFirstSlot(sequences)), work.heads);
  // The host's grid, with one item per CTA.
  Value bound = count;
  if (schedule == tile::WorkSchedule::Single)
    bound = kb.make<arith::MulIOp>(slotBound, work.heads);
  kb.workLoop = tile::ForeachWorkOp::create(b, loc, bound, schedule);
  b.setInsertionPointToStart(kb.workLoop.getBody());
  return count;
}

PackedTile PackedWorkEmitter::emitSequence(Value place, LocateKeys locateKeys) {
  PackedTile tile;
  tile.work.batch = order ? loadOrder(kSequences, place) : place;
  tile.queries = emitPackedRows(kb, offsets, tile.work.batch, queryRows);
  tile.keys = locateKeys(tile.work.batch);
  return tile;
}

std::pair<Value, Value>
PackedWorkEmitter::emitTileAndHead(Value item, Value place, Value keys,
                                   HeadsPerSection headsPerSection,
                                   bool firstTilesFirst) {
  Value one = kb.constant(1);
  // The sequence's slots, and the item's index among its items.
  Value first = emitFirstSlot(place);
  Value end = clampSlot(emitFirstSlot(
      kb.make<arith::MinUIOp>(kb.make<arith::AddIOp>(place, one), sequences)));
  Value slots =
      kb.make<arith::MaxSIOp>(kb.make<arith::SubIOp>(end, first), one);
  Value inside =
      kb.make<arith::SubIOp>(item, kb.make<arith::MulIOp>(first, work.heads));
  Value last =
      kb.make<arith::SubIOp>(kb.make<arith::MulIOp>(slots, work.heads), one);
  inside = kb.make<arith::MinSIOp>(inside, last);
  Value perSection = headsPerSection ? headsPerSection(keys) : one;
  Value lastSlot = kb.make<arith::SubIOp>(slots, one);
  auto [tile, head] = decodeSections(b, loc, inside, slots, work.heads,
                                     perSection, lastSlot, /*inTurn=*/false);
  if (firstTilesFirst)
    tile = kb.make<arith::SubIOp>(lastSlot, tile);
  return {tile, head};
}

void PackedWorkEmitter::clip(PackedTile &tile) {
  Value zero = kb.constant(0), &queries = tile.queries.count;
  if (tile.exists)
    queries = select(tile.exists, queries, zero);
  Value rows = queries;
  if (work.rowsPerQuery != 1)
    rows = kb.make<arith::MulIOp>(rows, kb.constant(work.rowsPerQuery));
  Value hasRows = compare(arith::CmpIPredicate::slt, tile.work.row, rows);
  tile.keys.count = select(hasRows, tile.keys.count, zero);
}

PackedTile PackedWorkEmitter::begin(LocateKeys locateKeys,
                                    HeadsPerSection headsPerSection,
                                    bool firstTilesFirst) {
  Value count = beginLoop(), item = kb.workLoop.getItem();
  Value place = emitSearch(kb.make<arith::DivUIOp>(item, work.heads));
  PackedTile tile = emitSequence(place, locateKeys);
  auto [index, head] = emitTileAndHead(item, place, tile.keys.count,
                                       headsPerSection, firstTilesFirst);
  tile.work.head = head;
  tile.work.row = kb.make<arith::MulIOp>(index, kb.constant(tileM));
  // The grid may have more items than there are, and a sequence one slot more
  // than it has tiles: those items have no queries and process no keys.
  tile.exists = compare(arith::CmpIPredicate::ult, item, count);
  clip(tile);
  return tile;
}

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

Value PackedWorkEmitter::countShared() {
  countSequences();
  return kb.make<arith::MulIOp>(sequences, work.heads);
}

Value PackedWorkEmitter::countTiles(Value sequence) {
  SequenceRows rows = emitPackedRows(kb, offsets, sequence, queryRows);
  Value count = rows.count;
  if (work.rowsPerQuery != 1)
    count = kb.make<arith::MulIOp>(count, kb.constant(work.rowsPerQuery));
  // A sequence without queries has a tile without rows.
  return kb.make<arith::MaxUIOp>(
      kb.make<arith::CeilDivUIOp>(count, kb.constant(tileM)), kb.constant(1));
}

PackedTile PackedWorkEmitter::describe(Value sequence, Value head, Value index,
                                       LocateKeys locateKeys) {
  PackedTile tile = emitSequence(sequence, locateKeys);
  tile.work.head = head;
  tile.work.row = kb.make<arith::MulIOp>(index, kb.constant(tileM));
  clip(tile);
  return tile;
}
