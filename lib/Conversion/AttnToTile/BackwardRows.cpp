//===- BackwardRows.cpp - Queries and keys of a block -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

/// A value of each query of the block, which begins at `row` of memory: f32,
/// along the side of the tile of scores that queries lie along.
Value BackwardEmitter::loadRowValue(Value memref, Value head, Value row) {
  OpBuilder &b = kb.builder;
  bool areRows = part.hasQueryTiles();
  RankedTensorType type = areRows
                              ? kb.tileType(getRows(), 1, b.getF32Type())
                              : kb.tileType(1, getColumns(), b.getF32Type());
  int64_t dims[] = {areRows ? 2 : -1, areRows ? -1 : 2};
  return tile::LoadOp::create(b, loc, type, memref,
                              ValueRange{memoryBatch, head, row},
                              /*limit=*/Value(), dims);
}

/// The same of scratch memory, which is in fragments where dQ's sums are.
Value BackwardEmitter::loadScratchValue(std::optional<unsigned> number,
                                        Value head, Value row, StringRef name) {
  Value value = loadRowValue(scratchArgument(number), head, row);
  auto load = value.getDefiningOp<tile::LoadOp>();
  load.setFragments(part.addsQuery);
  if (part.addsQuery)
    load.setName(name);
  return value;
}

/// D of a block of queries. Those behind a packed sequence are another one's,
/// and no numbers perhaps.
Value BackwardEmitter::loadDelta(const ScoreBlock &block) {
  OpBuilder &b = kb.builder;
  Value delta =
      loadScratchValue(scratch.delta, block.head, block.scratchRow, "delta");
  if (!queryLimit)
    return delta;
  return arith::SelectOp::create(b, loc, emitQueriesExist(block), delta,
                                 splatLike(delta, 0.0));
}

Value BackwardEmitter::emitQueriesExist(const ScoreBlock &block) {
  OpBuilder &b = kb.builder;
  RegionContext context = makeContext(block);
  Value places = BlockTiles(b, context).getQueryTile(loc);
  Value count = arith::IndexCastOp::create(b, loc, b.getI32Type(), queries);
  return arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::slt, places,
      tile::BroadcastOp::create(b, loc, places.getType(), count));
}

void BackwardEmitter::storeScratchValue(Value value,
                                        std::optional<unsigned> number,
                                        Value head, Value row, StringRef name) {
  auto store = tile::StoreOp::create(
      kb.builder, loc, value, scratchArgument(number),
      ValueRange{memoryBatch, head, row}, ArrayRef<int64_t>{2, -1},
      kb.builder.getStringAttr(name));
  store.setFragments(part.addsQuery);
  if (queryLimit && !part.addsQuery)
    store.getLimitMutable().assign(queryLimit);
}

/// Weights are exp2(log2(e) s + this): of rows that see nothing, 0.
Value BackwardEmitter::emitExponents(Value rows) {
  OpBuilder &b = kb.builder;
  Value none = splatLike(rows, -std::numeric_limits<double>::infinity());
  Value offset = arith::MulFOp::create(b, loc, rows,
                                       splatLike(rows, -llvm::numbers::log2e));
  return arith::SelectOp::create(b, loc, emitSeesNothing(rows), none, offset);
}

Value BackwardEmitter::emitSeesNothing(Value rows) {
  return arith::CmpFOp::create(
      kb.builder, loc, arith::CmpFPredicate::OEQ, rows,
      splatLike(rows, -std::numeric_limits<double>::infinity()));
}

Value BackwardEmitter::splatLike(Value tile, double value) {
  return arith::ConstantOp::create(
      kb.builder, loc,
      DenseElementsAttr::get(cast<ShapedType>(tile.getType()), float(value)));
}

void BackwardEmitter::loadQueries(ScoreBlock &block,
                                  bool needsOutputGradients) {
  int64_t count = part.hasQueryTiles() ? getRows() : getColumns();
  block.queries =
      kb.loadHead(q, memoryBatch, block.head, toQueryRow(block.query), 0, count,
                  headDim, queryLimit, "q");
  if (needsOutputGradients)
    block.outputGradients = kb.loadHead(outputGradient, memoryBatch, block.head,
                                        toQueryRow(block.query), 0, count,
                                        valueHeadDim, queryLimit, "do");
  if (!part.addsQuery)
    block.exponents =
        emitExponents(loadRowValue(lse, block.head, toQueryRow(block.query)));
}

void BackwardEmitter::loadKeys(ScoreBlock &block) {
  int64_t count = part.hasQueryTiles() ? getColumns() : getRows();
  block.strips.clear();
  for (int64_t strip = 0; strip < getStrips(); ++strip) {
    Value key = block.key;
    if (strip != 0)
      key = arith::AddIOp::create(kb.builder, loc, key,
                                  kb.constant(strip * count));
    // Their pairs are masked, and 0 times NaN is NaN: they are made zero.
    Value keys = kb.loadHead(k, memoryBatch, keyHead, toKeyRow(key), 0, count,
                             headDim, keyLimit, getStripName("k", strip));
    Value values =
        kb.loadHead(v, memoryBatch, keyHead, toKeyRow(key), 0, count,
                    valueHeadDim, keyLimit, getStripName("v", strip));
    block.strips.push_back({key, keys, values});
  }
  block.keys = block.strips.front().keys;
  block.values = block.strips.front().values;
  if (!part.addsQuery)
    return;
  if (headDim <= part.partColumns) {
    block.keyParts = {{headDim, IntegerAttr()}};
    return;
  }
  for (int64_t column = 0; column < headDim; column += part.partColumns) {
    int64_t columns = std::min(headDim - column, part.partColumns);
    block.keyParts.push_back({columns, kb.builder.getI64IntegerAttr(column)});
  }
}

Value BackwardEmitter::emitDelta(const ScoreBlock &block) {
  OpBuilder &b = kb.builder;
  int64_t count = getRows();
  auto loadWide = [&](Value memref) -> Value {
    Value tile =
        kb.loadHead(memref, memoryBatch, block.head, toQueryRow(block.query), 0,
                    count, valueHeadDim, /*limit=*/Value(), "");
    RankedTensorType wide = kb.tileType(count, valueHeadDim, b.getF32Type());
    return tile.getType() == wide
               ? tile
               : arith::ExtFOp::create(b, loc, wide, tile).getResult();
  };
  Value products =
      arith::MulFOp::create(b, loc, loadWide(o), loadWide(outputGradient));
  Value sum =
      tile::ReduceOp::create(b, loc, kb.tileType(count, 1, b.getF32Type()),
                             tile::ReduceKind::Add, 1, products);
  if (op.getLseGradient())
    sum = arith::SubFOp::create(b, loc, sum,
                                loadRowValue(kb.operandArgument(kLseGradient),
                                             block.head,
                                             toQueryRow(block.query)));
  // Rows that see nothing have no gradient, whatever LSE's is.
  Value rows = loadRowValue(lse, block.head, toQueryRow(block.query));
  sum = arith::SelectOp::create(b, loc, emitSeesNothing(rows),
                                splatLike(sum, 0.0), sum);
  Value exponents;
  if (part.storesDelta && scratch.exponents)
    exponents = emitExponents(rows);
  if (exponents && queryLimit) {
    // A block's rows behind the sequence see nothing, too.
    Value exist = emitQueriesExist(block);
    sum = arith::SelectOp::create(b, loc, exist, sum, splatLike(sum, 0.0));
    exponents = arith::SelectOp::create(
        b, loc, exist, exponents,
        splatLike(exponents, -std::numeric_limits<double>::infinity()));
  }
  if (part.storesDelta)
    storeScratchValue(sum, scratch.delta, block.head, block.scratchRow,
                      "delta");
  if (exponents)
    storeScratchValue(exponents, scratch.exponents, block.head,
                      block.scratchRow, "exponents");
  return sum;
}
