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
// Offsets are unchecked user data: each is clamped to the existing rows, and
// prefix sums to the number of slots that the host provides.
//
//===----------------------------------------------------------------------===//

#include "Kernel/SequenceOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

namespace {
class PackedWorkEmitter {
public:
  PackedWorkEmitter(KernelBuilder &kb, PackedOffsets offsets,
                    plan::KernelAttr plan)
      : kb(kb), b(kb.builder), loc(kb.getLoc()),
        queryOffsets(kb.operandArgument(offsets.queries)),
        keyOffsets(kb.operandArgument(offsets.keys)),
        tileM(plan.getClusterRows()) {
    if (plan->longestFirst)
      order = declareSequenceOrder(kb, offsets.queries, tileM);
  }

  PackedTile emit(Value query, Value key, tile::WorkSchedule schedule,
                  llvm::function_ref<Value(Value keys)> headsPerSection,
                  bool firstTilesFirst);

private:
  template <typename Op>
  Value compute(Value x, Value y) {
    return Op::create(b, loc, x, y);
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value emitOffset(Value offsets, Value n, Value rows);
  Value loadOrder(int64_t row, Value place);
  Value emitFirstSlot(Value place);
  Value emitSlotBound();
  void emitSearchRange();
  Value emitSearch(Value slot);
  /// Rows of sequence `n`: the first one, and their number.
  std::pair<Value, Value> emitRows(Value offsets, Value n, Value rows);
  /// Clamps a slot that comes from scratch memory to the available slots.
  Value clampSlot(Value slot);
  /// Starts the loop over items; returns their number.
  Value beginLoop(tile::WorkSchedule schedule);
  /// The sequence at `place`: its index and its rows.
  PackedTile emitSequence(Value place);
  /// The sequence's tile and the head of an item.
  std::pair<Value, Value>
  emitTileAndHead(Value item, Value place, Value keys,
                  llvm::function_ref<Value(Value keys)> headsPerSection,
                  bool firstTilesFirst);

  KernelBuilder &kb;
  OpBuilder &b;
  Location loc;
  Value queryOffsets, keyOffsets;
  int64_t tileM;
  /// The order computed by a prologue kernel; null for the caller's order.
  Value order;
  Value heads, queryRows, keyRows;
  /// Slots of the host's grid.
  Value slotBound;
  /// Number of sequences; steps of a search, and the widest of them.
  Value sequences, steps, widest;
};
} // namespace

/// An offset, clamped to `rows`.
Value PackedWorkEmitter::emitOffset(Value offsets, Value n, Value rows) {
  Value raw = memref::LoadOp::create(b, loc, offsets, n);
  Value wide = arith::IndexCastOp::create(b, loc, b.getIndexType(), raw);
  return compute<arith::MinSIOp>(compute<arith::MaxSIOp>(wide, kb.constant(0)),
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
  Value offset = emitOffset(queryOffsets, place, queryRows);
  return compute<arith::AddIOp>(
      compute<arith::DivUIOp>(offset, kb.constant(tileM)), place);
}

/// Slots of the host's grid: an upper bound of those needed.
Value PackedWorkEmitter::emitSlotBound() {
  return compute<arith::AddIOp>(
      compute<arith::DivUIOp>(queryRows, kb.constant(tileM)),
      kb.size(queryOffsets, 0));
}

/// The steps of a bisection are the powers of two from the largest one that is
/// at most the number of sequences down to 1. Its exponent is that of a float.
void PackedWorkEmitter::emitSearchRange() {
  Value one = kb.constant(1);
  Value entries = compute<arith::MaxSIOp>(kb.size(queryOffsets, 0), one);
  sequences = compute<arith::SubIOp>(entries, one);
  Type i32 = b.getI32Type();
  Value number = arith::IndexCastOp::create(b, loc, i32, entries);
  Value rounded = arith::UIToFPOp::create(b, loc, b.getF32Type(), number);
  Value bits = arith::BitcastOp::create(b, loc, i32, rounded);
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  };
  constexpr int64_t kMantissaBits = 23, kBias = 127;
  Value biased = compute<arith::ShRUIOp>(bits, constant(kMantissaBits));
  Value exponent = compute<arith::SubIOp>(biased, constant(kBias));
  widest = arith::IndexCastOp::create(
      b, loc, b.getIndexType(), compute<arith::ShLIOp>(constant(1), exponent));
  steps = compute<arith::AddIOp>(
      arith::IndexCastOp::create(b, loc, b.getIndexType(), exponent), one);
}

/// The last position whose first slot is at most `slot`.
Value PackedWorkEmitter::emitSearch(Value slot) {
  Value zero = kb.constant(0), one = kb.constant(1);
  auto loop =
      scf::ForOp::create(b, loc, zero, steps, one, ValueRange{zero, widest});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value found = loop.getRegionIterArg(0), width = loop.getRegionIterArg(1);
  Value candidate = compute<arith::AddIOp>(found, width);
  Value exists = compare(arith::CmpIPredicate::ult, candidate, sequences);
  Value first = emitFirstSlot(select(exists, candidate, zero));
  Value isBefore = compare(arith::CmpIPredicate::ule, first, slot);
  Value next =
      select(compute<arith::AndIOp>(exists, isBefore), candidate, found);
  scf::YieldOp::create(b, loc,
                       ValueRange{next, compute<arith::ShRUIOp>(width, one)});
  return loop.getResult(0);
}

std::pair<Value, Value> PackedWorkEmitter::emitRows(Value offsets, Value n,
                                                    Value rows) {
  Value begin = emitOffset(offsets, n, rows);
  Value next = compute<arith::MinUIOp>(
      compute<arith::AddIOp>(n, kb.constant(1)), sequences);
  Value end = compute<arith::MaxSIOp>(emitOffset(offsets, next, rows), begin);
  return {begin, compute<arith::SubIOp>(end, begin)};
}

Value PackedWorkEmitter::clampSlot(Value slot) {
  return order ? compute<arith::MinUIOp>(slot, slotBound) : slot;
}

Value PackedWorkEmitter::beginLoop(tile::WorkSchedule schedule) {
  emitSearchRange();
  // Prefix sums of unchecked data may have any value.
  slotBound = emitSlotBound();
  Value count =
      compute<arith::MulIOp>(clampSlot(emitFirstSlot(sequences)), heads);
  // The host's grid, with one item per CTA.
  Value bound = count;
  if (schedule == tile::WorkSchedule::Single)
    bound = compute<arith::MulIOp>(slotBound, heads);
  kb.workLoop = tile::ForeachWorkOp::create(b, loc, bound, schedule);
  b.setInsertionPointToStart(kb.workLoop.getBody());
  return count;
}

PackedTile PackedWorkEmitter::emitSequence(Value place) {
  PackedTile tile;
  tile.work.batch = order ? loadOrder(kSequences, place) : place;
  std::tie(tile.firstQuery, tile.queries) =
      emitRows(queryOffsets, tile.work.batch, queryRows);
  std::tie(tile.firstKey, tile.keys) =
      emitRows(keyOffsets, tile.work.batch, keyRows);
  return tile;
}

std::pair<Value, Value> PackedWorkEmitter::emitTileAndHead(
    Value item, Value place, Value keys,
    llvm::function_ref<Value(Value keys)> headsPerSection,
    bool firstTilesFirst) {
  Value one = kb.constant(1);
  // The sequence's slots, and the item's index among its items.
  Value first = emitFirstSlot(place);
  Value end = clampSlot(emitFirstSlot(
      compute<arith::MinUIOp>(compute<arith::AddIOp>(place, one), sequences)));
  Value slots =
      compute<arith::MaxSIOp>(compute<arith::SubIOp>(end, first), one);
  Value inside =
      compute<arith::SubIOp>(item, compute<arith::MulIOp>(first, heads));
  Value last =
      compute<arith::SubIOp>(compute<arith::MulIOp>(slots, heads), one);
  inside = compute<arith::MinSIOp>(inside, last);
  Value perSection = headsPerSection ? headsPerSection(keys) : one;
  Value lastSlot = compute<arith::SubIOp>(slots, one);
  auto [tile, head] = decodeSections(b, loc, inside, slots, heads, perSection,
                                     lastSlot, /*inTurn=*/false);
  if (firstTilesFirst)
    tile = compute<arith::SubIOp>(lastSlot, tile);
  return {tile, head};
}

PackedTile
PackedWorkEmitter::emit(Value query, Value key, tile::WorkSchedule schedule,
                        llvm::function_ref<Value(Value keys)> headsPerSection,
                        bool firstTilesFirst) {
  heads = kb.size(query, 1);
  queryRows = kb.size(query, 2);
  keyRows = kb.size(key, 2);
  Value count = beginLoop(schedule), item = kb.workLoop.getItem();
  Value place = emitSearch(compute<arith::DivUIOp>(item, heads));
  PackedTile tile = emitSequence(place);
  auto [index, head] =
      emitTileAndHead(item, place, tile.keys, headsPerSection, firstTilesFirst);
  tile.work.head = head;
  tile.work.row = compute<arith::MulIOp>(index, kb.constant(tileM));
  // The grid may have more items than there are, and a sequence one slot more
  // than it has tiles: those items have no queries and process no keys.
  Value zero = kb.constant(0);
  tile.exists = compare(arith::CmpIPredicate::ult, item, count);
  tile.queries = select(tile.exists, tile.queries, zero);
  Value hasRows =
      compare(arith::CmpIPredicate::slt, tile.work.row, tile.queries);
  tile.keys = select(hasRows, tile.keys, zero);
  return tile;
}

PackedTile
fovea::beginPackedWork(KernelBuilder &kb, Value query, Value key,
                       PackedOffsets offsets, plan::KernelAttr plan,
                       llvm::function_ref<Value(Value keys)> headsPerSection,
                       bool firstTilesFirst) {
  return PackedWorkEmitter(kb, offsets, plan)
      .emit(query, key, plan->work, headsPerSection, firstTilesFirst);
}
