//===- ForwardTiles.cpp - Tiles of a forward kernel -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForwardEmitter.h"
#include "ScoreBoxes.h"

#include "fovea/Support/ValueNames.h"
#include "fovea/Target/ScheduleRemarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fovea;

// Queries of a head that heads are packed for. Any tile's rows are a multiple.
static constexpr int64_t kMaxPackedQueries = 16;

/// With few queries, tiles would have few rows. The heads that share keys have
/// the same work: they become rows, too. Not where what a region or a random
/// number makes of a head must be one value, and where nothing is shared.
PackedHeads ForwardEmitter::findPackedHeads() {
  int64_t queries = op.getQueryType().getDimSize(op.getSequenceDim()),
          heads = op.getQueryType().getDimSize(op.getHeadDim()),
          keyHeads = op.getKeyType().getDimSize(op.getHeadDim());
  Region &bounds = op.getKvBounds();
  bool boundsAskForHead = !bounds.empty() && !bounds.getArgument(1).use_empty();
  if (ShapedType::isDynamic(queries) || queries < 1 ||
      queries > kMaxPackedQueries || ShapedType::isDynamic(heads) ||
      ShapedType::isDynamic(keyHeads) || heads == keyHeads ||
      op.getDropoutAttr() || op.hasBlocks() ||
      op.getSequence().getKeyPlaces().arePacked || boundsAskForHead)
    return {};
  return {heads / keyHeads, int64_t(llvm::PowerOf2Ceil(queries))};
}

LogicalResult ForwardEmitter::chooseTiles() {
  element = op.getQueryType().getElementType();
  if (failed(checkTensors(kb, op)))
    return failure();
  // Products take steps of 16; the columns past the head dim are zero.
  headDim = kb.padHeadDim(op.getQueryType());
  valueHeadDim = kb.padHeadDim(op.getValueType());
  ScoreBoxes boxes = findScoreBoxes(op);
  // Boxes of captured values run along queries and keys.
  if (boxes.captures.empty())
    kb.packedHeads = findPackedHeads();
  ScheduleProblem problem = makeProblem(boxes);
  FailureOr<plan::KernelAttr> chosen =
      chooseSchedule(op.getContext(), problem, kb.scheduleOverrides,
                     kb.scheduleTable, [&] { return op.emitError(); });
  if (failed(chosen))
    return failure();
  if (kb.explainSchedule)
    // Not the op's own, which prints the op behind every remark.
    emitRemark(op.getLoc())
        << "schedule " << ScheduleFields::from(*chosen).print()
        << " for the problem "
        << llvm::formatv("{0}", llvm::json::Value(describeProblem(problem)))
               .str();
  plan = *chosen;
  remarkSchedule(
      {op, getFunctionName(), kb.scheduleOverrides, kb.scheduleTable}, problem,
      plan);
  if (failed(dropUnusedFields(boxes)))
    return failure();
  rows = plan.getClusterRows();
  columns = plan->tileN;
  if (stagesScores())
    for (unsigned capture : boxes.captures)
      kb.makeContiguous(op.getFirstCapture() + capture);
  return success();
}

StringRef ForwardEmitter::getFunctionName() {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function ? function.getName() : StringRef();
}

LogicalResult ForwardEmitter::reportUnused(StringRef field,
                                           const Twine &reason) {
  return reportMissed(op, getFunctionName(), plan.isAsked(field), field,
                      reason);
}

LogicalResult ForwardEmitter::dropUnusedFields(const ScoreBoxes &boxes) {
  if (stagesScores() && boxes.captures.empty()) {
    if (failed(reportUnused("score_stages",
                            "score_mod reads no captured tensor "
                            "block by block")))
      return failure();
    plan = plan.withoutStream("score");
  }
  if (!plan->classify || (classifies() && !op.hasBlocks()))
    return success();
  if (failed(reportUnused(
          "classify", op.hasBlocks() ? "the blocks to visit are listed"
                      : kb.packedHeads
                          ? "few queries' blocks are cheaper visited than "
                            "asked about"
                          : "the mask leaves no blocks out of the range that "
                            "is visited")))
    return failure();
  plan = plan.change([](plan::KernelPlan &kernel) { kernel.classify = false; });
  return success();
}

/// Bytes of a key and its value.
int64_t ForwardEmitter::getKeyBytes() {
  return (headDim + valueHeadDim) * element.getIntOrFloatBitWidth() / 8;
}

/// The number of heads that are worked on together: enough to fill the chip,
/// few enough for their keys and values to stay in L2.
Value ForwardEmitter::emitHeadsPerSection(Value keys) {
  OpBuilder &b = kb.builder;
  Value positive = arith::MaxSIOp::create(b, loc, keys, kb.constant(1));
  // Heads whose keys and values fit; the product of sizes may not fit 32 bits.
  auto fit = [&](int64_t bytes) -> Value {
    Value rows = kb.constant(bytes / getKeyBytes());
    Value count = arith::DivUIOp::create(b, loc, rows, positive);
    return arith::MaxUIOp::create(b, loc, count, kb.constant(1));
  };
  // Several tiles of one head at a time walk its keys together: for long
  // sequences, more heads than fit are better than one head's tiles alone.
  Value spilling = arith::MinUIOp::create(
      b, loc, fit(2 * kb.target->sharedInL2), kb.constant(16));
  Value least = arith::MaxUIOp::create(b, loc, spilling, kb.constant(8));
  Value wanted =
      arith::MaxUIOp::create(b, loc, fit(kb.target->sharedInL2), least);
  Value heads = arith::MulIOp::create(b, loc, kb.size(q, 0), kb.size(q, 1));
  return arith::MinUIOp::create(b, loc, wanted, heads);
}

/// The number of tiles of each head whose own keys and values, all heads'
/// together, stay in L2.
Value ForwardEmitter::emitFinalTiles(Value heads) {
  OpBuilder &b = kb.builder;
  Value fit = kb.constant(kb.target->sharedInL2 / (getKeyBytes() * rows));
  Value all = arith::MulIOp::create(b, loc, kb.size(q, 0), heads);
  Value some = arith::MaxUIOp::create(b, loc, all, kb.constant(1));
  return arith::DivUIOp::create(b, loc, fit, some);
}

void ForwardEmitter::emitCoordinates() {
  OpBuilder &b = kb.builder;
  q = kb.operandArgument(0);
  k = kb.operandArgument(1);
  v = kb.operandArgument(2);
  o = kb.resultArgument(0);
  lse = op.getLse() ? kb.resultArgument(1) : Value();
  for (unsigned i = 0; i < op.getCaptures().size(); ++i)
    captures.push_back(kb.operandArgument(op.getFirstCapture() + i));

  // What does not depend on the tile stands before the loop over tiles.
  queries = kb.size(q, 2);
  keys = kb.size(k, 2);
  if (kb.packedHeads) {
    auto [heads, rowsOfHead] = kb.packedHeads;
    emitBatchEntry(kb.size(k, 1), kb.constant(kb.packedHeads.getRows()));
    keyHead = work.head;
    Value first = arith::MulIOp::create(b, loc, keyHead, kb.constant(heads));
    Value inGroup =
        arith::DivUIOp::create(b, loc, work.row, kb.constant(rowsOfHead));
    firstRow = arith::AddIOp::create(b, loc, first, inGroup);
    rowLimit = arith::AddIOp::create(b, loc, first, kb.constant(heads));
    return;
  }
  Value group = arith::DivUIOp::create(b, loc, kb.size(q, 1), kb.size(k, 1));
  if (op.getSequence().getKeyPlaces().arePacked)
    emitPackedSequence();
  else
    emitBatchEntry(kb.size(q, 1), queries);
  keyHead =
      arith::DivUIOp::create(b, getNamedLoc(loc, "kv_head"), work.head, group);
  firstRow = toMemory(firstQuery, work.row);
}

/// Sequences that are entries of the batch.
void ForwardEmitter::emitBatchEntry(Value heads, Value headRows) {
  KernelBuilder::WorkOrder order{plan->work, {}, {}, sharesBoxes()};
  if (hasSections())
    order.headsPerSection = emitHeadsPerSection(keys);
  if (kb.finalTiles && hasSections() &&
      plan->work == plan::WorkSchedule::Dynamic)
    order.finalTiles = emitFinalTiles(heads);
  work = kb.beginWork(kb.size(q, 0), heads, headRows, rows, order);
  memoryBatch = work.batch;
  if (Value length = kb.emitKeyLength(op, work.batch, keys))
    keyLimit = keys = length;
}

void ForwardEmitter::emitPackedSequence() {
  OpBuilder &b = kb.builder;
  unsigned first = op.getSequenceOperands().getBeginOperandIndex();
  auto headsPerSection = [&](Value keys) { return emitHeadsPerSection(keys); };
  llvm::function_ref<Value(Value)> sections;
  if (hasSections())
    sections = headsPerSection;
  PackedTile tile =
      beginPackedWork(kb, q, k, {first, first + 1}, plan, sections);
  work = tile.work;
  memoryBatch = kb.constant(0);
  queries = tile.queries;
  keys = tile.keys;
  firstQuery = tile.firstQuery;
  firstKey = tile.firstKey;
  rowLimit = arith::AddIOp::create(b, loc, firstQuery, queries);
  keyLimit = arith::AddIOp::create(b, loc, firstKey, keys);
}

Value ForwardEmitter::toMemory(Value first, Value row) {
  if (!first)
    return row;
  return arith::AddIOp::create(kb.builder, loc, first, row);
}

SmallVector<Value> ForwardEmitter::getRowPlace() {
  Value zero = kb.constant(0);
  if (kb.packedHeads)
    return {memoryBatch, firstRow, zero, zero};
  return {memoryBatch, work.head, firstRow, zero};
}

DenseI64ArrayAttr ForwardEmitter::getFold() {
  if (kb.packedHeads.queries == 1)
    return {};
  return kb.builder.getDenseI64ArrayAttr({2, kb.packedHeads.queries});
}

RegionContext ForwardEmitter::makeContext(Value key) {
  bool rowsAreHeads = static_cast<bool>(kb.packedHeads);
  return {work.batch,
          work.head,
          rowsAreHeads ? firstRow : work.row,
          key,
          rowsAreHeads ? kb.packedHeads.queries : 0,
          queries,
          keys,
          captures,
          rows,
          columns,
          kb.hasWideIndex,
          kb.accurateTanh,
          /*summaries=*/nullptr,
          /*partsRows=*/plan->rowTiles > 1};
}

Value ForwardEmitter::roundDown(Value value) {
  Value blocks =
      arith::DivUIOp::create(kb.builder, loc, value, kb.constant(columns));
  return arith::MulIOp::create(kb.builder, loc, blocks, kb.constant(columns));
}

Value ForwardEmitter::roundUp(Value value) {
  Value blocks =
      arith::CeilDivUIOp::create(kb.builder, loc, value, kb.constant(columns));
  return arith::MulIOp::create(kb.builder, loc, blocks, kb.constant(columns));
}

Value ForwardEmitter::emitLastQuery(Value end) {
  OpBuilder &b = kb.builder;
  Value last = arith::SubIOp::create(b, loc, end, kb.constant(1));
  // Some slots of packed sequences have no queries.
  if (!op.getSequence().getKeyPlaces().arePacked)
    return last;
  return arith::MaxSIOp::create(b, loc, last, kb.constant(0));
}

/// What kv_bounds says of the rows from `start` to before `end`, as far as
/// there are such queries.
FailureOr<KeyBounds> ForwardEmitter::emitKeyBounds(Value start, Value end) {
  OpBuilder &b = kb.builder;
  Value clipped = arith::MinSIOp::create(b, loc, end, queries);
  Value last = emitLastQuery(clipped);
  RegionContext context = makeContext(Value());
  FailureOr<SmallVector<Value>> bounds =
      RegionToTile(b, context)
          .cloneScalars(op.getKvBounds(), {work.batch, work.head, start, last});
  if (failed(bounds))
    return failure();
  for (Value &bound : *bounds) {
    // These are right as they are, and recognised below.
    if (bound == keys || matchPattern(bound, m_Zero()))
      continue;
    Value positive = arith::MaxSIOp::create(b, loc, bound, kb.constant(0));
    // Unsigned, since then a bound of 0 folds.
    bound = arith::MinUIOp::create(b, loc, positive, keys);
  }
  return KeyBounds{(*bounds)[0], (*bounds)[1], (*bounds)[2], (*bounds)[3]};
}

/// The rows of the tile that the executing threads hold, from the first to
/// before the end.
std::pair<Value, Value> ForwardEmitter::emitHeldRows() {
  OpBuilder &b = kb.builder;
  auto held =
      tile::HeldRowsOp::create(b, loc, kb.tileType(rows, 1, b.getF32Type()));
  Value first = arith::AddIOp::create(b, loc, work.row, held.getFirst());
  return {first, arith::AddIOp::create(b, loc, first, held.getCount())};
}

/// The keys that some held row may see. Bounds are those of queries that exist;
/// a mask may show more to the rows past the last one.
SmallVector<Value, 2> ForwardEmitter::emitVisibleKeys(const KeyBounds &held) {
  OpBuilder &b = kb.builder;
  bool startsAtFirst = matchPattern(held.lower, m_Zero());
  bool endsAtLast = held.upper == keys;
  if (startsAtFirst && endsAtLast)
    return {held.lower, held.upper};
  Value end = emitHeldRows().second;
  Value exist =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, end, queries);
  auto choose = [&](Value bound, Value other) -> Value {
    return arith::SelectOp::create(b, loc, exist, bound, other);
  };
  return {startsAtFirst ? held.lower : choose(held.lower, kb.constant(0)),
          endsAtLast ? held.upper : choose(held.upper, keys)};
}

/// The bounds for those rows of the tile that the executing threads hold.
FailureOr<KeyBounds> ForwardEmitter::emitHeldKeyBounds() {
  OpBuilder &b = kb.builder;
  auto [first, end] = emitHeldRows();
  // They may all lie past the last query; bounds are of some.
  Value most = emitLastQuery(queries);
  Value start = arith::MinSIOp::create(b, loc, first, most);
  return emitKeyBounds(start, end);
}

/// The blocks of keys that are visited, and those among them that need no mask.
/// All warps visit the same, but they may mask each what its rows need.
LogicalResult ForwardEmitter::emitBounds() {
  OpBuilder &b = kb.builder;
  Value zero = kb.constant(0);
  lower = fullLower = zero;
  upper = keys;
  fullUpper = op.getMaskMod().empty() ? keys : zero;
  if (!op.getKvBounds().empty()) {
    // Where heads are rows each tile has all queries.
    Value start = kb.packedHeads ? zero : work.row;
    Value end = arith::AddIOp::create(b, loc, start, kb.constant(rows));
    FailureOr<KeyBounds> tile = emitKeyBounds(start, end);
    if (failed(tile))
      return failure();
    lower = tile->lower;
    upper = tile->upper;
    FailureOr<KeyBounds> held = *tile;
    if (partsRows())
      held = emitHeldKeyBounds();
    if (failed(held))
      return failure();
    if (partsRows())
      visible = emitVisibleKeys(*held);
    fullLower = held->fullLower;
    fullUpper = held->fullUpper;
  }
  lower = roundDown(lower);
  fullLower = roundUp(fullLower);
  fullUpper = arith::MaxSIOp::create(b, loc, roundDown(fullUpper), fullLower);
  return success();
}
