//===- ForwardToTile.cpp - attn.forward as a tile program -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ClassifiedBlocks.h"
#include "KernelBuilder.h"
#include "KeyChunks.h"
#include "RegionDependences.h"
#include "RegionToTile.h"
#include "ScoreBoxes.h"
#include "UniformExtracts.h"
#include "VisitedBlocks.h"

#include "fovea/Target/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fovea;

// A warp group is four warps.
static constexpr int64_t kGroupWarps = 4;
// Queries of a head that heads are packed for. Any tile's rows are a multiple.
static constexpr int64_t kMaxPackedQueries = 16;

namespace {
/// What kv_bounds says, within the keys that there are.
struct KeyBounds {
  Value lower, fullLower, fullUpper, upper;
};

/// The parts of one forward kernel, in the order of its program.
class ForwardEmitter {
public:
  ForwardEmitter(KernelBuilder &kb, attn::ForwardOp op)
      : kb(kb), op(op), loc(op.getLoc()) {}

  FailureOr<tile::ScheduleAttr> emit();

private:
  LogicalResult chooseTiles();
  PackedHeads findPackedHeads();
  /// Operand number of the first captured value.
  unsigned getFirstCapture() { return op.getScaleValue() ? 4 : 3; }
  /// Whether a tile of queries visits some blocks only.
  bool picksBlocks() {
    return !op.getKvBounds().empty() || !op.getKvClassify().empty() ||
           op.hasBlocks();
  }
  /// Whether tiles of queries differ in how many keys they visit.
  bool isUneven() {
    return picksBlocks() || !isa<attn::DenseAttr>(op.getSequence());
  }
  /// Whether blocks of a range can be told apart. One query's blocks are
  /// cheaper visited than asked about.
  bool classifies() { return !kb.packedHeads && !op.getKvClassify().empty(); }
  /// Whether batch entries read the same blocks of captured tensors.
  bool sharesBoxes() {
    Region &scoreMod = op.getScoreMod();
    return schedule.getScoreStages() != 0 && !scoreMod.empty() &&
           scoreMod.getArgument(1).use_empty();
  }
  /// Whether heads are taken in sections, the longest tiles first.
  bool hasSections() {
    return picksBlocks() && schedule.getWork() != tile::WorkSchedule::Single;
  }
  Value emitHeadsPerSection(Value keys);
  void emitCoordinates();
  /// Whether warp groups compute parts of a tile's rows, each on its own.
  bool partsRows() {
    return schedule.isSpecialized() && !kb.packedHeads &&
           schedule.getWarps() * schedule.getCluster() > kGroupWarps;
  }
  FailureOr<KeyBounds> emitKeyBounds(Value start, Value end);
  FailureOr<KeyBounds> emitHeldKeyBounds();
  void emitBatchEntry(Value heads, Value headRows);
  void emitPackedSequence();
  LogicalResult emitBlocks();
  /// Row of memory that a sequence's row is.
  Value toMemory(Value first, Value row);
  /// Indices of the tile's first row in Q, O and, but for the last, LSE.
  SmallVector<Value> getRowPlace();
  /// The dimension of those that rows run along, and what is folded into it.
  int64_t getRowDim() { return kb.packedHeads ? 1 : 2; }
  DenseI64ArrayAttr getFold();
  LogicalResult emitBounds();
  FailureOr<tile::SoftmaxSumOp> emitSum();
  LogicalResult emitScores(tile::SoftmaxSumOp sum);
  FailureOr<Score> emitScore(tile::SoftmaxSumOp sum, Value key, Value products);
  void emitResults(tile::SoftmaxSumOp sum);
  FailureOr<Value> applyMask(Value key, Value score);
  FailureOr<Value> emitMask(Value key, Value score);
  Value hideIfRagged(Value key, Value score);
  Value hide(Value keep, Value score);
  Value hideMissingKeys(Value key, Value score);
  RegionContext makeContext(Value key);
  void emitDropout(Region &weights);
  Value emitSink();
  Value emitCommonScore();
  Value roundDown(Value value);
  Value roundUp(Value value);

  KernelBuilder &kb;
  attn::ForwardOp op;
  Location loc;

  tile::ScheduleAttr schedule;
  int64_t rows, columns, headDim, valueHeadDim;
  Type element;
  Value q, k, v, o, lse;
  SmallVector<Value> captures;
  KernelBuilder::Work work;
  /// Lengths of the sequence, and where it lies: a batch index of the tensors
  /// and the first rows there, null where they are 0.
  Value keyHead, queries, keys, memoryBatch, firstQuery, firstKey;
  /// The tile's first row in memory, along the dimension that rows run along;
  /// where rows and keys end there, if others follow.
  Value firstRow, rowLimit, keyLimit;
  Value lower, upper, fullLower, fullUpper;
  /// Keys that rows held by the executing threads may see; empty: all.
  SmallVector<Value, 2> visible;
  /// Set where single blocks are visited, instead of a range.
  std::unique_ptr<VisitedBlocks> visited;
  Value queryTile;
  /// What the scores of a row have in common, by row; see Score.
  Value rowStep;
};
} // namespace

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
      isa<attn::PackedAttr>(op.getSequence()) || boundsAskForHead)
    return {};
  return {heads / keyHeads, int64_t(llvm::PowerOf2Ceil(queries))};
}

/// Whether a region reads captured tensors at places that depend on both query
/// and key.
static bool loadsPerScore(Region &region, unsigned captures) {
  if (region.empty())
    return false;
  RegionDependences dependences(region, captures);
  BlockArgument key = region.getArguments().drop_back(captures).back();
  // What many keys share is loaded for those together.
  auto isOfSingleKey = [&](Value index) {
    return (dependences.of(index) & RegionDependences::OnKey) &&
           !getKeyChunk(index, key);
  };
  return llvm::any_of(region.front().getOps<tensor::ExtractOp>(),
                      [&](tensor::ExtractOp extract) {
                        return dependences.isByScore(extract) &&
                               llvm::any_of(extract.getIndices(),
                                            isOfSingleKey);
                      });
}

LogicalResult ForwardEmitter::chooseTiles() {
  element = op.getQueryType().getElementType();
  if (element.isF32())
    return op.emitError("target '")
           << kb.target->name
           << "' multiplies f16 and bf16 matrices, found f32 query, key and "
              "value";
  if (!op.getSequence().isLowered())
    return op.emitError("sequence form '")
           << op.getSequence().getKeyword()
           << "' is not lowered yet, only 'dense', 'lengths' and 'packed' are";
  int64_t d = op.getQueryType().getDimSize(3),
          dv = op.getValueType().getDimSize(3);
  for (auto [name, size] : {std::pair("query", d), {"value", dv}})
    if (size % 8 != 0 || size < 8 || size > 256)
      return op.emitError("head dims must be multiples of 8 up to 256 on '")
             << kb.target->name << "', found " << size << " for the " << name;
  // Products take steps of 16; the columns past the head dim are zero.
  headDim = llvm::alignTo(d, 16);
  valueHeadDim = llvm::alignTo(dv, 16);
  ScheduleProblem problem{kb.target, element.getIntOrFloatBitWidth(), headDim,
                          valueHeadDim};
  problem.uneven = isUneven();
  problem.wideExponent = element.isBF16();
  problem.lse = static_cast<bool>(op.getLse());
  ScoreBoxes boxes = findScoreBoxes(op);
  problem.scoreBits = boxes.bits;
  // Boxes of captured values run along queries and keys.
  if (boxes.captures.empty())
    kb.packedHeads = findPackedHeads();
  problem.rows = kb.packedHeads.getRows();
  problem.classifies = classifies();
  problem.scoreMod = !op.getScoreMod().empty();
  problem.dropout = static_cast<bool>(op.getDropoutAttr());
  problem.loadsPerScore =
      loadsPerScore(op.getScoreMod(), op.getCaptures().size()) ||
      loadsPerScore(op.getMaskMod(), op.getCaptures().size());
  if (op.hasBlocks()) {
    problem.queryBlock = op.getQueryBlock();
    problem.keyBlock = op.getKeyBlock();
  }
  FailureOr<tile::ScheduleAttr> chosen =
      chooseSchedule(op.getContext(), problem, kb.scheduleOverrides,
                     kb.scheduleTable, [&] { return op.emitError(); });
  if (failed(chosen))
    return failure();
  if (kb.explainSchedule)
    op.emitRemark() << *chosen << " for the problem "
                    << llvm::formatv(
                           "{0}", llvm::json::Value(describeProblem(problem)))
                           .str();
  schedule = *chosen;
  rows = schedule.getClusterRows();
  columns = schedule.getTileN();
  if (schedule.getScoreStages() != 0)
    for (unsigned capture : boxes.captures)
      kb.makeContiguous(getFirstCapture() + capture);
  return success();
}

/// The number of heads that are worked on together: enough to fill the chip,
/// few enough for their keys and values to stay in L2.
Value ForwardEmitter::emitHeadsPerSection(Value keys) {
  OpBuilder &b = kb.builder;
  constexpr int64_t kMegabyte = 1 << 20;
  int64_t keyBytes =
      (headDim + valueHeadDim) * element.getIntOrFloatBitWidth() / 8;
  Value positive = arith::MaxSIOp::create(b, loc, keys, kb.constant(1));
  // Heads whose keys and values fit; the product of sizes may not fit 32 bits.
  auto fit = [&](int64_t megabytes) -> Value {
    Value rows = kb.constant(megabytes * kMegabyte / keyBytes);
    Value count = arith::DivUIOp::create(b, loc, rows, positive);
    return arith::MaxUIOp::create(b, loc, count, kb.constant(1));
  };
  // Several tiles of one head at a time walk its keys together: for long
  // sequences, more heads than fit are better than one head's tiles alone.
  Value spilling = arith::MinUIOp::create(b, loc, fit(64), kb.constant(16));
  Value least = arith::MaxUIOp::create(b, loc, spilling, kb.constant(8));
  Value wanted = arith::MaxUIOp::create(b, loc, fit(32), least);
  Value heads = arith::MulIOp::create(b, loc, kb.size(q, 0), kb.size(q, 1));
  return arith::MinUIOp::create(b, loc, wanted, heads);
}

void ForwardEmitter::emitCoordinates() {
  OpBuilder &b = kb.builder;
  q = kb.operandArgument(0);
  k = kb.operandArgument(1);
  v = kb.operandArgument(2);
  o = kb.resultArgument(0);
  lse = op.getLse() ? kb.resultArgument(1) : Value();
  for (unsigned i = 0; i < op.getCaptures().size(); ++i)
    captures.push_back(kb.operandArgument(getFirstCapture() + i));

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
  if (isa<attn::PackedAttr>(op.getSequence()))
    emitPackedSequence();
  else
    emitBatchEntry(kb.size(q, 1), queries);
  keyHead = arith::DivUIOp::create(b, loc, work.head, group);
  firstRow = toMemory(firstQuery, work.row);
}

/// Sequences that are entries of the batch.
void ForwardEmitter::emitBatchEntry(Value heads, Value headRows) {
  OpBuilder &b = kb.builder;
  KernelBuilder::WorkOrder order{schedule.getWork(), {}, sharesBoxes()};
  if (hasSections())
    order.headsPerSection = emitHeadsPerSection(keys);
  work = kb.beginWork(kb.size(q, 0), heads, headRows, rows, order);
  memoryBatch = work.batch;
  if (!isa<attn::LengthsAttr>(op.getSequence()))
    return;
  Value lengths =
      kb.operandArgument(op.getSequenceOperands().getBeginOperandIndex());
  Value length = memref::LoadOp::create(b, loc, lengths, work.batch);
  Value wide = arith::IndexCastOp::create(b, loc, b.getIndexType(), length);
  Value positive = arith::MaxSIOp::create(b, loc, wide, kb.constant(0));
  keys = arith::MinSIOp::create(b, loc, positive, keys);
  keyLimit = keys;
}

void ForwardEmitter::emitPackedSequence() {
  OpBuilder &b = kb.builder;
  unsigned first = op.getSequenceOperands().getBeginOperandIndex();
  auto headsPerSection = [&](Value keys) { return emitHeadsPerSection(keys); };
  llvm::function_ref<Value(Value)> sections;
  if (hasSections())
    sections = headsPerSection;
  PackedTile tile = beginPackedWork(kb, q, k, kb.operandArgument(first),
                                    kb.operandArgument(first + 1), rows,
                                    schedule.getWork(), sections);
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
          kb.accurateTanh};
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

/// What kv_bounds says of the rows from `start` to before `end`, as far as
/// there are such queries.
FailureOr<KeyBounds> ForwardEmitter::emitKeyBounds(Value start, Value end) {
  OpBuilder &b = kb.builder;
  Value clipped = arith::MinSIOp::create(b, loc, end, queries);
  Value last = arith::SubIOp::create(b, loc, clipped, kb.constant(1));
  RegionContext context = makeContext(Value());
  FailureOr<SmallVector<Value>> bounds =
      RegionToTile(b, context)
          .cloneScalars(op.getKvBounds(), {work.batch, work.head, start, last});
  if (failed(bounds))
    return failure();
  for (Value &bound : *bounds) {
    Value positive = arith::MaxSIOp::create(b, loc, bound, kb.constant(0));
    // Unsigned, since then a bound of 0 folds.
    bound = arith::MinUIOp::create(b, loc, positive, keys);
  }
  return KeyBounds{(*bounds)[0], (*bounds)[1], (*bounds)[2], (*bounds)[3]};
}

/// The bounds for those rows of the tile that the executing threads hold.
FailureOr<KeyBounds> ForwardEmitter::emitHeldKeyBounds() {
  OpBuilder &b = kb.builder;
  auto held =
      tile::HeldRowsOp::create(b, loc, kb.tileType(rows, 1, b.getF32Type()));
  Value first = arith::AddIOp::create(b, loc, work.row, held.getFirst());
  Value end = arith::AddIOp::create(b, loc, first, held.getCount());
  // They may all lie past the last query; bounds are of some.
  Value most = arith::SubIOp::create(b, loc, queries, kb.constant(1));
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
      visible = {held->lower, held->upper};
    fullLower = held->fullLower;
    fullUpper = held->fullUpper;
  }
  lower = roundDown(lower);
  fullLower = roundUp(fullLower);
  fullUpper = arith::MaxSIOp::create(b, loc, roundDown(fullUpper), fullLower);
  return success();
}

/// `score` where `keep` holds, else -inf.
Value ForwardEmitter::hide(Value keep, Value score) {
  Value hidden =
      kb.splat(rows, columns, -std::numeric_limits<double>::infinity());
  return arith::SelectOp::create(kb.builder, loc, keep, score, hidden);
}

/// Hides keys past the last one.
Value ForwardEmitter::hideMissingKeys(Value key, Value score) {
  OpBuilder &b = kb.builder;
  RegionContext context = makeContext(key);
  RegionToTile cloner(b, context);
  Value keyTile = cloner.getKeyTile(loc);
  Value count = arith::IndexCastOp::create(b, loc, b.getI32Type(), keys);
  Value counts = tile::BroadcastOp::create(b, loc, keyTile.getType(), count);
  Value exists =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, keyTile, counts);
  return hide(cloner.toFullTile(loc, exists), score);
}

/// `score` without what mask_mod drops.
FailureOr<Value> ForwardEmitter::applyMask(Value key, Value score) {
  RegionContext context = makeContext(key);
  FailureOr<Value> keep =
      RegionToTile(kb.builder, context).cloneMaskMod(op.getMaskMod());
  if (failed(keep))
    return failure();
  return hide(*keep, score);
}

/// Hides missing keys where the block has such.
Value ForwardEmitter::hideIfRagged(Value key, Value score) {
  OpBuilder &b = kb.builder;
  Value end = arith::AddIOp::create(b, loc, key, kb.constant(columns));
  Value isRagged =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, end, keys);
  auto branch = scf::IfOp::create(b, loc, score.getType(), isRagged,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  Value existing = hideMissingKeys(key, score);
  scf::YieldOp::create(b, loc, existing);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, score);
  return branch.getResult(0);
}

/// Hides the keys of a block that don't exist or that mask_mod drops.
FailureOr<Value> ForwardEmitter::emitMask(Value key, Value score) {
  if (op.getMaskMod().empty())
    return hideMissingKeys(key, score);
  FailureOr<Value> kept = applyMask(key, score);
  if (failed(kept))
    return failure();
  // Of the blocks that need the mask, only the last one can be ragged.
  return hideIfRagged(key, *kept);
}

/// What score_mod makes of the products of queries and keys.
FailureOr<Score> ForwardEmitter::emitScore(tile::SoftmaxSumOp sum, Value key,
                                           Value products) {
  OpBuilder invariant(sum);
  ScoreForm form = ScoreForm::of(products);
  Factor &factor = form.full.front().factor;
  if (std::optional<double> scale = op.getConstantScale())
    factor.constant = *scale;
  else
    factor.scalar = kb.operandArgument(3);
  if (op.getScoreMod().empty())
    return ScoreFormEmitter(kb.builder, invariant, loc, rows, columns)
        .emitScore(form);
  RegionContext context = makeContext(key);
  auto clone = [&](const ExtractPlaces *places) {
    return RegionToTile(kb.builder, context, places)
        .cloneScoreMod(op.getScoreMod(), form, invariant);
  };
  UniformExtracts extracts(kb.builder, context, op.getScoreMod());
  Value isUniform = extracts.emitCondition();
  if (!isUniform)
    return clone(nullptr);
  auto branch = scf::IfOp::create(kb.builder, loc, products.getType(),
                                  isUniform, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(kb.builder);
  FailureOr<Score> score;
  for (Block *block : {branch.thenBlock(), branch.elseBlock()}) {
    kb.builder.setInsertionPointToEnd(block);
    // What can be left out of scores does not depend on what is read.
    score =
        clone(block == branch.thenBlock() ? &extracts.getPlaces() : nullptr);
    if (failed(score))
      return failure();
    scf::YieldOp::create(kb.builder, loc, score->scores);
  }
  score->scores = branch.getResult(0);
  return score;
}

LogicalResult ForwardEmitter::emitScores(tile::SoftmaxSumOp sum) {
  OpBuilder &b = kb.builder;
  Block &block = sum.getScores().front();
  b.setInsertionPointToEnd(&block);
  Value key = block.getArgument(0), partial = block.getArgument(1);
  // Keys past the last one are no concern: their scores are hidden.
  Value keyTile = kb.loadHead(k, memoryBatch, keyHead, toMemory(firstKey, key),
                              0, columns, headDim);
  Value products = tile::DotOp::create(b, loc, queryTile, keyTile,
                                       kb.splat(rows, columns, 0.0),
                                       /*transposeB=*/true);
  FailureOr<Score> made = emitScore(sum, key, products);
  if (failed(made))
    return failure();
  Value score = made->scores;
  sum.setScaleAttr(b.getF32FloatAttr(made->scale));
  rowStep = made->rowStep;

  if (visited && !op.getMaskMod().empty() && !visited->hasFullBlocks()) {
    FailureOr<Value> visible = applyMask(key, score);
    if (failed(visible))
      return failure();
    score = *visible;
  } else if (!visited || !op.getMaskMod().empty()) {
    auto masked = scf::IfOp::create(b, loc, score.getType(), partial,
                                    /*withElseRegion=*/true);
    b.setInsertionPointToEnd(masked.thenBlock());
    // Listed blocks come in any order, so any may be the last one.
    FailureOr<Value> visible =
        visited ? applyMask(key, score) : emitMask(key, score);
    if (failed(visible))
      return failure();
    scf::YieldOp::create(b, loc, *visible);
    b.setInsertionPointToEnd(masked.elseBlock());
    scf::YieldOp::create(b, loc, score);
    b.setInsertionPointToEnd(&block);
    score = masked.getResult(0);
  }
  if (visited)
    score = hideIfRagged(key, score);
  tile::YieldOp::create(b, loc, score);
  return success();
}

/// The weights that are kept; those are scaled at the end, with the output.
void ForwardEmitter::emitDropout(Region &weights) {
  OpBuilder &b = kb.builder;
  OpBuilder::InsertionGuard guard(b);
  RankedTensorType scores = kb.tileType(rows, columns, b.getF32Type());
  Type i64 = b.getI64Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 64);
  };
  // The offset's halves: one in the counter, one in the key.
  Value seed = kb.operandArgument(
            op.getDropoutSeedMutable()[0].getOperandNumber()),
        offset = kb.operandArgument(
            op.getDropoutOffsetMutable()[0].getOperandNumber());
  Value high = arith::AndIOp::create(b, loc, offset, constant(~0xFFFFFFFFll));
  Value key = arith::XOrIOp::create(b, loc, seed, high);
  auto widen = [&](Value index) -> Value {
    return arith::IndexCastOp::create(b, loc, i64, index);
  };
  Value head = arith::AddIOp::create(
      b, loc,
      arith::MulIOp::create(b, loc, widen(work.batch), widen(kb.size(q, 1))),
      widen(work.head));
  Value stream = arith::OrIOp::create(
      b, loc, head, arith::ShLIOp::create(b, loc, offset, constant(32)));
  Block &block = weights.emplaceBlock();
  block.addArguments({b.getIndexType(), scores}, {loc, loc});
  b.setInsertionPointToEnd(&block);
  RankedTensorType numbers = kb.tileType(rows, columns, b.getI32Type());
  Value drawn = tile::RandomOp::create(b, loc, numbers, key, stream, work.row,
                                       block.getArgument(0));
  Value dropped = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(numbers, int32_t(op.getDroppedShare())));
  Value isKept =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, drawn, dropped);
  Value kept = arith::SelectOp::create(b, loc, isKept, block.getArgument(1),
                                       kb.splat(rows, columns, 0.0));
  tile::YieldOp::create(b, loc, kept);
}

/// What all scores of a row have in common and were left without, or null.
Value ForwardEmitter::emitCommonScore() {
  if (!rowStep)
    return {};
  OpBuilder &b = kb.builder;
  return tile::RampOp::create(
      b, loc, kb.tileType(rows, 1, b.getF32Type()),
      arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0)), rowStep, 0);
}

/// Each row's sink, less what its scores are without, or null.
Value ForwardEmitter::emitSink() {
  if (!op.getSinks())
    return {};
  OpBuilder &b = kb.builder;
  Type rowType = kb.tileType(rows, 1, b.getF32Type());
  Value sinks = kb.operandArgument(op.getSinksMutable()[0].getOperandNumber());
  Value sink;
  if (kb.packedHeads) {
    sink = RegionToTile(b, makeContext(Value())).loadOfHeads(loc, sinks);
  } else {
    Value scalar = memref::LoadOp::create(b, loc, sinks, work.head);
    sink = tile::BroadcastOp::create(b, loc, rowType, scalar);
  }
  if (Value common = emitCommonScore())
    sink = arith::SubFOp::create(b, loc, sink, common);
  return sink;
}

/// Writes O and LSE.
void ForwardEmitter::emitResults(tile::SoftmaxSumOp sum) {
  OpBuilder &b = kb.builder;
  auto finish = tile::SoftmaxFinishOp::create(b, loc, sum.getM(), sum.getL(),
                                              sum.getAcc(), emitSink());
  Value output = finish.getOutput();
  if (int64_t dropped = op.getDroppedShare()) {
    constexpr double kSteps = attn::ForwardOp::kDropoutSteps;
    output = arith::MulFOp::create(
        b, loc, output,
        kb.splat(rows, valueHeadDim, kSteps / (kSteps - dropped)));
  }
  Type outElement = op.getOutputType().getElementType();
  if (!outElement.isF32())
    output = arith::TruncFOp::create(
        b, loc, kb.tileType(rows, valueHeadDim, outElement), output);
  SmallVector<Value> at = getRowPlace();
  auto store = [&](Value value, Value target, ValueRange at, int64_t column) {
    DenseI64ArrayAttr dims = b.getDenseI64ArrayAttr({getRowDim(), column});
    tile::StoreOp::create(b, loc, value, target, at, rowLimit, dims, getFold());
  };
  store(output, o, at, 3);
  if (!lse)
    return;
  Value logSum = finish.getLse();
  if (Value common = emitCommonScore())
    logSum = arith::AddFOp::create(b, loc, logSum, common);
  store(logSum, lse, ValueRange(at).drop_back(), -1);
}

/// The sum over the blocks that are visited.
FailureOr<tile::SoftmaxSumOp> ForwardEmitter::emitSum() {
  OpBuilder &b = kb.builder;
  llvm::APFloat factor(1.0f); // emitScores says which
  Type rowType = kb.tileType(rows, 1, b.getF32Type());
  Type accType = kb.tileType(rows, valueHeadDim, b.getF32Type());
  tile::SoftmaxSumOp sum;
  if (visited) {
    sum = tile::SoftmaxSumOp::create(
        b, loc, rowType, rowType, accType, Value(), Value(), Value(), Value(),
        visited->getCount(), visited->getMasked(), visited->getInits(),
        ValueRange(), columns, factor,
        /*descending=*/false);
    Block &visit = sum.getVisit().emplaceBlock();
    visit.addArgument(b.getIndexType(), loc);
    for (Value init : visited->getInits())
      visit.addArgument(init.getType(), loc);
    if (failed(visited->emitVisit(visit)))
      return failure();
    b.setInsertionPointAfter(sum);
  } else {
    sum = tile::SoftmaxSumOp::create(
        b, loc, rowType, rowType, accType, lower, upper, fullLower, fullUpper,
        Value(), Value(), ValueRange(), visible, columns, factor,
        /*descending=*/schedule.isSpecialized());
  }
  Block &scores = sum.getScores().emplaceBlock();
  scores.addArguments({b.getIndexType(), b.getI1Type()}, {loc, loc});
  Block &values = sum.getValues().emplaceBlock();
  values.addArgument(b.getIndexType(), loc);
  if (failed(emitScores(sum)))
    return failure();
  b.setInsertionPointToEnd(&values);
  // Their values have weight 0, and 0 * NaN is NaN: they are made zero.
  Value valueTile = kb.loadHead(v, memoryBatch, keyHead,
                                toMemory(firstKey, values.getArgument(0)), 0,
                                columns, valueHeadDim, keyLimit);
  tile::YieldOp::create(b, loc, valueTile);
  b.setInsertionPoint(sum);
  if (op.getDropoutAttr())
    emitDropout(sum.getWeights());
  b.setInsertionPointAfter(sum);
  return sum;
}

/// Which blocks of keys are visited: listed ones, those of a range, or those of
/// a range that kv_classify picks.
LogicalResult ForwardEmitter::emitBlocks() {
  OpBuilder &b = kb.builder;
  bool runsOnce = schedule.isSpecialized();
  if (op.hasBlocks()) {
    auto listed = std::make_unique<ListedBlocks>(kb, op, columns);
    listed->emitCounts(work, keys, runsOnce);
    visited = std::move(listed);
    return success();
  }
  if (failed(emitBounds()))
    return failure();
  // What visits carry can't be looked up ahead, as copies without roles do.
  if (!schedule.getClassify() || !schedule.isSpecialized() || !classifies())
    return success();
  auto classified = std::make_unique<ClassifiedBlocks>(
      kb, op, makeContext(Value()), getFirstCapture());
  Value end = arith::AddIOp::create(b, loc, work.row, kb.constant(rows));
  Value clipped = arith::MinSIOp::create(b, loc, end, queries);
  Value last = arith::SubIOp::create(b, loc, clipped, kb.constant(1));
  if (failed(classified->emitCounts(lower, upper, last, runsOnce)))
    return failure();
  visited = std::move(classified);
  return success();
}

FailureOr<tile::ScheduleAttr> ForwardEmitter::emit() {
  OpBuilder &b = kb.builder;
  if (failed(chooseTiles()))
    return failure();
  emitCoordinates();
  if (failed(emitBlocks()))
    return failure();
  queryTile = tile::LoadOp::create(
      b, loc, kb.tileType(rows, headDim, element), q, getRowPlace(),
      /*limit=*/Value(), b.getDenseI64ArrayAttr({getRowDim(), 3}), getFold());
  FailureOr<tile::SoftmaxSumOp> sum = emitSum();
  if (failed(sum))
    return failure();
  emitResults(*sum);
  kb.endWork();
  return schedule;
}

FailureOr<tile::ScheduleAttr> fovea::buildForward(KernelBuilder &kb,
                                                  attn::ForwardOp op) {
  return ForwardEmitter(kb, op).emit();
}
