//===- ForwardKernel.cpp - State of a forward kernel ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forward/ForwardKernel.h"

#include "Forward/ForwardProblem.h"
#include "Kernel/WorkShares.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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
  template <typename OpTy>
  Value compute(Value x, Value y) {
    return OpTy::create(kb.builder, getLoc(), x, y);
  }
  /// Heads per L2 section: enough to fill the GPU, few enough to keep their K
  /// and V in L2.
  Value emitHeadsPerSection(Value keys);
  /// Tail tiles per head: as many as keep the K and V that they attend to, of
  /// all heads, in L2.
  Value emitFinalTiles(Value heads);
  /// Starts the loop over tiles of sequences that are batch entries.
  KernelBuilder::Work beginBatchEntries();
  /// A tile of a sequence that is a batch entry.
  QueryTile describeBatchEntry(const KernelBuilder::Work &work);
  /// A tile of a packed sequence.
  QueryTile emitPackedSequence();
  /// Places the rows of a tile with PackGQA.
  void placePackedHeads(QueryTile &tile);
  SharedTiles getSharedTiles();

  KernelBuilder &kb;
  attn::ForwardOp op;
  const ForwardPlan &plan;
  Value q, k;
  /// Lengths of sequences, the tiles' heads, rows of each, and query heads per
  /// key head.
  Value queries, keys, heads, headRows, group;
};
} // namespace

Value QueryTileEmitter::emitHeadsPerSection(Value keys) {
  Value positive = compute<arith::MaxSIOp>(keys, kb.constant(1));
  // Heads whose K and V fit; a product of sizes might not fit 32 bits.
  auto fit = [&](int64_t bytes) -> Value {
    Value rows = kb.constant(bytes / plan.keyBytes);
    Value count = compute<arith::DivUIOp>(rows, positive);
    return compute<arith::MaxUIOp>(count, kb.constant(1));
  };
  // Concurrent tiles of one head read its keys together: for long sequences
  // more heads than fit are better than the tiles of one head alone.
  Value spilling =
      compute<arith::MinUIOp>(fit(2 * kb.target->sharedInL2), kb.constant(16));
  Value least = compute<arith::MaxUIOp>(spilling, kb.constant(8));
  Value wanted = compute<arith::MaxUIOp>(fit(kb.target->sharedInL2), least);
  Value heads = compute<arith::MulIOp>(kb.size(q, 0), kb.size(q, 1));
  return compute<arith::MinUIOp>(wanted, heads);
}

Value QueryTileEmitter::emitFinalTiles(Value heads) {
  Value fit = kb.constant(kb.target->sharedInL2 / (plan.keyBytes * plan.rows));
  Value all = compute<arith::MulIOp>(kb.size(q, 0), heads);
  Value some = compute<arith::MaxUIOp>(all, kb.constant(1));
  return compute<arith::DivUIOp>(fit, some);
}

SharedTiles QueryTileEmitter::getSharedTiles() {
  return {kb.size(q, 0), heads, headRows, plan.rows, boundsAskForHead(op)};
}

KernelBuilder::Work QueryTileEmitter::beginBatchEntries() {
  if (plan.kernel->work == plan::WorkSchedule::Shares)
    return beginShares(kb, getSharedTiles());
  KernelBuilder::WorkOrder order{plan.kernel->work, {}, {}, plan.sharesBoxes};
  if (plan.hasSections)
    order.headsPerSection = emitHeadsPerSection(keys);
  if (plan.hasFinalTiles)
    order.finalTiles = emitFinalTiles(heads);
  return kb.beginWork(kb.size(q, 0), heads, headRows, plan.rows, order);
}

QueryTile
QueryTileEmitter::describeBatchEntry(const KernelBuilder::Work &work) {
  QueryTile tile;
  tile.work = work;
  tile.queries = queries;
  tile.keys = keys;
  Value batch = tile.work.batch, limit;
  if (Value length = kb.emitKeyLength(op, batch, keys))
    limit = tile.keys = length;
  tile.rows = {batch, tile.work.row, Value()};
  tile.keyAddressing = {batch, Value(), limit, {}};
  if (op.getSequence().getKeyPlaces().page)
    tile.keyAddressing = makePagedAddressing(kb, op, k, batch, tile.keys);
  return tile;
}

QueryTile QueryTileEmitter::emitPackedSequence() {
  unsigned first = op.getSequenceOperands().getBeginOperandIndex();
  auto headsPerSection = [&](Value keys) { return emitHeadsPerSection(keys); };
  llvm::function_ref<Value(Value)> sections;
  if (plan.hasSections)
    sections = headsPerSection;
  PackedTile packed =
      beginPackedWork(kb, q, k, {first, first + 1}, plan.kernel, sections);
  QueryTile tile;
  tile.work = packed.work;
  Value batch = kb.constant(0);
  tile.queries = packed.queries;
  tile.keys = packed.keys;
  Value rowLimit = compute<arith::AddIOp>(packed.firstQuery, packed.queries);
  Value keyLimit = compute<arith::AddIOp>(packed.firstKey, packed.keys);
  tile.rows = {batch, packed.firstQuery, rowLimit};
  tile.keyAddressing = {batch, packed.firstKey, keyLimit, {}};
  return tile;
}

void QueryTileEmitter::placePackedHeads(QueryTile &tile) {
  auto [headsOfGroup, rowsOfHead] = plan.packedHeads;
  tile.keyHead = tile.work.head;
  Value first = compute<arith::MulIOp>(tile.keyHead, kb.constant(headsOfGroup));
  Value inGroup =
      compute<arith::DivUIOp>(tile.work.row, kb.constant(rowsOfHead));
  tile.rows.row = compute<arith::AddIOp>(first, inGroup);
  tile.rows.limit = compute<arith::AddIOp>(first, kb.constant(headsOfGroup));
}

QueryTile QueryTileEmitter::emit() {
  // Tile-invariant values precede the loop over tiles.
  queries = kb.size(q, 2);
  keys = emitKeyCapacity(kb, op, k);
  if (plan.packedHeads) {
    heads = kb.size(k, 1);
    headRows = kb.constant(plan.packedHeads.getRows());
    QueryTile tile = describeBatchEntry(beginBatchEntries());
    placePackedHeads(tile);
    return tile;
  }
  heads = kb.size(q, 1);
  group = compute<arith::DivUIOp>(heads, kb.size(k, 1));
  headRows = queries;
  bool isPacked = op.getSequence().getKeyPlaces().arePacked;
  QueryTile tile =
      isPacked ? emitPackedSequence() : describeBatchEntry(beginBatchEntries());
  tile.keyHead = arith::DivUIOp::create(
      kb.builder, getNamedLoc(getLoc(), "kv_head"), tile.work.head, group);
  if (isPacked)
    tile.rows.row = compute<arith::AddIOp>(tile.rows.row, tile.work.row);
  return tile;
}

QueryTile QueryTileEmitter::emitGroup() {
  QueryTile tile = describeBatchEntry(beginExtent(kb, getSharedTiles()));
  if (plan.packedHeads)
    placePackedHeads(tile);
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

SmallVector<Value> ForwardKernel::getRowPlace() const {
  Value zero = kb.constant(0);
  if (plan.packedHeads)
    return {tile.rows.batch, tile.rows.row, zero, zero};
  return {tile.rows.batch, tile.work.head, tile.rows.row, zero};
}

DenseI64ArrayAttr ForwardKernel::getFold() const {
  if (plan.packedHeads.queries == 1)
    return {};
  return kb.builder.getDenseI64ArrayAttr({2, plan.packedHeads.queries});
}

RegionContext ForwardKernel::makeContext(Value key) const {
  bool rowsAreHeads = static_cast<bool>(plan.packedHeads);
  return {tile.work.batch,
          tile.work.head,
          rowsAreHeads ? tile.rows.row : tile.work.row,
          key,
          rowsAreHeads ? plan.packedHeads.queries : 0,
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
