//===- BackwardBlocks.cpp - Blocks that a backward tile needs -------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backward/BackwardBlocks.h"

#include "KeyBlocks/ListBitmap.h"
#include "KeyBlocks/PredicateBlocks.h"
#include "Regions/RegionToTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// The last row of the tile at `first` that is less than `of`, at least 0.
static Value emitLastRow(const BackwardKernel &kernel, Value first, Value of) {
  KernelBuilder &kb = kernel.kb;
  Value end =
      kb.make<arith::AddIOp>(first, kb.constant(kernel.part.getTileRows()));
  Value clipped = kb.make<arith::MinSIOp>(end, of);
  Value last = kb.make<arith::SubIOp>(clipped, kb.constant(1));
  return kb.make<arith::MaxSIOp>(last, kb.constant(0));
}

namespace {
/// Rows of a tile: from `first` on, below `of`. `limit` is the number of rows
/// of the other sequence.
struct BoundedRows {
  Value head, first, of, limit;
};
} // namespace

/// Evaluates the bounds in `region` for the tile's rows.
static FailureOr<SmallVector<Value>> emitSaid(const BackwardKernel &kernel,
                                              Region &region,
                                              const BoundedRows &rows) {
  KernelBuilder &kb = kernel.kb;
  Value last = emitLastRow(kernel, rows.first, rows.of);
  Value start = kb.make<arith::MinSIOp>(rows.first, last);
  RegionContext context = kernel.makeContext(Value(), Value(), Value());
  return RegionToTile(kb.builder, context)
      .cloneScalars(region, {kernel.tile.work.batch, rows.head, start, last});
}

/// Converts the bounds to a range of rows of the other side, in whole blocks of
/// columns. Without a region the range has all rows, and needs no mask if there
/// is no mask_mod.
static FailureOr<RowRange> emitRange(const BackwardKernel &kernel,
                                     Region &region, const BoundedRows &rows) {
  KernelBuilder &kb = kernel.kb;
  attn::BackwardOp op = kernel.op;
  Value zero = kb.constant(0), step = kb.constant(kernel.part.getColumns());
  RowRange range{zero, zero, op.getMaskMod().empty() ? rows.limit : zero,
                 rows.limit};
  if (!region.empty()) {
    FailureOr<SmallVector<Value>> said = emitSaid(kernel, region, rows);
    if (failed(said))
      return failure();
    auto limit = [&](Value bound) -> Value {
      Value positive = kb.make<arith::MaxSIOp>(bound, zero);
      return kb.make<arith::MinSIOp>(positive, rows.limit);
    };
    range = {limit((*said)[0]), limit((*said)[1]), limit((*said)[2]),
             limit((*said)[3])};
  }
  auto scale = [&](Value blocks) -> Value {
    return kb.make<arith::MulIOp>(blocks, step);
  };
  auto roundDown = [&](Value value) {
    return scale(kb.make<arith::DivUIOp>(value, step));
  };
  // A loop that runs at least once needs an existing block.
  if (kernel.part.plan.visitsAtLeastOnce()) {
    Value last = kb.make<arith::SubIOp>(
        kb.make<arith::MaxSIOp>(rows.limit, kb.constant(1)), kb.constant(1));
    range.lower = kb.make<arith::MinSIOp>(range.lower, last);
  }
  range.lower = roundDown(range.lower);
  range.fullLower = scale(kb.make<arith::CeilDivUIOp>(range.fullLower, step));
  range.fullUpper = roundDown(range.fullUpper);
  return range;
}

FailureOr<RowRange> fovea::emitQueryRange(const BackwardKernel &kernel,
                                          Value head, Value key) {
  attn::BackwardOp op = kernel.op;
  return emitRange(kernel, op.getQueryBounds(),
                   {head, key, kernel.tile.keys, kernel.tile.queries});
}

//===----------------------------------------------------------------------===//
// Blocks of keys
//===----------------------------------------------------------------------===//

FailureOr<BackwardBlocks> fovea::emitKeyBlocks(const BackwardKernel &kernel) {
  KernelBuilder &kb = kernel.kb;
  attn::BackwardOp op = kernel.op;
  const BackwardTile &tile = kernel.tile;
  BackwardBlocks blocks;
  blocks.keyEnd = tile.keys;
  if (op.hasBlocks()) {
    auto listed = std::make_unique<ListedBlocks>(kb, BlockLists::of(kb, op),
                                                 kernel.part.getColumns());
    listed->emitCounts(tile.work, tile.keys,
                       kernel.part.plan.visitsAtLeastOnce()
                           ? ListedBlocks::Else::PastBlock
                           : ListedBlocks::Else::Nothing);
    blocks.visited = std::move(listed);
    return blocks;
  }
  FailureOr<RowRange> range =
      emitRange(kernel, op.getKvBounds(),
                {tile.work.head, tile.work.row, tile.queries, tile.keys});
  if (failed(range))
    return failure();
  blocks.range = *range;
  return blocks;
}

//===----------------------------------------------------------------------===//
// Blocks of queries
//===----------------------------------------------------------------------===//

/// The key tile as the context of kv_classify, and its last key.
static std::pair<RegionContext, Value>
makeClassifiedTile(const BackwardKernel &kernel, Value head, Value key) {
  Value last = emitLastRow(kernel, key, kernel.tile.keys);
  Value first = kernel.kb.make<arith::MinSIOp>(key, last);
  RegionContext context = kernel.makeContext(head, /*query=*/Value(), first);
  context.rows = kernel.part.getTileRows();
  return {context, last};
}

std::unique_ptr<BlockBitmap> fovea::makeQueryWords(const BackwardKernel &kernel,
                                                   Value head, Value key,
                                                   const RowRange &range) {
  KernelBuilder &kb = kernel.kb;
  attn::BackwardOp op = kernel.op;
  if (op.hasBlocks()) {
    KernelBuilder::Work tile{kernel.tile.work.batch, head, key};
    auto words = std::make_unique<ListBitmap>(
        kb, kernel.memory.transposed->getBits(kb), tile,
        kernel.part.getColumns(), kernel.tile.queries);
    words->setRange(kb.constant(0), kernel.tile.queries);
    return words;
  }
  auto [tile, last] = makeClassifiedTile(kernel, head, key);
  auto words =
      std::make_unique<PredicateBitmap>(kb, op, tile, op.getFirstCapture());
  words->setLastRow(last);
  words->setRange(range.lower, range.upper);
  return words;
}

/// Query blocks that see the tile, ascending, for ordered accumulation.
static FailureOr<std::unique_ptr<AscendingBlocks>>
emitOrdered(const BackwardKernel &kernel, Value head, const RowRange &range) {
  auto ordered = std::make_unique<AscendingBlocks>(
      kernel.kb, makeQueryWords(kernel, head, kernel.tile.work.row, range));
  if (failed(ordered->emitCounts()))
    return failure();
  return ordered;
}

/// Query blocks of the range that see the tile, by kv_classify.
static FailureOr<std::unique_ptr<BlockIterator>>
emitClassified(const BackwardKernel &kernel, Value head,
               const RowRange &range) {
  KernelBuilder &kb = kernel.kb;
  attn::BackwardOp op = kernel.op;
  auto [tile, last] = makeClassifiedTile(kernel, head, kernel.tile.work.row);
  auto classified =
      std::make_unique<PredicateBlocks>(kb, op, tile, op.getFirstCapture());
  if (failed(classified->emitCounts(range.lower, range.upper, last,
                                    kernel.part.plan.visitsAtLeastOnce())))
    return failure();
  return std::unique_ptr<BlockIterator>(std::move(classified));
}

/// Query blocks from the op's own transposed lists. They may contain blocks
/// past the end, in any order.
static BackwardBlocks emitGivenQueryBlocks(const BackwardKernel &kernel,
                                           Value head) {
  KernelBuilder &kb = kernel.kb;
  const BackwardTile &tile = kernel.tile;
  int64_t columns = kernel.part.getColumns();
  auto listed = std::make_unique<ListedBlocks>(
      kb, BlockLists::ofQueries(kb, kernel.op), columns);
  listed->emitCounts({tile.work.batch, head, tile.work.row}, tile.queries,
                     kernel.part.plan.visitsAtLeastOnce()
                         ? ListedBlocks::Else::PastBlock
                         : ListedBlocks::Else::Nothing);
  BackwardBlocks blocks;
  blocks.visited = std::move(listed);
  blocks.keyEnd = tile.keys;
  Value step = kb.constant(columns);
  Value last = kb.make<arith::SubIOp>(
      kb.make<arith::MaxSIOp>(tile.queries, kb.constant(1)), kb.constant(1));
  blocks.lastQuery =
      kb.make<arith::MulIOp>(kb.make<arith::DivUIOp>(last, step), step);
  return blocks;
}

ExistingQueries fovea::emitExistingQueries(KernelBuilder &kb,
                                           const BackwardBlocks &blocks,
                                           Value first) {
  if (!blocks.lastQuery)
    return {first, blocks.keyEnd};
  Value isPast = kb.make<arith::CmpIOp>(arith::CmpIPredicate::sgt, first,
                                        blocks.lastQuery);
  Value keyEnd =
      kb.make<arith::SelectOp>(isPast, kb.constant(0), blocks.keyEnd);
  return {kb.make<arith::MinSIOp>(first, blocks.lastQuery), keyEnd};
}

/// Query blocks from the transposed block-sparse lists.
static FailureOr<BackwardBlocks>
emitListedQueryBlocks(const BackwardKernel &kernel, Value head) {
  KernelBuilder &kb = kernel.kb;
  const BackwardKernelPlan &part = kernel.part;
  const BackwardTile &tile = kernel.tile;
  BackwardBlocks blocks;
  blocks.keyEnd = tile.keys;
  auto choose = [&](Value condition, Value yes, Value no) -> Value {
    return kb.make<arith::SelectOp>(condition, yes, no);
  };
  if (part.ordersSums()) {
    FailureOr<std::unique_ptr<AscendingBlocks>> ordered =
        emitOrdered(kernel, head, RowRange());
    if (failed(ordered))
      return failure();
    blocks.ordered = std::move(*ordered);
    blocks.keyEnd =
        choose(blocks.ordered->getIsSeen(), tile.keys, kb.constant(0));
    return blocks;
  }
  if (!kernel.memory.transposed)
    return emitGivenQueryBlocks(kernel, head);
  auto listed = std::make_unique<ListedBlocks>(
      kb, kernel.memory.transposed->get(kb), part.getColumns());
  // dq_accum has no row for a block past the end, so an empty list falls back
  // to the last block.
  listed->emitCounts({tile.work.batch, head, tile.work.row}, tile.queries,
                     part.plan.visitsAtLeastOnce()
                         ? ListedBlocks::Else::LastBlock
                         : ListedBlocks::Else::Nothing);
  if (Value isEmpty = listed->getIsEmpty())
    blocks.keyEnd = choose(isEmpty, kb.constant(0), tile.keys);
  blocks.visited = std::move(listed);
  return blocks;
}

/// Query blocks of a range.
static FailureOr<BackwardBlocks>
emitRangeOfQueries(const BackwardKernel &kernel, Value head) {
  KernelBuilder &kb = kernel.kb;
  const BackwardKernelPlan &part = kernel.part;
  const BackwardTile &tile = kernel.tile;
  FailureOr<RowRange> range = emitQueryRange(kernel, head, tile.work.row);
  if (failed(range))
    return failure();
  if (tile.keyLimit || part.addsQuery) {
    // Pairs with missing keys must be masked: their P is not a number and would
    // reach dQ. So a tile with missing keys masks all blocks.
    Value end =
        kb.make<arith::AddIOp>(tile.work.row, kb.constant(part.getTileRows()));
    Value exist =
        kb.make<arith::CmpIOp>(arith::CmpIPredicate::sle, end, tile.keys);
    range->fullUpper =
        kb.make<arith::SelectOp>(exist, range->fullUpper, range->fullLower);
  }
  BackwardBlocks blocks;
  blocks.range = *range;
  blocks.keyEnd = tile.keys;
  return blocks;
}

FailureOr<BackwardBlocks> fovea::emitQueryBlocks(const BackwardKernel &kernel,
                                                 Value head) {
  if (attn::BackwardOp op = kernel.op; op.hasBlocks())
    return emitListedQueryBlocks(kernel, head);
  FailureOr<BackwardBlocks> blocks = emitRangeOfQueries(kernel, head);
  if (failed(blocks) || !kernel.part.plan->classify)
    return blocks;
  if (kernel.part.ordersSums()) {
    FailureOr<std::unique_ptr<AscendingBlocks>> ordered =
        emitOrdered(kernel, head, blocks->range);
    if (failed(ordered))
      return failure();
    blocks->ordered = std::move(*ordered);
    return blocks;
  }
  FailureOr<std::unique_ptr<BlockIterator>> single =
      emitClassified(kernel, head, blocks->range);
  if (failed(single))
    return failure();
  blocks->visited = std::move(*single);
  return blocks;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// An scf.for, because tile.for_blocks processes partial blocks first.
static FailureOr<ValueRange> emitOrderedLoop(KernelBuilder &kb,
                                             AscendingBlocks &blocks,
                                             ValueRange sums, BlockBody body) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  SmallVector<Value> inits(sums);
  llvm::append_range(inits, blocks.getInits());
  auto loop = scf::ForOp::create(b, loc, kb.constant(0), blocks.getCount(),
                                 kb.constant(1), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ValueRange carried = loop.getRegionIterArgs();
  FailureOr<AscendingBlocks::Visit> visit =
      blocks.emitVisit(carried.drop_front(sums.size()));
  if (failed(visit))
    return failure();
  FailureOr<SmallVector<Value>> next =
      body(visit->first, visit->partial, carried.take_front(sums.size()));
  if (failed(next))
    return failure();
  llvm::append_range(*next, visit->next);
  scf::YieldOp::create(b, loc, *next);
  return ValueRange(loop.getResults().take_front(sums.size()));
}

/// A loop over single blocks, without its body.
static FailureOr<tile::ForBlocksOp> createVisitLoop(KernelBuilder &kb,
                                                    BlockIterator &visited,
                                                    ValueRange sums,
                                                    int64_t columns) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  auto loop = tile::ForBlocksOp::create(
      b, loc, sums.getTypes(), Value(), Value(), Value(), Value(),
      visited.getCount(), visited.getMasked(), visited.getInits(), sums,
      columns, /*descending=*/false, /*atLeastOnce=*/false);
  Block &visit = loop.getVisit().emplaceBlock();
  visit.addArgument(b.getIndexType(), loc);
  for (Value init : visited.getInits())
    visit.addArgument(init.getType(), loc);
  if (failed(visited.emitVisit(visit)))
    return failure();
  return loop;
}

/// A loop over the blocks of a range, without its body.
static tile::ForBlocksOp createRangeLoop(const BackwardKernel &kernel,
                                         const RowRange &range, bool upwards,
                                         ValueRange sums) {
  bool visitsOne = kernel.part.plan.visitsAtLeastOnce();
  return tile::ForBlocksOp::create(
      kernel.kb.builder, kernel.getLoc(), sums.getTypes(), range.lower,
      range.upper, range.fullLower, range.fullUpper, /*count=*/Value(),
      /*masked=*/Value(), /*inits=*/ValueRange(), sums,
      kernel.part.getColumns(), /*descending=*/visitsOne && !upwards,
      /*atLeastOnce=*/visitsOne && upwards);
}

FailureOr<ValueRange> fovea::emitBlockLoop(const BackwardKernel &kernel,
                                           const BackwardBlocks &blocks,
                                           bool upwards, ValueRange sums,
                                           BlockBody body) {
  KernelBuilder &kb = kernel.kb;
  if (blocks.ordered)
    return emitOrderedLoop(kb, *blocks.ordered, sums, body);
  FailureOr<tile::ForBlocksOp> loop =
      blocks.visited
          ? createVisitLoop(kb, *blocks.visited, sums, kernel.part.getColumns())
          : createRangeLoop(kernel, blocks.range, upwards, sums);
  if (failed(loop))
    return failure();
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  SmallVector<Type> types = {b.getIndexType(), b.getI1Type()};
  llvm::append_range(types, sums.getTypes());
  Block &block = *b.createBlock(&loop->getBody(), {}, types,
                                SmallVector<Location>(types.size(), loc));
  FailureOr<SmallVector<Value>> next =
      body(block.getArgument(0), block.getArgument(1),
           block.getArguments().drop_front(2));
  if (failed(next))
    return failure();
  tile::YieldOp::create(b, loc, *next);
  b.setInsertionPointAfter(*loop);
  return ValueRange(loop->getResults());
}
