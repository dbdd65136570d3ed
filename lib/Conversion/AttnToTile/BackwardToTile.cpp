//===- BackwardToTile.cpp - One kernel of a backward pass -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardEmitter.h"

#include "ClassifiedBlocks.h"
#include "ListedWords.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

bool BackwardEmitter::boundsAreOfAllKeys() const {
  constexpr unsigned kFirstKey = 2, kLastKey = 3;
  attn::BackwardOp backward = op;
  Region &bounds = backward.getQueryBounds();
  return bounds.empty() || (bounds.getArgument(kFirstKey).use_empty() &&
                            bounds.getArgument(kLastKey).use_empty());
}

/// Key heads whose queries' rows, with their gradients and the sums of dQ, fit
/// L2; of long ones a few even so, or CTAs that work on one head would wait for
/// each other, and the last ones for the longest tile. Tiles of many keys that
/// follow each other wait for sums that have left L2, so they get half of it.
/// Where the heads of a group follow each other: those with two tiles for each
/// multiprocessor, see BackwardGroups.cpp.
Value BackwardEmitter::emitHeadsPerSection() {
  constexpr int64_t kSumBytes = 4, kManyKeys = 128, kFewestHeads = 4,
                    kFewestTiles = 128;
  OpBuilder &b = kb.builder;
  auto atLeast = [&](Value value, int64_t least) -> Value {
    return arith::MaxUIOp::create(b, loc, value, kb.constant(least));
  };
  auto divide = [&](int64_t value, Value by) -> Value {
    return arith::DivUIOp::create(b, loc, kb.constant(value), atLeast(by, 1));
  };
  Value tiles =
      arith::CeilDivUIOp::create(b, loc, keys, kb.constant(getTileRows()));
  Value all =
      atLeast(arith::MulIOp::create(b, loc, kb.size(k, 0), kb.size(k, 1)), 1);
  if (visitsGroupByBlocks(op, plan))
    return arith::MinUIOp::create(
        b, loc, atLeast(divide(2 * kb.target->multiprocessors, tiles), 1), all);
  int64_t rowBytes =
      (headDim + valueHeadDim) * element.getIntOrFloatBitWidth() / 8 +
      headDim * kSumBytes;
  int64_t fitting = kb.target->sharedInL2 / rowBytes;
  if (beginsApart() && getTileRows() >= kManyKeys)
    fitting /= 2;
  Value fit = divide(fitting,
                     arith::MulIOp::create(b, loc, atLeast(queries, 1), group));
  Value few = kb.constant(kFewestHeads);
  // Those that follow each other need no others beside them, but all CTAs
  // should have one.
  if (beginsApart())
    few = atLeast(divide(kFewestTiles, tiles), 1);
  return arith::MinUIOp::create(b, loc,
                                arith::MaxUIOp::create(b, loc, fit, few), all);
}

/// Tiles of each head that are left for the end, when CTAs run out of work one
/// by one: under a mask that looks back a sixteenth of the work.
Value BackwardEmitter::emitFinalTiles() {
  OpBuilder &b = kb.builder;
  Value tiles =
      arith::CeilDivUIOp::create(b, loc, keys, kb.constant(getTileRows()));
  return arith::DivUIOp::create(b, loc, tiles, kb.constant(4));
}

void BackwardEmitter::emitOperands() {
  element = op.getQueryType().getElementType();
  // The columns past the head dim are zero.
  headDim = kb.padHeadDim(op.getQueryType());
  valueHeadDim = kb.padHeadDim(op.getValueType());
  q = kb.operandArgument(kQ);
  k = kb.operandArgument(kK);
  v = kb.operandArgument(kV);
  o = kb.operandArgument(kO);
  lse = kb.operandArgument(kLse);
  outputGradient = kb.operandArgument(kOutputGradient);
  for (unsigned i = 0; i < op.getCaptures().size(); ++i)
    captures.push_back(kb.operandArgument(op.getFirstCapture() + i));
  queries = kb.size(q, 2);
  keys = kb.size(k, 2);
}

void BackwardEmitter::emitCoordinates() {
  OpBuilder &b = kb.builder;
  emitOperands();
  group = arith::DivUIOp::create(b, loc, kb.size(q, 1), kb.size(k, 1));
  if (op.getSequence().getKeyPlaces().arePacked)
    emitPackedSequence();
  else
    emitBatchEntry();
  keyHead = work.head;
  if (part.hasQueryTiles())
    keyHead = arith::DivUIOp::create(b, loc, work.head, group);
}

void BackwardEmitter::emitBatchEntry() {
  OpBuilder &b = kb.builder;
  bool ofQueries = part.hasQueryTiles();
  KernelBuilder::WorkOrder order;
  order.schedule = plan->work;
  // Masks that look back give the first keys the most queries.
  if (!ofQueries)
    order.tiles = KernelBuilder::TileOrder::FirstFirst;
  bool areUneven = !op.getMaskMod().empty() || op.hasBlocks();
  // Tiles that take turns are best not at work together.
  if (!ofQueries && (areUneven || part.ordersSums))
    order.headsPerSection = emitHeadsPerSection();
  if (followsDiagonal()) {
    order.tiles = KernelBuilder::TileOrder::ShortestFirst;
    order.finalTiles = emitFinalTiles();
  }
  Value rows = ofQueries ? queries : keys;
  if (part.fillsFragments())
    rows = arith::MaxUIOp::create(b, loc, rows, kb.constant(1));
  work = kb.beginWork(kb.size(q, 0), kb.size(ofQueries ? q : k, 1), rows,
                      getTileRows(), order);
  memoryBatch = work.batch;
  if (Value length = kb.emitKeyLength(op, work.batch, keys))
    keyLimit = keys = length;
}

void BackwardEmitter::emitPackedSequence() {
  OpBuilder &b = kb.builder;
  unsigned first = op.getSequenceOperands().getBeginOperandIndex();
  bool ofQueries = part.hasQueryTiles();
  PackedOffsets offsets = {first, first + 1};
  if (!ofQueries)
    std::swap(offsets.queries, offsets.keys);
  // Masks that look back give the first keys the most queries.
  PackedTile tile =
      beginPackedWork(kb, ofQueries ? q : k, ofQueries ? k : q, offsets, plan,
                      /*headsPerSection=*/{},
                      /*firstTilesFirst=*/scratch.querySums && !ofQueries);
  if (!ofQueries) {
    std::swap(tile.firstQuery, tile.firstKey);
    std::swap(tile.queries, tile.keys);
  }
  work = tile.work;
  memoryBatch = kb.constant(0);
  queries = tile.queries;
  keys = tile.keys;
  firstQuery = tile.firstQuery;
  firstKey = tile.firstKey;
  queryLimit = arith::AddIOp::create(b, loc, firstQuery, queries);
  keyLimit = arith::AddIOp::create(b, loc, firstKey, keys);
  if (scratch.querySums)
    firstScratch = emitFirstScratch(tile);
}

/// Blocks of queries are a sequence's own: as many as there are whole ones
/// before it, and one for each sequence, are no fewer than those before it.
Value BackwardEmitter::emitFirstScratch(const PackedTile &tile) {
  OpBuilder &b = kb.builder;
  bool ofQueries = part.hasQueryTiles();
  Value block = kb.constant(ofQueries ? getRows() : getColumns());
  auto countBlocks = [&](Value rows, Value sequences) -> Value {
    return arith::AddIOp::create(
        b, loc, arith::DivUIOp::create(b, loc, rows, block), sequences);
  };
  Value heads = kb.size(ofQueries ? q : k, 1);
  // Offsets that nobody checked may ask for any head and row.
  work.head = arith::MinUIOp::create(
      b, loc, work.head, arith::SubIOp::create(b, loc, heads, kb.constant(1)));
  Value number = countBlocks(firstQuery, work.batch);
  if (!ofQueries)
    return arith::MulIOp::create(b, loc, number, block);
  // What is no item has a block of its own that nobody reads, behind all
  // others.
  Value item = kb.workLoop.getItem();
  auto choose = [&](Value yes, Value no) -> Value {
    return arith::SelectOp::create(b, loc, tile.exists, yes, no);
  };
  number = choose(number, arith::DivUIOp::create(b, loc, item, heads));
  work.head = choose(work.head, arith::RemUIOp::create(b, loc, item, heads));
  work.row = choose(work.row, kb.constant(0));
  // Offsets that nobody checked may ask for any head and row.
  work.head = arith::MinUIOp::create(
      b, loc, work.head, arith::SubIOp::create(b, loc, heads, kb.constant(1)));
  unsigned offsets = op.getSequenceOperands().getBeginOperandIndex();
  Value last = countBlocks(
      kb.size(q, 2),
      arith::SubIOp::create(b, loc, kb.size(kb.operandArgument(offsets), 0),
                            kb.constant(1)));
  Value first = arith::MulIOp::create(b, loc, number, block);
  Value end = arith::MulIOp::create(b, loc, last, block);
  work.row = arith::MinUIOp::create(b, loc, work.row,
                                    arith::SubIOp::create(b, loc, end, first));
  return first;
}

Value BackwardEmitter::toMemory(Value first, Value row) {
  if (!first)
    return row;
  return arith::AddIOp::create(kb.builder, loc, first, row);
}

Value BackwardEmitter::emitLastRow(Value first, Value of) {
  OpBuilder &b = kb.builder;
  Value end = arith::AddIOp::create(b, loc, first, kb.constant(getTileRows()));
  Value clipped = arith::MinSIOp::create(b, loc, end, of);
  Value last = arith::SubIOp::create(b, loc, clipped, kb.constant(1));
  return arith::MaxSIOp::create(b, loc, last, kb.constant(0));
}

/// What `region` says of the `count` rows from `first` on that are below `of`,
/// as a range of the rows of the other side, of which there are `limit`; whole
/// blocks of columns. Without a region, all of them; full where nothing is
/// masked.
FailureOr<BackwardEmitter::Bounds>
BackwardEmitter::emitBounds(Region &region, Value head, Value first, Value of,
                            Value limit) {
  OpBuilder &b = kb.builder;
  Value zero = kb.constant(0), step = kb.constant(getColumns());
  Bounds bounds = {zero, zero, op.getMaskMod().empty() ? limit : zero, limit};
  if (!region.empty()) {
    Value last = emitLastRow(first, of);
    Value start = arith::MinSIOp::create(b, loc, first, last);
    RegionContext context = makeContext({});
    FailureOr<SmallVector<Value>> said =
        RegionToTile(b, context)
            .cloneScalars(region, {work.batch, head, start, last});
    if (failed(said))
      return failure();
    for (Value &bound : *said) {
      bound = arith::MaxSIOp::create(b, loc, bound, zero);
      bound = arith::MinSIOp::create(b, loc, bound, limit);
    }
    bounds = {(*said)[0], (*said)[1], (*said)[2], (*said)[3]};
  }
  auto scale = [&](Value blocks) -> Value {
    return arith::MulIOp::create(b, loc, blocks, step);
  };
  auto roundDown = [&](Value value) {
    return scale(arith::DivUIOp::create(b, loc, value, step));
  };
  // What visits a block in any case needs one that there is.
  if (plan.visitsAtLeastOnce()) {
    Value last = arith::SubIOp::create(
        b, loc, arith::MaxSIOp::create(b, loc, limit, kb.constant(1)),
        kb.constant(1));
    bounds.lower = arith::MinSIOp::create(b, loc, bounds.lower, last);
  }
  bounds.lower = roundDown(bounds.lower);
  bounds.fullLower =
      scale(arith::CeilDivUIOp::create(b, loc, bounds.fullLower, step));
  bounds.fullUpper = roundDown(bounds.fullUpper);
  return bounds;
}

RegionContext BackwardEmitter::makeContext(const ScoreBlock &block) {
  RegionContext context{work.batch,
                        block.head,
                        block.query,
                        block.key,
                        /*queriesOfHead=*/0,
                        queries,
                        keys,
                        captures,
                        getRows(),
                        getColumns(),
                        kb.hasWideIndex,
                        kb.accurateTanh};
  context.rowsAreKeys = !part.hasQueryTiles();
  return context;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void BackwardEmitter::store(Value sum, Value result, Value head, Value row,
                            Value scale, StringRef name) {
  OpBuilder &b = kb.builder;
  auto type = cast<RankedTensorType>(sum.getType());
  if (scale)
    sum = arith::MulFOp::create(
        b, loc, sum,
        scale.getType() == type
            ? scale
            : tile::BroadcastOp::create(b, loc, type, scale).getResult());
  Type target = cast<MemRefType>(result.getType()).getElementType();
  if (!target.isF32())
    sum = arith::TruncFOp::create(b, loc, type.clone(target), sum);
  bool ofQueries = part.hasQueryTiles();
  auto store = tile::StoreOp::create(
      b, loc, sum, result,
      ValueRange{memoryBatch, head, ofQueries ? toQueryRow(row) : toKeyRow(row),
                 kb.constant(0)},
      ArrayRef<int64_t>{2, 3}, b.getStringAttr(name));
  // The rows behind are the next sequence's.
  if (queryLimit)
    store.getLimitMutable().assign(ofQueries ? queryLimit : keyLimit);
}

Value BackwardEmitter::emitScale(int64_t width) {
  if (std::optional<double> constant = op.getConstantScale())
    return kb.splat(getRows(), width, *constant);
  return kb.operandArgument(op.getFirstVariantOperand());
}

FailureOr<BackwardEmitter::Blocks> BackwardEmitter::emitKeyBlocks() {
  Blocks blocks;
  if (op.hasBlocks()) {
    auto listed = std::make_unique<ListedBlocks>(kb, BlockLists::of(kb, op),
                                                 getColumns());
    listed->emitCounts(work, keys,
                       plan.visitsAtLeastOnce() ? ListedBlocks::Else::PastBlock
                                                : ListedBlocks::Else::Nothing);
    blocks.visited = std::move(listed);
    return blocks;
  }
  FailureOr<Bounds> bounds =
      emitBounds(op.getKvBounds(), work.head, work.row, queries, keys);
  if (failed(bounds))
    return failure();
  blocks.bounds = *bounds;
  return blocks;
}

FailureOr<BackwardEmitter::Blocks>
BackwardEmitter::emitQueryBlocks(ScoreBlock &block) {
  OpBuilder &b = kb.builder;
  Blocks blocks;
  if (op.hasBlocks() && part.ordersSums) {
    if (failed(emitOrdered(block, blocks)))
      return failure();
    block.keyEnd = arith::SelectOp::create(b, loc, blocks.ordered->getIsSeen(),
                                           keys, kb.constant(0));
    return blocks;
  }
  if (op.hasBlocks()) {
    auto listed =
        std::make_unique<ListedBlocks>(kb, turned.get(kb), getColumns());
    // What is added to sums needs a block that there is.
    listed->emitCounts({work.batch, block.head, work.row}, queries,
                       plan.visitsAtLeastOnce() ? ListedBlocks::Else::LastBlock
                                                : ListedBlocks::Else::Nothing);
    if (Value isEmpty = listed->getIsEmpty())
      block.keyEnd =
          arith::SelectOp::create(b, loc, isEmpty, kb.constant(0), keys);
    blocks.visited = std::move(listed);
    return blocks;
  }
  FailureOr<Bounds> bounds =
      emitBounds(op.getQueryBounds(), block.head, work.row, keys, queries);
  if (failed(bounds))
    return failure();
  if (keyLimit || part.addsQuery) {
    // Rows of keys that there are not are masked everywhere: their weights are
    // no numbers, and would reach dQ.
    Value end =
        arith::AddIOp::create(b, loc, work.row, kb.constant(getTileRows()));
    Value exist =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, end, keys);
    bounds->fullUpper = arith::SelectOp::create(
        b, loc, exist, bounds->fullUpper, bounds->fullLower);
  }
  blocks.bounds = *bounds;
  if (plan->classify && failed(emitClassified(block, blocks)))
    return failure();
  return blocks;
}

std::pair<RegionContext, Value>
BackwardEmitter::makeClassifiedTile(const ScoreBlock &block) {
  ScoreBlock tile = block;
  Value last = emitLastRow(block.key, keys);
  tile.key = arith::MinSIOp::create(kb.builder, loc, block.key, last);
  RegionContext context = makeContext(tile);
  context.rows = getTileRows();
  return {context, last};
}

std::unique_ptr<BlockWords> BackwardEmitter::makeWords(const ScoreBlock &block,
                                                       const Bounds &bounds) {
  if (op.hasBlocks()) {
    KernelBuilder::Work tile{work.batch, block.head, block.key};
    auto words = std::make_unique<ListedWords>(kb, turned.getBits(kb), tile,
                                               getColumns(), queries);
    words->setRange(kb.constant(0), queries);
    return words;
  }
  auto [tile, last] = makeClassifiedTile(block);
  auto words =
      std::make_unique<ClassifiedWords>(kb, op, tile, op.getFirstCapture());
  words->setLastRow(last);
  words->setRange(bounds.lower, bounds.upper);
  return words;
}

LogicalResult BackwardEmitter::emitOrdered(const ScoreBlock &block,
                                           Blocks &blocks) {
  blocks.ordered =
      std::make_unique<OrderedBlocks>(kb, makeWords(block, blocks.bounds));
  return blocks.ordered->emitCounts();
}

LogicalResult BackwardEmitter::emitClassified(const ScoreBlock &block,
                                              Blocks &blocks) {
  if (part.ordersSums)
    return emitOrdered(block, blocks);
  const Bounds &bounds = blocks.bounds;
  auto [tile, last] = makeClassifiedTile(block);
  auto classified =
      std::make_unique<ClassifiedBlocks>(kb, op, tile, op.getFirstCapture());
  LogicalResult found = classified->emitCounts(bounds.lower, bounds.upper, last,
                                               plan.visitsAtLeastOnce());
  blocks.visited = std::move(classified);
  return found;
}

/// tile.for_blocks visits partial blocks first.
FailureOr<ValueRange> BackwardEmitter::emitOrderedLoop(OrderedBlocks &blocks,
                                                       ValueRange sums,
                                                       LoopBody body) {
  OpBuilder &b = kb.builder;
  SmallVector<Value> inits(sums);
  llvm::append_range(inits, blocks.getInits());
  auto loop = scf::ForOp::create(b, loc, kb.constant(0), blocks.getCount(),
                                 kb.constant(1), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  ValueRange carried = loop.getRegionIterArgs();
  FailureOr<OrderedBlocks::Visit> visit =
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

FailureOr<ValueRange> BackwardEmitter::emitLoop(const Blocks &blocks,
                                                bool upwards, ValueRange sums,
                                                LoopBody body) {
  if (blocks.ordered)
    return emitOrderedLoop(*blocks.ordered, sums, body);
  OpBuilder &b = kb.builder;
  tile::ForBlocksOp loop;
  const Bounds &bounds = blocks.bounds;
  if (VisitedBlocks *visited = blocks.visited.get()) {
    loop = tile::ForBlocksOp::create(b, loc, sums.getTypes(), Value(), Value(),
                                     Value(), Value(), visited->getCount(),
                                     visited->getMasked(), visited->getInits(),
                                     sums, getColumns(), /*descending=*/false,
                                     /*atLeastOnce=*/false);
    Block &visit = loop.getVisit().emplaceBlock();
    visit.addArgument(b.getIndexType(), loc);
    for (Value init : visited->getInits())
      visit.addArgument(init.getType(), loc);
    if (failed(visited->emitVisit(visit)))
      return failure();
  } else {
    loop = tile::ForBlocksOp::create(
        b, loc, sums.getTypes(), bounds.lower, bounds.upper, bounds.fullLower,
        bounds.fullUpper, /*count=*/Value(), /*masked=*/Value(),
        /*inits=*/ValueRange(), sums, getColumns(),
        /*descending=*/plan.visitsAtLeastOnce() && !upwards,
        /*atLeastOnce=*/plan.visitsAtLeastOnce() && upwards);
  }
  SmallVector<Type> types = {b.getIndexType(), b.getI1Type()};
  llvm::append_range(types, sums.getTypes());
  Block &block = *b.createBlock(&loop.getBody(), {}, types,
                                SmallVector<Location>(types.size(), loc));
  FailureOr<SmallVector<Value>> next =
      body(block.getArgument(0), block.getArgument(1),
           block.getArguments().drop_front(2));
  if (failed(next))
    return failure();
  tile::YieldOp::create(b, loc, *next);
  b.setInsertionPointAfter(loop);
  return ValueRange(loop.getResults());
}

LogicalResult BackwardEmitter::emitQueryTile() {
  ScoreBlock block;
  block.head = work.head;
  block.query = work.row;
  block.scratchRow = toScratchRow(work.row);
  if (part.kind == BackwardPart::Round) {
    emitRounded();
    return success();
  }
  block.delta = emitDelta(block);
  if (part.sums && op.getSinksGradient())
    addSinkGradient(block);
  if (part.kind == BackwardPart::Delta) {
    if (part.addsQuery)
      tile::StoreOp::create(
          kb.builder, loc, kb.splat(getRows(), headDim, 0.0),
          scratchArgument(scratch.querySums),
          ValueRange{memoryBatch, work.head, block.scratchRow, kb.constant(0)},
          ArrayRef<int64_t>{2, 3}, kb.builder.getStringAttr("dq_sum"))
          .setFragments(true);
    if (part.ordersSums)
      emitNoTurnsYet();
    return success();
  }
  loadQueries(block, /*needsOutputGradients=*/true);
  FailureOr<Blocks> blocks = emitKeyBlocks();
  if (failed(blocks))
    return failure();
  SmallVector<Value> inits;
  if (part.query)
    inits.push_back(kb.splat(getRows(), headDim, 0.0));
  FailureOr<ValueRange> results = emitLoop(
      *blocks, /*upwards=*/false, inits,
      [&](Value key, Value partial,
          ValueRange carried) -> FailureOr<SmallVector<Value>> {
        block.key = key;
        block.partial = partial;
        loadKeys(block);
        FailureOr<Weights> weights = emitWeights(block);
        if (failed(weights))
          return failure();
        auto [byWeight, delta] = emitPairProduct(
            block, {"dp", block.outputGradients, block.values},
            {"delta", scratch.delta, block.delta, part.deltaFirst});
        FailureOr<Value> gradients =
            emitGradients(block, *weights, delta, byWeight);
        if (failed(gradients))
          return failure();
        if (!part.query)
          return SmallVector<Value>();
        return SmallVector<Value>{product("dq", *gradients, block.keys,
                                          carried[0], /*transposeB=*/false)};
      });
  if (failed(results))
    return failure();
  if (part.query)
    store(results->front(), resultArgument(op.getQueryGradient()), work.head,
          work.row, emitScale(headDim), "dq_out");
  return success();
}

void BackwardEmitter::emitRounded() {
  Value sums =
      kb.loadHead(scratchArgument(scratch.querySums), memoryBatch, work.head,
                  toScratchRow(work.row), 0, getRows(), headDim,
                  /*limit=*/Value(), "");
  sums.getDefiningOp<tile::LoadOp>().setFragments(true);
  store(sums, resultArgument(op.getQueryGradient()), work.head, work.row,
        emitScale(headDim), "dq_out");
}

LogicalResult BackwardEmitter::emit() {
  if (part.kind == BackwardPart::Turns)
    return emitTurns();
  emitCoordinates();
  if (failed(part.hasQueryTiles() ? emitQueryTile() : emitKeyTile()))
    return failure();
  kb.endWork();
  return success();
}
