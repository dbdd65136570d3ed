//===- DeterministicDq.cpp - Ordered accumulation of dQ -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deterministic gradients: key tiles add to each query block's dq_accum in a
// fixed order. A semaphore per query block counts the tiles that have added to
// it, and a tile waits until all tiles before it have.
//
// Slots: without bounds, kv_classify or block-sparse lists each tile adds to
// all blocks, and its slot is its index. Otherwise only tiles that process a
// block have a slot there, and a prologue kernel counts them. Both kernels
// use emitQueryRange and BlockBitmap, so they agree. A key tile with no
// visible query block still runs one iteration, because specialized loops run
// at least once. With bounds that is the first block of the range, where the
// tile has a slot. With BlockBitmap it is the last block, without a slot: the
// tile adds only zeros, and counting a slot does not need all blocks of each
// tile.
//
// Progress: work items are handed out in slot order, so a CTA waits only for
// CTAs that have already started. The first running tile in that order waits
// for none, whichever blocks the tiles process. So there is no deadlock.
//
// Order: without a mask, and if the heads of a group are interleaved
// (GqaBlockOrder.cpp), tiles are ordered by index. For other masks the order is
// `ShortestFirst`, which suits causal masks: a tile starts at its first visible
// block, and the tile before it in the order starts a block later, so no tile
// waits. It also suits document masks: a tile that spans two documents
// processes the first document's blocks before the tiles of that document, and
// is last at the second document's blocks, where the others have been. The
// opposite order would process one document after the other.
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

SemaphoreSlot fovea::makeSemaphoreSlot(const BackwardKernel &kernel,
                                       const QueryPlace &place, Value exists) {
  KernelBuilder &kb = kernel.kb;
  Value number = kb.make<arith::DivUIOp>(place.first,
                                         kb.constant(kernel.part.getColumns()));
  return {{kernel.tile.work.batch, place.head, number}, exists};
}

void fovea::emitSemaphoreWait(const BackwardKernel &kernel,
                              const SemaphoreSlot &slot, Value part) {
  KernelBuilder &kb = kernel.kb;
  OpBuilder &b = kb.builder;
  const ScratchArguments &scratch = kernel.memory.scratch;
  const SmallVector<Value, 3> &semaphore = slot.semaphore;
  Value tile = kb.make<arith::DivUIOp>(kernel.tile.work.row,
                                       kb.constant(kernel.part.getRows()));
  Value before;
  if (scratch.slots)
    before = kb.make<memref::LoadOp>(
        kernel.getScratch(scratch.slots),
        ValueRange{semaphore[0], semaphore[1], tile, semaphore[2]});
  else
    before = kb.make<arith::IndexCastOp>(b.getI32Type(), tile);
  tile::SemaphoreWaitOp::create(
      b, kb.getLoc(), kernel.getScratch(scratch.semaphores), semaphore, before,
      slot.exists, part, b.getStringAttr("turn_acquire"));
}

void fovea::emitSemaphoreRelease(const BackwardKernel &kernel,
                                 const SemaphoreSlot &slot, Value part) {
  OpBuilder &b = kernel.kb.builder;
  tile::SemaphoreReleaseOp::create(
      b, kernel.getLoc(), kernel.getScratch(kernel.memory.scratch.semaphores),
      slot.semaphore, slot.exists, part, b.getStringAttr("turn_release"));
}

void fovea::zeroSemaphores(const BackwardKernel &kernel) {
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
// The kernel that counts slots
//===----------------------------------------------------------------------===//

namespace {
/// Column tiles of i32 with one slot per lane.
struct SlotTiles {
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
  /// Indices of slots: lane 0 has `first`.
  Value number(Value first) const {
    return compute<arith::AddIOp>(kb.make<tile::IotaOp>(type, /*dim=*/1),
                                  widen(first));
  }
};

/// The slots of the lanes: index of the first, indices of all, and the query
/// ranges that they cover, end exclusive.
struct SlotLanes {
  Value first, numbers, starts, ends;
};

/// Counts, for each key tile of a head, the tiles before it per slot.
class SlotCounter {
public:
  SlotCounter(const BackwardKernel &kernel, const SlotTiles &tiles,
              const SlotLanes &lanes)
      : kernel(kernel), kb(kernel.kb), tiles(tiles), lanes(lanes) {}

  /// `finalTiles` is null if slots are in the order of tile indices.
  LogicalResult emit(Value finalTiles);

private:
  /// True if blocks are selected one by one.
  bool areSingle() const {
    attn::BackwardOp op = kernel.op;
    return kernel.part.plan->classify || op.hasBlocks();
  }
  /// True for the slots that the key tile at `key` has, a column tile of i1.
  FailureOr<Value> emitSlotsOf(Value key);
  Value emitSlotsInRange(const RowRange &range);
  FailureOr<Value> emitSlotsInBitmap(Value key, const RowRange &range);

  const BackwardKernel &kernel;
  KernelBuilder &kb;
  const SlotTiles &tiles;
  const SlotLanes &lanes;
};
} // namespace

/// Slots within a range of queries; at least one block of it is processed.
Value SlotCounter::emitSlotsInRange(const RowRange &range) {
  Value step = kb.constant(kernel.part.getColumns());
  Value least = kb.make<arith::AddIOp>(range.lower, step);
  Value end = kb.make<arith::MaxSIOp>(range.upper, least);
  return tiles.compute<arith::AndIOp>(
      tiles.compare(arith::CmpIPredicate::sgt, lanes.ends,
                    tiles.widen(range.lower)),
      tiles.compare(arith::CmpIPredicate::slt, lanes.starts, tiles.widen(end)));
}

/// Slots at blocks that see the tile. Blocks before the bounds are never
/// processed, whatever kv_classify says.
FailureOr<Value> SlotCounter::emitSlotsInBitmap(Value key,
                                                const RowRange &range) {
  static_assert(BlockBitmap::kBlocks == kSlotsPerCta,
                "a bitmap word covers a CTA's slots");
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

FailureOr<Value> SlotCounter::emitSlotsOf(Value key) {
  FailureOr<RowRange> range =
      emitQueryRange(kernel, kernel.tile.work.head, key);
  if (failed(range))
    return failure();
  return areSingle() ? emitSlotsInBitmap(key, *range)
                     : emitSlotsInRange(*range);
}

/// Stores, for each key tile, the number of tiles before it in work order that
/// process a block of each slot.
LogicalResult SlotCounter::emit(Value finalTiles) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  Value slots = kernel.getScratch(kernel.memory.scratch.slots);
  Value none = tiles.splat(0);
  auto loop = scf::ForOp::create(b, loc, kb.constant(0), kb.size(slots, 2),
                                 kb.constant(1), ValueRange{none});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value tile = loop.getInductionVar();
  if (finalTiles)
    tile = kb.emitShortestFirst(tile, kb.size(slots, 2), finalTiles);
  Value before = loop.getRegionIterArg(0);
  Value key = kb.make<arith::MulIOp>(tile, kb.constant(kernel.part.getRows()));
  FailureOr<Value> visits = emitSlotsOf(key);
  if (failed(visits))
    return failure();
  // A tile that no block sees reads a slot that it does not have.
  Value written = areSingle() ? Value() : *visits;
  const KernelBuilder::Work &work = kernel.tile.work;
  tile::ScatterOp::create(
      b, loc, before, slots,
      ValueRange{work.batch, work.head, tile, lanes.numbers}, written);
  Value next = kb.make<arith::AddIOp>(
      before, kb.make<arith::ExtUIOp>(tiles.type, *visits));
  scf::YieldOp::create(b, loc, next);
  return success();
}

/// Each CTA processes `kSlotsPerCta` slots of one head.
LogicalResult fovea::emitSlotCounts(KernelBuilder &kb, attn::BackwardOp op,
                                    const BackwardKernelPlan &part,
                                    const BackwardScratch &memory) {
  BackwardArguments arguments = BackwardArguments::of(kb, op);
  Value q = arguments.q;
  BackwardTile tile;
  tile.queries = kb.size(q, 2);
  tile.keys = kb.size(arguments.k, 2);
  Value slots = kb.kernel.getArgument(*memory.scratch.slots);
  Value item =
      kb.make<gpu::BlockIdOp>(kb.builder.getIndexType(), gpu::Dimension::x);
  Value heads = kb.size(q, 1), perGroup = kb.constant(kSlotsPerCta);
  Value groups = kb.make<arith::CeilDivUIOp>(kb.size(slots, 3), perGroup);
  Value headOfAll = kb.make<arith::DivUIOp>(item, groups);
  tile.work.head = kb.make<arith::RemUIOp>(headOfAll, heads);
  tile.work.batch = kb.make<arith::DivUIOp>(headOfAll, heads);
  Value finalTiles =
      part.visitsGroups ? Value() : emitFinalTiles(kb, part, tile.keys);
  if (Value length = kb.emitKeyLength(op, tile.work.batch, tile.keys))
    tile.keys = length;

  BackwardKernel kernel{kb, op, part, memory, std::move(arguments), tile};
  SlotTiles tiles{kb, kb.tileType(1, kSlotsPerCta, kb.builder.getI32Type())};
  Value group = kb.make<arith::RemUIOp>(item, groups);
  SlotLanes lanes;
  lanes.first = kb.make<arith::MulIOp>(group, perGroup);
  lanes.numbers = tiles.number(lanes.first);
  Value rows = kb.constant(part.getColumns());
  lanes.starts = tiles.compute<arith::MulIOp>(lanes.numbers, tiles.widen(rows));
  lanes.ends = tiles.compute<arith::AddIOp>(lanes.starts, tiles.widen(rows));
  return SlotCounter(kernel, tiles, lanes).emit(finalTiles);
}
