//===- ForwardToTile.cpp - attn.forward as a tile program -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "RegionToTile.h"

#include "fovea/Target/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

namespace {
/// The parts of one forward kernel, in the order of its program.
class ForwardEmitter {
public:
  ForwardEmitter(KernelBuilder &kb, attn::ForwardOp op)
      : kb(kb), op(op), loc(op.getLoc()) {}

  FailureOr<tile::ScheduleAttr> emit();

private:
  LogicalResult chooseTiles();
  /// Whether tiles of queries differ in how many keys they visit.
  bool isUneven() {
    return !op.getKvBounds().empty() || !isa<attn::DenseAttr>(op.getSequence());
  }
  /// Whether heads are taken in sections, the longest tiles first.
  bool hasSections() {
    return !op.getKvBounds().empty() &&
           schedule.getWork() != tile::WorkSchedule::Single;
  }
  Value emitHeadsPerSection(Value keys);
  void emitCoordinates();
  void emitBatchEntry();
  void emitPackedSequence();
  /// Row of memory that a sequence's row is.
  Value toMemory(Value first, Value row);
  LogicalResult emitBounds();
  LogicalResult emitScores(Block &block);
  FailureOr<Value> emitMask(Value key, Value score);
  Value hide(Value keep, Value score);
  Value hideMissingKeys(Value key, Value score);
  RegionContext makeContext(Value key);
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
  /// Where the rows of this sequence end in memory, if others follow.
  Value queryLimit, keyLimit;
  Value lower, upper, fullLower, fullUpper;
  Value queryTile;
};
} // namespace

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
  FailureOr<tile::ScheduleAttr> chosen =
      chooseSchedule(op.getContext(), problem, kb.scheduleOverrides,
                     [&] { return op.emitError(); });
  if (failed(chosen))
    return failure();
  schedule = *chosen;
  rows = schedule.getTileM();
  columns = schedule.getTileN();
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
  unsigned firstCapture = op.getScaleValue() ? 4 : 3;
  for (unsigned i = 0; i < op.getCaptures().size(); ++i)
    captures.push_back(kb.operandArgument(firstCapture + i));

  // What does not depend on the tile stands before the loop over tiles.
  queries = kb.size(q, 2);
  keys = kb.size(k, 2);
  Value group = arith::DivUIOp::create(b, loc, kb.size(q, 1), kb.size(k, 1));
  if (isa<attn::PackedAttr>(op.getSequence()))
    emitPackedSequence();
  else
    emitBatchEntry();
  keyHead = arith::DivUIOp::create(b, loc, work.head, group);
}

/// Sequences that are entries of the batch.
void ForwardEmitter::emitBatchEntry() {
  OpBuilder &b = kb.builder;
  KernelBuilder::WorkOrder order{schedule.getWork(), {}};
  if (hasSections())
    order.headsPerSection = emitHeadsPerSection(keys);
  work = kb.beginWork(q, rows, order);
  memoryBatch = work.batch;
  if (!isa<attn::LengthsAttr>(op.getSequence()))
    return;
  Value lengths = kb.operandArgument(op->getNumOperands() - 1);
  Value length = memref::LoadOp::create(b, loc, lengths, work.batch);
  Value wide = arith::IndexCastOp::create(b, loc, b.getIndexType(), length);
  Value positive = arith::MaxSIOp::create(b, loc, wide, kb.constant(0));
  keys = arith::MinSIOp::create(b, loc, positive, keys);
  keyLimit = keys;
}

void ForwardEmitter::emitPackedSequence() {
  OpBuilder &b = kb.builder;
  unsigned last = op->getNumOperands() - 1;
  auto headsPerSection = [&](Value keys) { return emitHeadsPerSection(keys); };
  llvm::function_ref<Value(Value)> sections;
  if (hasSections())
    sections = headsPerSection;
  PackedTile tile = beginPackedWork(kb, q, k, kb.operandArgument(last - 1),
                                    kb.operandArgument(last), rows,
                                    schedule.getWork(), sections);
  work = tile.work;
  memoryBatch = kb.constant(0);
  queries = tile.queries;
  keys = tile.keys;
  firstQuery = tile.firstQuery;
  firstKey = tile.firstKey;
  queryLimit = arith::AddIOp::create(b, loc, firstQuery, queries);
  keyLimit = arith::AddIOp::create(b, loc, firstKey, keys);
}

Value ForwardEmitter::toMemory(Value first, Value row) {
  if (!first)
    return row;
  return arith::AddIOp::create(kb.builder, loc, first, row);
}

RegionContext ForwardEmitter::makeContext(Value key) {
  return {work.batch, work.head, work.row, key,     queries,
          keys,       captures,  rows,     columns, kb.hasWideIndex};
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

/// The blocks of keys that are visited, and those among them that need no mask.
LogicalResult ForwardEmitter::emitBounds() {
  OpBuilder &b = kb.builder;
  Value zero = kb.constant(0);
  lower = fullLower = zero;
  upper = keys;
  fullUpper = op.getMaskMod().empty() ? keys : zero;
  if (!op.getKvBounds().empty()) {
    Value end = arith::AddIOp::create(b, loc, work.row, kb.constant(rows));
    Value clipped = arith::MinSIOp::create(b, loc, end, queries);
    Value last = arith::SubIOp::create(b, loc, clipped, kb.constant(1));
    RegionContext context = makeContext(Value());
    FailureOr<SmallVector<Value>> bounds =
        RegionToTile(b, context)
            .cloneScalars(op.getKvBounds(),
                          {work.batch, work.head, work.row, last});
    if (failed(bounds))
      return failure();
    auto clamp = [&](Value value) -> Value {
      Value positive = arith::MaxSIOp::create(b, loc, value, zero);
      // Unsigned, since then a bound of 0 folds.
      return arith::MinUIOp::create(b, loc, positive, keys);
    };
    lower = clamp((*bounds)[0]);
    fullLower = clamp((*bounds)[1]);
    fullUpper = clamp((*bounds)[2]);
    upper = clamp((*bounds)[3]);
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

/// Hides the keys of a block that don't exist or that mask_mod drops.
FailureOr<Value> ForwardEmitter::emitMask(Value key, Value score) {
  OpBuilder &b = kb.builder;
  if (op.getMaskMod().empty())
    return hideMissingKeys(key, score);
  RegionContext context = makeContext(key);
  FailureOr<Value> keep =
      RegionToTile(b, context).cloneMaskMod(op.getMaskMod());
  if (failed(keep))
    return failure();
  Value kept = hide(*keep, score);
  // Of the blocks that need the mask, only the last one can be ragged.
  Value end = arith::AddIOp::create(b, loc, key, kb.constant(columns));
  Value isRagged =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, end, keys);
  auto branch = scf::IfOp::create(b, loc, kept.getType(), isRagged,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  Value existing = hideMissingKeys(key, kept);
  scf::YieldOp::create(b, loc, existing);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, kept);
  return branch.getResult(0);
}

LogicalResult ForwardEmitter::emitScores(Block &block) {
  OpBuilder &b = kb.builder;
  b.setInsertionPointToEnd(&block);
  Value key = block.getArgument(0), partial = block.getArgument(1);
  // Keys past the last one are no concern: their scores are hidden.
  Value keyTile = kb.loadHead(k, memoryBatch, keyHead, toMemory(firstKey, key),
                              0, columns, headDim);
  Value score = tile::DotOp::create(b, loc, queryTile, keyTile,
                                    kb.splat(rows, columns, 0.0),
                                    /*transposeB=*/true);
  // A positive constant scale is folded into the exponential, unless
  // score_mod must see the scaled score.
  std::optional<double> scale = op.getConstantScale();
  bool folds = op.getScoreMod().empty() && scale && *scale > 0;
  if (!folds) {
    Value factor;
    if (scale) {
      factor = kb.splat(rows, columns, *scale);
    } else {
      factor = tile::BroadcastOp::create(
          b, loc, kb.tileType(rows, columns, b.getF32Type()),
          kb.operandArgument(3));
    }
    score = arith::MulFOp::create(b, loc, score, factor);
  }
  if (!op.getScoreMod().empty()) {
    RegionContext context = makeContext(key);
    FailureOr<Value> modified =
        RegionToTile(b, context).cloneScoreMod(op.getScoreMod(), score);
    if (failed(modified))
      return failure();
    score = *modified;
  }

  auto masked = scf::IfOp::create(b, loc, score.getType(), partial,
                                  /*withElseRegion=*/true);
  b.setInsertionPointToEnd(masked.thenBlock());
  FailureOr<Value> visible = emitMask(key, score);
  if (failed(visible))
    return failure();
  scf::YieldOp::create(b, loc, *visible);
  b.setInsertionPointToEnd(masked.elseBlock());
  scf::YieldOp::create(b, loc, score);
  b.setInsertionPointToEnd(&block);
  tile::YieldOp::create(b, loc, masked.getResults());
  return success();
}

FailureOr<tile::ScheduleAttr> ForwardEmitter::emit() {
  OpBuilder &b = kb.builder;
  if (failed(chooseTiles()))
    return failure();
  emitCoordinates();
  if (failed(emitBounds()))
    return failure();
  Value firstRow = toMemory(firstQuery, work.row);
  queryTile =
      kb.loadHead(q, memoryBatch, work.head, firstRow, 0, rows, headDim);

  std::optional<double> scale = op.getConstantScale();
  bool folds = op.getScoreMod().empty() && scale && *scale > 0;
  Type rowType = kb.tileType(rows, 1, b.getF32Type());
  Type accType = kb.tileType(rows, valueHeadDim, b.getF32Type());
  auto sum = tile::SoftmaxSumOp::create(
      b, loc, rowType, rowType, accType, lower, upper, fullLower, fullUpper,
      columns, llvm::APFloat(folds ? static_cast<float>(*scale) : 1.0f),
      /*descending=*/schedule.isSpecialized());
  Block &scores = sum.getScores().emplaceBlock();
  scores.addArguments({b.getIndexType(), b.getI1Type()}, {loc, loc});
  Block &values = sum.getValues().emplaceBlock();
  values.addArgument(b.getIndexType(), loc);
  if (failed(emitScores(scores)))
    return failure();
  b.setInsertionPointToEnd(&values);
  // Their values have weight 0, and 0 * NaN is NaN: they are made zero.
  Value valueTile = kb.loadHead(v, memoryBatch, keyHead,
                                toMemory(firstKey, values.getArgument(0)), 0,
                                columns, valueHeadDim, keyLimit);
  tile::YieldOp::create(b, loc, valueTile);
  b.setInsertionPointAfter(sum);

  auto finish = tile::SoftmaxFinishOp::create(b, loc, sum.getM(), sum.getL(),
                                              sum.getAcc());
  Value output = finish.getOutput();
  Type outElement = op.getOutputType().getElementType();
  if (!outElement.isF32())
    output = arith::TruncFOp::create(
        b, loc, kb.tileType(rows, valueHeadDim, outElement), output);
  SmallVector<Value> at = {memoryBatch, work.head, firstRow, kb.constant(0)};
  tile::StoreOp::create(b, loc, output, o, at, queryLimit,
                        ArrayRef<int64_t>{2, 3});
  if (lse)
    tile::StoreOp::create(b, loc, finish.getLse(), lse,
                          ValueRange(at).drop_back(), queryLimit,
                          ArrayRef<int64_t>{2, -1});
  kb.endWork();
  return schedule;
}

FailureOr<tile::ScheduleAttr> fovea::buildForward(KernelBuilder &kb,
                                                  attn::ForwardOp op) {
  return ForwardEmitter(kb, op).emit();
}
