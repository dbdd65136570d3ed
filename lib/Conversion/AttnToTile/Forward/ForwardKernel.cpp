//===- ForwardKernel.cpp - State of a forward kernel ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forward/ForwardKernel.h"

#include "Forward/ForwardProblem.h"
#include "Kernel/PackedSequences.h"
#include "Kernel/WorkShares.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fovea;

ForwardArguments ForwardArguments::of(KernelBuilder &kb, attn::ForwardOp op) {
  return {kb.operandArgument(0),
          kb.operandArgument(1),
          op.getValue() ? kb.operandArgument(2) : Value(),
          kb.resultArgument(0),
          op.getLse() ? kb.resultArgument(1) : Value(),
          kb.captureArguments(op)};
}

//===----------------------------------------------------------------------===//
// Tiles of queries
//===----------------------------------------------------------------------===//

namespace {
/// Emits the start of the loop over tiles.
class QueryTileEmitter {
public:
  QueryTileEmitter(KernelBuilder &kb, attn::ForwardOp op,
                   const ForwardPlan &plan, const ForwardArguments &arguments)
      : kb(kb), op(op), plan(plan), q(arguments.q), k(arguments.k) {}

  QueryTile emit();
  /// The first tile of a group of items, in the region for its extent. Moves
  /// the builder there.
  QueryTile emitGroup();

private:
  Location getLoc() { return kb.getLoc(); }
  /// Heads per L2 section: enough to fill the GPU, few enough to keep their K
  /// and V in L2.
  Value emitHeadsPerSection(Value keys);
  /// Tail tiles per head: as many as keep the K and V that they attend to, of
  /// all heads, in L2.
  Value emitFinalTiles(Value heads);
  /// Starts the loop over tiles; returns the first rows and the sequence.
  QueryTile beginBatchEntries();
  QueryTile beginPackedSequences();
  /// Starts a loop over shares.
  QueryTile beginShared();
  QueryTile describeBatchEntry(const KernelBuilder::Work &work);
  QueryTile describePackedSequence(const PackedTile &packed);
  /// Tile `index` of a packed sequence and head, in a loop over shares.
  QueryTile describeShared(Value sequence, Value head, Value index);
  /// Describes the pieces of an item of a sequence that has so many tiles per
  /// head, after `before` tiles of other sequences.
  void describePieces(QueryTile &tile, Value tiles, Value before);
  /// The keys of sequence `n`.
  SequenceRows countKeys(Value n);
  PackedWork getPackedWork();
  /// Places a tile's rows and finds its heads.
  void placeRows(QueryTile &tile);
  SharedTiles getSharedTiles();
  bool packsQueries() { return op.getSequence().getPlaces().packsQueries(); }
  bool isShared() { return plan.kernel->work == plan::WorkSchedule::Shares; }

  KernelBuilder &kb;
  attn::ForwardOp op;
  const ForwardPlan &plan;
  Value q, k;
  /// Lengths of sequences, the tiles' heads, rows of each, and query heads per
  /// key head.
  Value queries, keys, heads, headRows, group;
  std::optional<PackedWorkEmitter> packedWork;
};
} // namespace

Value QueryTileEmitter::emitHeadsPerSection(Value keys) {
  Value positive = kb.make<arith::MaxSIOp>(keys, kb.constant(1));
  // Heads whose K and V fit; a product of sizes might not fit 32 bits.
  auto fit = [&](int64_t bytes) -> Value {
    Value rows = kb.constant(bytes / plan.keyBytes);
    Value count = kb.make<arith::DivUIOp>(rows, positive);
    return kb.make<arith::MaxUIOp>(count, kb.constant(1));
  };
  // Concurrent tiles of one head read its keys together: for long sequences
  // more heads than fit are better than the tiles of one head alone.
  Value spilling =
      kb.make<arith::MinUIOp>(fit(2 * kb.target->sharedInL2), kb.constant(16));
  Value least = kb.make<arith::MaxUIOp>(spilling, kb.constant(8));
  Value wanted = kb.make<arith::MaxUIOp>(fit(kb.target->sharedInL2), least);
  Value heads = kb.make<arith::MulIOp>(kb.size(q, 0), kb.size(q, 1));
  return kb.make<arith::MinUIOp>(wanted, heads);
}

Value QueryTileEmitter::emitFinalTiles(Value heads) {
  Value fit = kb.constant(kb.target->sharedInL2 / (plan.keyBytes * plan.rows));
  Value all = kb.make<arith::MulIOp>(kb.size(q, 0), heads);
  Value some = kb.make<arith::MaxUIOp>(all, kb.constant(1));
  return kb.make<arith::DivUIOp>(fit, some);
}

//===----------------------------------------------------------------------===//
// Keys of a sequence
//===----------------------------------------------------------------------===//

SequenceRows QueryTileEmitter::countKeys(Value n) {
  attn::SequencePlaces places = op.getSequence().getPlaces();
  if (!places.packsKeys()) {
    Value room = places.pageOffsets ? emitKeyCapacity(kb, op, k, n) : keys;
    Value length = kb.emitKeyLength(op, n, room);
    return {Value(), length ? length : keys};
  }
  unsigned first = op.getSequenceOperands().getBeginOperandIndex();
  return emitPackedRows(kb, kb.operandArgument(first + *places.keyOffsets), n,
                        kb.size(k, 2));
}

/// The addressing of the `rows` of sequence `n`.
static KeyAddressing makeAddressing(KernelBuilder &kb, attn::ForwardOp op,
                                    Value k, Value n,
                                    const SequenceRows &rows) {
  attn::SequencePlaces places = op.getSequence().getPlaces();
  if (places.page)
    return makePagedAddressing(kb, op, k, n, rows.count);
  if (!places.packsKeys())
    return {n, Value(), places.lengths ? rows.count : Value(), {}};
  Value end = kb.make<arith::AddIOp>(rows.first, rows.count);
  return {kb.constant(0), rows.first, end, {}};
}

//===----------------------------------------------------------------------===//
// Sequences that are batch entries
//===----------------------------------------------------------------------===//

QueryTile QueryTileEmitter::beginBatchEntries() {
  KernelBuilder::WorkOrder order{plan.kernel->work, {}, {}, plan.sharesBoxes};
  if (plan.hasSections)
    order.headsPerSection = emitHeadsPerSection(keys);
  if (plan.hasFinalTiles)
    order.finalTiles = emitFinalTiles(heads);
  return describeBatchEntry(
      kb.beginWork(kb.size(q, 0), heads, headRows, plan.rows, order));
}

QueryTile
QueryTileEmitter::describeBatchEntry(const KernelBuilder::Work &work) {
  QueryTile tile;
  tile.work = work;
  tile.queries = queries;
  SequenceRows rows = countKeys(work.batch);
  tile.keys = rows.count;
  tile.rows = {work.batch, Value(), Value()};
  tile.keyAddressing = makeAddressing(kb, op, k, work.batch, rows);
  if (plan.kernel->split != 0) {
    Value tiles = kb.make<arith::CeilDivUIOp>(headRows, kb.constant(plan.rows));
    describePieces(tile, tiles, kb.make<arith::MulIOp>(work.batch, tiles));
  }
  return tile;
}

//===----------------------------------------------------------------------===//
// Packed sequences
//===----------------------------------------------------------------------===//

PackedWork QueryTileEmitter::getPackedWork() {
  attn::SequencePlaces places = op.getSequence().getPlaces();
  unsigned first = op.getSequenceOperands().getBeginOperandIndex();
  PackedWork work = {first + *places.queryOffsets, q, heads};
  work.rowsPerQuery = plan.packedHeads.getRowsPerQuery();
  work.keysAreOffsets = places.packsKeys();
  std::optional<unsigned> lengths =
      places.packsKeys() ? places.keyOffsets : places.lengths;
  if (lengths)
    work.keys = first + *lengths;
  return work;
}

QueryTile QueryTileEmitter::beginPackedSequences() {
  auto countKeys = [&](Value n) { return this->countKeys(n); };
  auto headsPerSection = [&](Value keys) { return emitHeadsPerSection(keys); };
  PackedWorkEmitter::HeadsPerSection sections;
  if (plan.hasSections)
    sections = headsPerSection;
  packedWork.emplace(kb, getPackedWork(), plan.kernel);
  return describePackedSequence(packedWork->begin(countKeys, sections,
                                                  /*firstTilesFirst=*/false));
}

QueryTile QueryTileEmitter::describePackedSequence(const PackedTile &packed) {
  QueryTile tile;
  tile.work = packed.work;
  tile.queries = packed.queries.count;
  tile.keys = packed.keys.count;
  Value limit =
      kb.make<arith::AddIOp>(packed.queries.first, packed.queries.count);
  tile.rows = {kb.constant(0), packed.queries.first, limit};
  tile.keyAddressing =
      makeAddressing(kb, op, k, packed.work.batch, packed.keys);
  return tile;
}

//===----------------------------------------------------------------------===//
// All tiles
//===----------------------------------------------------------------------===//

SharedTiles QueryTileEmitter::getSharedTiles() {
  return {kb.size(q, 0), heads, headRows, plan.rows};
}

QueryTile QueryTileEmitter::beginShared() {
  tile::ForeachWorkOp &loop = kb.workLoop;
  // Heads with different bounds are groups of their own.
  Value per = boundsAskForHead(op) ? kb.constant(1) : heads;
  if (!packsQueries()) {
    Value items = countSharedTiles(kb, getSharedTiles());
    beginShares(kb, items, per, /*hasTiles=*/false);
    return describeBatchEntry(
        decodeSharedTile(kb, getSharedTiles(), loop.getItem()));
  }
  packedWork.emplace(kb, getPackedWork(), plan.kernel);
  beginShares(kb, packedWork->countShared(), per, /*hasTiles=*/true);
  Value sequence = kb.make<arith::DivUIOp>(loop.getItem(), heads);
  Value head = kb.make<arith::RemUIOp>(loop.getItem(), heads);
  return describeShared(sequence, head, loop.getTile());
}

QueryTile QueryTileEmitter::describeShared(Value sequence, Value head,
                                           Value index) {
  auto countKeys = [&](Value n) { return this->countKeys(n); };
  QueryTile tile = describePackedSequence(
      packedWork->describe(sequence, head, index, countKeys));
  if (plan.kernel->split != 0)
    describePieces(tile, packedWork->countTiles(sequence),
                   packedWork->countTilesBefore(sequence));
  return tile;
}

void QueryTileEmitter::describePieces(QueryTile &tile, Value tiles,
                                      Value before) {
  // A sequence has as many slots as pieces at most, or as items.
  Value most = kb.constant(kPiecesOfSequence), one = kb.constant(1);
  Value items = kb.make<arith::MulIOp>(heads, tiles);
  tile.pieces.most =
      kb.make<arith::MaxUIOp>(kb.make<arith::DivUIOp>(most, items), one);
  const KernelBuilder::Work &work = tile.work;
  Value index = kb.make<arith::AddIOp>(
      kb.make<arith::MulIOp>(
          kb.make<arith::DivUIOp>(work.row, kb.constant(plan.rows)), heads),
      work.head);
  Value first = kb.make<arith::AddIOp>(kb.make<arith::MulIOp>(work.batch, most),
                                       kb.make<arith::MulIOp>(before, heads));
  tile.pieces.slot = kb.make<arith::AddIOp>(
      first, kb.make<arith::MulIOp>(index, tile.pieces.most));
  named("slot", tile.pieces.slot);
}

QueryTile QueryTileEmitter::emitGroup() {
  tile::ForeachWorkOp loop = kb.workLoop;
  QueryTile tile;
  if (packsQueries()) {
    bool headsAreGroups = boundsAskForHead(op);
    auto getSequence = [&](Value group) {
      return headsAreGroups ? kb.make<arith::DivUIOp>(group, heads) : group;
    };
    Value counted = beginRegion(kb, loop.getTiles()).front();
    tile::YieldOp::create(kb.builder, getLoc(),
                          packedWork->countTiles(getSequence(counted)));
    ValueRange arguments = beginRegion(kb, loop.getExtent());
    Value group = arguments[0];
    Value head =
        headsAreGroups ? kb.make<arith::RemUIOp>(group, heads) : kb.constant(0);
    tile = describeShared(getSequence(group), head, arguments[1]);
  } else {
    Value group = beginRegion(kb, loop.getExtent()).front();
    Value item = kb.make<arith::MulIOp>(group, loop.getPer());
    tile = describeBatchEntry(decodeSharedTile(kb, getSharedTiles(), item));
  }
  placeRows(tile);
  return tile;
}

void QueryTileEmitter::placeRows(QueryTile &tile) {
  const PackedHeads &packed = plan.packedHeads;
  Value row = tile.work.row, &first = tile.rows.row;
  if (!packed) {
    tile.keyHead = arith::DivUIOp::create(
        kb.builder, getNamedLoc(getLoc(), "kv_head"), tile.work.head, group);
    tile.head = tile.work.head;
    first = first ? kb.make<arith::AddIOp>(first, row) : row;
    return;
  }
  tile.keyHead = tile.work.head;
  tile.head = kb.make<arith::MulIOp>(tile.keyHead, kb.constant(packed.heads));
  if (packed.areAdjacent) {
    Value query =
        kb.make<arith::DivUIOp>(row, kb.constant(packed.getRowsPerQuery()));
    first = kb.make<arith::AddIOp>(first, query);
    return;
  }
  Value inGroup = kb.make<arith::DivUIOp>(row, kb.constant(packed.queries));
  first = kb.make<arith::AddIOp>(tile.head, inGroup);
  tile.rows.limit =
      kb.make<arith::AddIOp>(tile.head, kb.constant(packed.heads));
}

QueryTile QueryTileEmitter::emit() {
  // Tile-invariant values precede the loop over tiles.
  queries = kb.size(q, 2);
  keys = emitKeyCapacity(kb, op, k);
  heads = kb.size(plan.packedHeads ? k : q, 1);
  if (!plan.packedHeads)
    group = kb.make<arith::DivUIOp>(heads, kb.size(k, 1));
  headRows = plan.packedHeads.hasAllQueries()
                 ? kb.constant(plan.packedHeads.getRows())
                 : queries;
  QueryTile tile;
  if (isShared())
    tile = beginShared();
  else
    tile = packsQueries() ? beginPackedSequences() : beginBatchEntries();
  placeRows(tile);
  return tile;
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

ForwardKernel ForwardKernel::begin(KernelBuilder &kb, attn::ForwardOp op,
                                   const ForwardPlan &plan) {
  kb.packedHeads = plan.packedHeads;
  for (unsigned capture : plan.stagedCaptures)
    kb.makeContiguous(op.getFirstCapture() + capture);
  ForwardArguments arguments = ForwardArguments::of(kb, op);
  QueryTileEmitter emitter(kb, op, plan, arguments);
  QueryTile tile = emitter.emit();
  ForwardKernel kernel{kb, op, plan, std::move(arguments), tile};
  if (plan.kernel->work == plan::WorkSchedule::Shares) {
    OpBuilder::InsertionGuard guard(kb.builder);
    kernel.group = emitter.emitGroup();
  }
  return kernel;
}

BlockPosition ForwardKernel::locateKeys(Value key) const {
  return tile.keyAddressing.locate(kb, key, plan.columns);
}

Value ForwardKernel::loadKeys(Value key) const {
  BlockPosition position = locateKeys(key);
  // Keys past the last one need no limit: their scores are masked. As values
  // they must be zeros: their P is 0, but 0 * NaN is NaN.
  if (arguments.v)
    position.limit = {};
  return loadBlock(kb, arguments.k, position, tile.keyHead, plan.columns,
                   plan.headDim, "k");
}

/// The scale operand `name` and the indices of the tile's sequence and key head
/// in it; none if the op does not have it.
static std::optional<std::pair<Value, SmallVector<Value>>>
locateScale(const ForwardKernel &kernel, StringRef name) {
  attn::ForwardOp op = kernel.op;
  OpOperand *operand = op.getScaleOperand(name);
  if (!operand)
    return std::nullopt;
  KernelBuilder &kb = kernel.kb;
  auto type = cast<RankedTensorType>(operand->get().getType());
  SmallVector<Value> indices = {kernel.tile.work.batch, kernel.tile.keyHead};
  for (auto [dim, index] : llvm::enumerate(indices))
    if (type.getDimSize(dim) == 1)
      index = kb.constant(0);
  if (type.getRank() == 3)
    indices.push_back(kb.constant(0));
  return std::pair(kb.operandArgument(operand->getOperandNumber()), indices);
}

Value ForwardKernel::loadScale(StringRef name) const {
  auto place = locateScale(*this, name);
  return place ? kb.make<memref::LoadOp>(place->first, place->second) : Value();
}

Value ForwardKernel::loadMean() const {
  auto place = locateScale(*this, "v_mean");
  if (!place)
    return {};
  OpBuilder &b = kb.builder;
  return tile::LoadOp::create(
      b, getNamedLoc(getLoc(), "v_mean"),
      kb.tileType(1, plan.valueHeadDim, b.getF32Type()), place->first,
      place->second, /*limit=*/Value(), /*table=*/Value(),
      /*tableIndices=*/ValueRange(), b.getDenseI64ArrayAttr({-1, 2}),
      /*fold=*/DenseI64ArrayAttr(), /*fragments=*/UnitAttr(),
      /*by_register=*/UnitAttr(), /*name=*/StringAttr(),
      /*groups=*/DenseI64ArrayAttr());
}

SmallVector<Value> ForwardKernel::getRowPlace() const {
  Value zero = kb.constant(0);
  if (plan.packedHeads.hasAllQueries())
    return {tile.rows.batch, tile.rows.row, zero, zero};
  return {tile.rows.batch, tile.head, tile.rows.row, zero};
}

DenseI64ArrayAttr ForwardKernel::getFold() const {
  const PackedHeads &packed = plan.packedHeads;
  int64_t padded = packed.getRowsPerQuery();
  if (packed.areAdjacent && packed.heads != padded)
    return kb.builder.getDenseI64ArrayAttr({1, padded, packed.heads});
  if (packed.areAdjacent)
    return kb.builder.getDenseI64ArrayAttr({1, padded});
  if (packed.queries == 1)
    return {};
  return kb.builder.getDenseI64ArrayAttr({2, packed.queries});
}

Value ForwardKernel::getFirstQuery() const {
  const PackedHeads &packed = plan.packedHeads;
  if (packed.hasAllQueries())
    return kb.constant(0);
  if (packed.areAdjacent)
    return kb.make<arith::DivUIOp>(tile.work.row,
                                   kb.constant(packed.getRowsPerQuery()));
  return tile.work.row;
}

RegionContext ForwardKernel::makeContext(Value key) const {
  return {tile.work.batch,
          tile.head,
          plan.packedHeads.hasAllQueries() ? tile.rows.row : getFirstQuery(),
          key,
          plan.packedHeads,
          tile.queries,
          tile.keys,
          arguments.captures,
          plan.rows,
          plan.columns,
          kb.hasWideIndex,
          kb.accurateTanh,
          /*minMaxBuffers=*/nullptr,
          /*keepsRows=*/plan.kernel->rowTiles <= 1};
}
