//===- KeyBlocks.cpp - Key blocks of a query tile -------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyBlocks/KeyBlocks.h"

#include "KeyBlocks/PredicateBlocks.h"
#include "Regions/RegionToTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

namespace {
/// The result of kv_bounds, clamped to the existing keys.
struct KeyBounds {
  Value lower, fullLower, fullUpper, upper;
};

class KeyBlocksEmitter {
public:
  explicit KeyBlocksEmitter(const ForwardKernel &kernel)
      : kernel(kernel), kb(kernel.kb), op(kernel.op), tile(kernel.tile) {}

  std::unique_ptr<BlockIterator> emitListed();
  FailureOr<KeyBlocks> emitRange();
  /// The blocks of the range that see the tile, by kv_classify.
  FailureOr<std::unique_ptr<BlockIterator>>
  emitClassified(const KeyBlocks &range);

private:
  Value roundDown(Value value);
  Value roundUp(Value value);
  /// The query before `end`, at least 0: regions take no negative coordinates.
  Value emitLastQuery(Value end);
  /// The bounds of the rows from `start` to `end`, exclusive, as far as such
  /// queries exist.
  FailureOr<KeyBounds> emitBounds(Value start, Value end);
  /// The tile's rows owned by the executing threads, end exclusive.
  std::pair<Value, Value> emitOwnedRows();
  /// The bounds of the owned rows.
  FailureOr<KeyBounds> emitOwnedBounds();
  /// The keys that some owned row may see. Bounds hold for existing queries; a
  /// mask may show more keys to the rows past the last one.
  SmallVector<Value, 2> emitVisibleKeys(const KeyBounds &held);

  const ForwardKernel &kernel;
  KernelBuilder &kb;
  attn::ForwardOp op;
  const QueryTile &tile;
};
} // namespace

Value KeyBlocksEmitter::roundDown(Value value) {
  Value size = kb.constant(kernel.plan.columns);
  Value blocks = kb.make<arith::DivUIOp>(value, size);
  return kb.make<arith::MulIOp>(blocks, kb.constant(kernel.plan.columns));
}

Value KeyBlocksEmitter::roundUp(Value value) {
  Value size = kb.constant(kernel.plan.columns);
  Value blocks = kb.make<arith::CeilDivUIOp>(value, size);
  return kb.make<arith::MulIOp>(blocks, kb.constant(kernel.plan.columns));
}

Value KeyBlocksEmitter::emitLastQuery(Value end) {
  Value last = kb.make<arith::SubIOp>(end, kb.constant(1));
  // Some slots of packed sequences have no queries.
  if (!op.getSequence().getPlaces().packsQueries())
    return last;
  return kb.make<arith::MaxSIOp>(last, kb.constant(0));
}

FailureOr<KeyBounds> KeyBlocksEmitter::emitBounds(Value start, Value end) {
  Value last = emitLastQuery(kb.make<arith::MinSIOp>(end, tile.queries));
  RegionContext context = kernel.makeContext(Value());
  FailureOr<SmallVector<Value>> bounds =
      RegionToTile(kb.builder, context)
          .cloneScalars(op.getKvBounds(),
                        {tile.work.batch, tile.work.head, start, last});
  if (failed(bounds))
    return failure();
  for (Value &bound : *bounds) {
    // Such bounds need no clamp, and emitVisibleKeys recognizes them.
    if (bound == tile.keys || matchPattern(bound, m_Zero()))
      continue;
    Value positive = kb.make<arith::MaxSIOp>(bound, kb.constant(0));
    // Unsigned, so that a bound of 0 folds.
    bound = kb.make<arith::MinUIOp>(positive, tile.keys);
  }
  return KeyBounds{(*bounds)[0], (*bounds)[1], (*bounds)[2], (*bounds)[3]};
}

std::pair<Value, Value> KeyBlocksEmitter::emitOwnedRows() {
  auto held = tile::OwnedRowsOp::create(
      kb.builder, kb.getLoc(),
      kb.tileType(kernel.plan.rows, 1, kb.builder.getF32Type()));
  Value first = kb.make<arith::AddIOp>(tile.work.row, held.getFirst());
  return {first, kb.make<arith::AddIOp>(first, held.getCount())};
}

SmallVector<Value, 2> KeyBlocksEmitter::emitVisibleKeys(const KeyBounds &held) {
  bool startsAtFirst = matchPattern(held.lower, m_Zero());
  bool endsAtLast = held.upper == tile.keys;
  if (startsAtFirst && endsAtLast)
    return {held.lower, held.upper};
  Value end = emitOwnedRows().second;
  Value exist =
      kb.make<arith::CmpIOp>(arith::CmpIPredicate::sle, end, tile.queries);
  auto choose = [&](Value bound, Value other) -> Value {
    return kb.make<arith::SelectOp>(exist, bound, other);
  };
  return {startsAtFirst ? held.lower : choose(held.lower, kb.constant(0)),
          endsAtLast ? held.upper : choose(held.upper, tile.keys)};
}

FailureOr<KeyBounds> KeyBlocksEmitter::emitOwnedBounds() {
  auto [first, end] = emitOwnedRows();
  // The owned rows may all be past the last query, but bounds need some.
  Value most = emitLastQuery(tile.queries);
  Value start = kb.make<arith::MinSIOp>(first, most);
  return emitBounds(start, end);
}

/// All warps process the same blocks, but each may mask only the blocks that
/// its rows need masked.
FailureOr<KeyBlocks> KeyBlocksEmitter::emitRange() {
  Value zero = kb.constant(0);
  KeyBounds bounds{zero, zero, op.getMaskMod().empty() ? tile.keys : zero,
                   tile.keys};
  KeyBlocks range;
  if (!op.getKvBounds().empty()) {
    Value start = kernel.getFirstQuery();
    int64_t queries = llvm::divideCeil(
        kernel.plan.rows, kernel.plan.packedHeads.getRowsPerQuery());
    Value end = kb.make<arith::AddIOp>(start, kb.constant(queries));
    FailureOr<KeyBounds> all = emitBounds(start, end);
    if (failed(all))
      return failure();
    FailureOr<KeyBounds> held = all;
    if (kernel.plan.partsRows)
      held = emitOwnedBounds();
    if (failed(held))
      return failure();
    if (kernel.plan.partsRows)
      range.visible = emitVisibleKeys(*held);
    bounds = {all->lower, held->fullLower, held->fullUpper, all->upper};
  }
  range.lower = roundDown(bounds.lower);
  range.fullLower = roundUp(bounds.fullLower);
  range.fullUpper =
      kb.make<arith::MaxSIOp>(roundDown(bounds.fullUpper), range.fullLower);
  range.upper = bounds.upper;
  return range;
}

std::unique_ptr<BlockIterator> KeyBlocksEmitter::emitListed() {
  auto listed = std::make_unique<ListedBlocks>(kb, BlockLists::of(kb, op),
                                               kernel.plan.columns);
  listed->emitCounts(tile.work, tile.keys,
                     kernel.plan.kernel.visitsAtLeastOnce()
                         ? ListedBlocks::Else::PastBlock
                         : ListedBlocks::Else::Nothing);
  return listed;
}

FailureOr<std::unique_ptr<BlockIterator>>
KeyBlocksEmitter::emitClassified(const KeyBlocks &range) {
  auto classified = std::make_unique<PredicateBlocks>(
      kb, op, kernel.makeContext(Value()), op.getFirstCapture());
  Value end =
      kb.make<arith::AddIOp>(tile.work.row, kb.constant(kernel.plan.rows));
  Value last = emitLastQuery(kb.make<arith::MinSIOp>(end, tile.queries));
  if (failed(classified->emitCounts(range.lower, range.upper, last,
                                    kernel.plan.kernel.visitsAtLeastOnce())))
    return failure();
  return std::unique_ptr<BlockIterator>(std::move(classified));
}

FailureOr<KeyBlocks> fovea::emitKeyBlocks(const ForwardKernel &kernel) {
  KeyBlocksEmitter emitter(kernel);
  if (attn::ForwardOp op = kernel.op; op.hasBlocks()) {
    KeyBlocks blocks;
    blocks.single = emitter.emitListed();
    return blocks;
  }
  FailureOr<KeyBlocks> blocks = emitter.emitRange();
  if (failed(blocks) || !kernel.plan.selectsBlocks)
    return blocks;
  FailureOr<std::unique_ptr<BlockIterator>> single =
      emitter.emitClassified(*blocks);
  if (failed(single))
    return failure();
  blocks->single = std::move(*single);
  return blocks;
}
