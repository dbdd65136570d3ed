//===- BackwardKernel.cpp - State of a backward kernel --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backward/BackwardKernel.h"

#include "Backward/BackwardPlan.h"
#include "Kernel/PackedSequences.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fovea;

/// Operand indices of attn.backward.
enum BackwardOperand : unsigned {
  kQ,
  kK,
  kV,
  kO,
  kLse,
  kOutputGradient,
  kLseGradient
};

BackwardArguments BackwardArguments::of(KernelBuilder &kb,
                                        attn::BackwardOp op) {
  return {kb.operandArgument(kQ),
          kb.operandArgument(kK),
          kb.operandArgument(kV),
          kb.operandArgument(kO),
          kb.operandArgument(kLse),
          kb.operandArgument(kOutputGradient),
          op.getLseGradient() ? kb.operandArgument(kLseGradient) : Value(),
          kb.captureArguments(op)};
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

namespace {
/// Emits the start of the loop over tiles.
class BackwardTileEmitter {
public:
  BackwardTileEmitter(KernelBuilder &kb, attn::BackwardOp op,
                      const BackwardKernelPlan &part,
                      const ScratchArguments &scratch,
                      const BackwardArguments &arguments)
      : kb(kb), op(op), part(part), scratch(scratch), q(arguments.q),
        k(arguments.k) {}

  BackwardTile emit();

private:
  /// A work item, and the first row of its sequence in scratch memory.
  struct ScratchPlace {
    KernelBuilder::Work work;
    Value first;
  };
  Value emitHeadsPerSection(Value queries, Value keys, Value group);
  /// Tile of a sequence that is a batch entry, or of a packed sequence.
  BackwardTile emitBatchEntry(Value queries, Value keys, Value group);
  BackwardTile emitPackedSequence();
  /// Scratch position of a packed sequence's tile.
  ScratchPlace emitScratchPlace(const PackedTile &tile);
  /// Clamps the head: offsets are unchecked user data and may yield any index.
  Value limitHead(Value head, Value heads);

  KernelBuilder &kb;
  attn::BackwardOp op;
  const BackwardKernelPlan &part;
  const ScratchArguments &scratch;
  Value q, k;
};
} // namespace

// Key tiles with at least this many keys count as large: fewer of them run on
// one head at a time.
static constexpr int64_t kManyKeys = 128;

/// True if the mask depends on tensor data.
static bool masksByTensors(attn::BackwardOp op) {
  auto stop = [](tensor::ExtractOp) { return WalkResult::interrupt(); };
  return op.hasBlocks() || op.getMaskMod().walk(stop).wasInterrupted();
}

/// Number of key heads per L2 section: as many as keep their Q, dO and dq_accum
/// rows in L2. At least `kFewestHeads`, because CTAs on one head wait for each
/// other and the section ends with its longest tile. Exceptions:
/// - `visitsGroups`: as many heads as have two tiles per SM
///   (GqaBlockOrder.cpp).
/// - `beginsApart` with large tiles: half as many, because ordered adds stall
///   on accumulators that were evicted from L2.
/// - A mask from tensors without ordered accumulation: twice as many, because
///   tile costs follow no known order.
Value BackwardTileEmitter::emitHeadsPerSection(Value queries, Value keys,
                                               Value group) {
  constexpr int64_t kSumBytes = 4, kFewestHeads = 4, kFewestTiles = 128;
  auto atLeast = [&](Value value, int64_t least) -> Value {
    return kb.make<arith::MaxUIOp>(value, kb.constant(least));
  };
  auto divide = [&](int64_t value, Value by) -> Value {
    return kb.make<arith::DivUIOp>(kb.constant(value), atLeast(by, 1));
  };
  Value tiles =
      kb.make<arith::CeilDivUIOp>(keys, kb.constant(part.getTileRows()));
  Value all = atLeast(kb.make<arith::MulIOp>(kb.size(k, 0), kb.size(k, 1)), 1);
  if (part.visitsGroups)
    return kb.make<arith::MinUIOp>(
        atLeast(divide(2 * kb.target->multiprocessors, tiles), 1), all);
  int64_t elementBytes = op.getQueryType().getElementTypeBitWidth() / 8;
  int64_t rowBytes = (part.headDim + part.valueHeadDim) * elementBytes +
                     part.headDim * kSumBytes;
  int64_t fitting = kb.target->sharedInL2 / rowBytes;
  if (part.beginsApart && part.getTileRows() >= kManyKeys)
    fitting /= 2;
  if (!part.ordersSums() && masksByTensors(op))
    fitting *= 2;
  Value fit =
      divide(fitting, kb.make<arith::MulIOp>(atLeast(queries, 1), group));
  Value few = kb.constant(kFewestHeads);
  // Tiles that begin apart need no concurrent tiles of other heads; the minimum
  // only has to give each CTA a tile.
  if (part.beginsApart)
    few = atLeast(divide(kFewestTiles, tiles), 1);
  return kb.make<arith::MinUIOp>(kb.make<arith::MaxUIOp>(fit, few), all);
}

/// A quarter of the tiles, which is a sixteenth of the work under a causal
/// mask. Small tiles follow each other more closely: a sixteenth of the tiles.
Value fovea::emitFinalTiles(KernelBuilder &kb, const BackwardKernelPlan &part,
                            Value keys) {
  Value tiles =
      kb.make<arith::CeilDivUIOp>(keys, kb.constant(part.getTileRows()));
  int64_t parts = part.getTileRows() >= kManyKeys ? 4 : 16;
  return kb.make<arith::DivUIOp>(tiles, kb.constant(parts));
}

BackwardTile BackwardTileEmitter::emitBatchEntry(Value queries, Value keys,
                                                 Value group) {
  bool ofQueries = part.hasQueryTiles();
  KernelBuilder::WorkOrder order;
  order.schedule = part.plan->work;
  // Under a causal mask the first keys are seen by the most queries.
  if (!ofQueries)
    order.tiles = KernelBuilder::TileOrder::FirstFirst;
  // The keys kernel processes heads in ascending order. The preprocess and
  // postprocess kernels use descending order, so that each kernel starts with
  // the heads that the previous one left in L2.
  order.lastItemsFirst =
      scratch.dqAccum && (part.kind == BackwardKernelPlan::Delta ||
                          part.kind == BackwardKernelPlan::Round);
  // Tiles with ordered accumulation on one head should not run concurrently.
  if (!ofQueries && (mayHideKeys(op) || part.ordersSums()))
    order.headsPerSection = emitHeadsPerSection(queries, keys, group);
  if (part.followsDiagonal) {
    order.tiles = KernelBuilder::TileOrder::ShortestFirst;
    order.finalTiles = emitFinalTiles(kb, part, keys);
  }
  Value rows = ofQueries ? queries : keys;
  if (part.fillsFragments())
    rows = kb.make<arith::MaxUIOp>(rows, kb.constant(1));
  BackwardTile tile;
  tile.work = kb.beginWork(kb.size(q, 0), kb.size(ofQueries ? q : k, 1), rows,
                           part.getTileRows(), order);
  tile.memoryBatch = tile.work.batch;
  tile.queries = queries;
  tile.keys = keys;
  if (Value length = kb.emitKeyLength(op, tile.work.batch, keys))
    tile.keyLimit = tile.keys = length;
  return tile;
}

BackwardTile BackwardTileEmitter::emitPackedSequence() {
  unsigned first = op.getSequenceOperands().getBeginOperandIndex();
  bool ofQueries = part.hasQueryTiles();
  unsigned own = first + !ofQueries, other = first + ofQueries;
  Value tiled = ofQueries ? q : k;
  PackedWork work = {own, tiled, kb.size(tiled, 1)};
  work.keys = other;
  PackedWorkEmitter emitter(kb, work, part.plan);
  Value otherRows = kb.size(ofQueries ? k : q, 2);
  auto locate = [&](Value n) {
    return emitPackedRows(kb, kb.operandArgument(other), n, otherRows);
  };
  // Under a causal mask the first keys are seen by the most queries.
  PackedTile packed =
      emitter.begin(locate, /*headsPerSection=*/{},
                    /*firstTilesFirst=*/scratch.dqAccum && !ofQueries);
  if (!ofQueries)
    std::swap(packed.queries, packed.keys);
  const SequenceRows &queries = packed.queries, &keys = packed.keys;
  BackwardTile tile;
  tile.work = packed.work;
  tile.memoryBatch = kb.constant(0);
  tile.queries = queries.count;
  tile.keys = keys.count;
  tile.firstQuery = queries.first;
  tile.firstKey = keys.first;
  tile.queryLimit = kb.make<arith::AddIOp>(queries.first, queries.count);
  tile.keyLimit = kb.make<arith::AddIOp>(keys.first, keys.count);
  if (scratch.dqAccum) {
    ScratchPlace place = emitScratchPlace(packed);
    tile.work = place.work;
    tile.firstScratch = place.first;
  }
  return tile;
}

Value BackwardTileEmitter::limitHead(Value head, Value heads) {
  return kb.make<arith::MinUIOp>(head,
                                 kb.make<arith::SubIOp>(heads, kb.constant(1)));
}

/// Each packed sequence has its own query blocks in scratch memory. The number
/// of whole blocks before the sequence plus one per earlier sequence is an
/// upper bound of the blocks before it.
BackwardTileEmitter::ScratchPlace
BackwardTileEmitter::emitScratchPlace(const PackedTile &tile) {
  bool ofQueries = part.hasQueryTiles();
  Value block = kb.constant(part.countQueries());
  auto countBlocks = [&](Value rows, Value sequences) -> Value {
    return kb.make<arith::AddIOp>(kb.make<arith::DivUIOp>(rows, block),
                                  sequences);
  };
  Value heads = kb.size(ofQueries ? q : k, 1);
  KernelBuilder::Work work = tile.work;
  work.head = limitHead(work.head, heads);
  Value number = countBlocks(tile.queries.first, work.batch);
  if (!ofQueries)
    return {work, kb.make<arith::MulIOp>(number, block)};
  // An item past the end gets an unused block after all others.
  Value item = kb.workLoop.getItem();
  auto choose = [&](Value yes, Value no) -> Value {
    return kb.make<arith::SelectOp>(tile.exists, yes, no);
  };
  number = choose(number, kb.make<arith::DivUIOp>(item, heads));
  work.head = choose(work.head, kb.make<arith::RemUIOp>(item, heads));
  work.row = choose(work.row, kb.constant(0));
  work.head = limitHead(work.head, heads);
  unsigned offsets = op.getSequenceOperands().getBeginOperandIndex();
  Value last =
      countBlocks(kb.size(q, 2),
                  kb.make<arith::SubIOp>(
                      kb.size(kb.operandArgument(offsets), 0), kb.constant(1)));
  Value first = kb.make<arith::MulIOp>(number, block);
  Value end = kb.make<arith::MulIOp>(last, block);
  // Keeps the row within the scratch memory.
  work.row =
      kb.make<arith::MinUIOp>(work.row, kb.make<arith::SubIOp>(end, first));
  return {work, first};
}

BackwardTile BackwardTileEmitter::emit() {
  // Tile-invariant values precede the loop over tiles.
  Value queries = kb.size(q, 2), keys = kb.size(k, 2);
  Value group = kb.make<arith::DivUIOp>(kb.size(q, 1), kb.size(k, 1));
  BackwardTile tile = op.getSequence().getPlaces().packsKeys()
                          ? emitPackedSequence()
                          : emitBatchEntry(queries, keys, group);
  tile.group = group;
  tile.keyHead = tile.work.head;
  if (part.hasQueryTiles())
    tile.keyHead = kb.make<arith::DivUIOp>(tile.work.head, group);
  return tile;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

BackwardKernel BackwardKernel::begin(KernelBuilder &kb, attn::BackwardOp op,
                                     const BackwardKernelPlan &part,
                                     const BackwardScratch &memory) {
  BackwardArguments arguments = BackwardArguments::of(kb, op);
  BackwardTile tile =
      BackwardTileEmitter(kb, op, part, memory.scratch, arguments).emit();
  return {kb, op, part, memory, std::move(arguments), tile};
}

/// The row in memory of a sequence that begins at `first`, 0 if null.
static Value toMemory(KernelBuilder &kb, Value first, Value row) {
  return first ? kb.make<arith::AddIOp>(first, row) : row;
}

Value BackwardKernel::toQueryRow(Value query) const {
  return toMemory(kb, tile.firstQuery, query);
}

Value BackwardKernel::toKeyRow(Value key) const {
  return toMemory(kb, tile.firstKey, key);
}

QueryPlace BackwardKernel::placeQueries(Value head, Value first) const {
  // With dq_accum each sequence has its own query blocks in scratch memory.
  Value begin = memory.scratch.dqAccum ? tile.firstScratch : tile.firstQuery;
  return {head, first, toMemory(kb, begin, first)};
}

RegionContext BackwardKernel::makeContext(Value head, Value query,
                                          Value key) const {
  RegionContext context{tile.work.batch,
                        head,
                        query,
                        key,
                        /*packedHeads=*/{},
                        tile.queries,
                        tile.keys,
                        arguments.captures,
                        part.getRows(),
                        part.getColumns(),
                        kb.hasWideIndex,
                        kb.accurateTanh};
  context.keepsRows = part.plan.warpsHaveRows();
  context.rowsAreKeys = !part.hasQueryTiles();
  return context;
}
