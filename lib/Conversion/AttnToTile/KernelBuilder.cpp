//===- KernelBuilder.cpp - Helpers to emit a kernel -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fovea;

Value KernelBuilder::operandArgument(unsigned index) {
  return kernel.getArgument(index);
}

Value KernelBuilder::resultArgument(unsigned index) {
  return kernel.getArgument(op->getNumOperands() + index);
}

void KernelBuilder::makeContiguous(unsigned operand) {
  auto type = cast<MemRefType>(kernel.getArgument(operand).getType());
  auto [strides, offset] = type.getStridesAndOffset();
  strides.back() = 1;
  auto layout = StridedLayoutAttr::get(type.getContext(), offset, strides);
  kernel.getArgument(operand).setType(
      MemRefType::get(type.getShape(), type.getElementType(), layout));
  kernel.setFunctionType(
      builder.getFunctionType(kernel.getBody().front().getArgumentTypes(), {}));
}

Value KernelBuilder::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, getLoc(), value);
}

Value KernelBuilder::size(Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return constant(type.getDimSize(dim));
  return memref::DimOp::create(builder, getLoc(), memref, dim);
}

RankedTensorType KernelBuilder::tileType(int64_t rows, int64_t columns,
                                         Type element) {
  return RankedTensorType::get({rows, columns}, element,
                               tile::RegAttr::get(builder.getContext()));
}

Value KernelBuilder::splat(int64_t rows, int64_t columns, double value) {
  RankedTensorType type = tileType(rows, columns, builder.getF32Type());
  return arith::ConstantOp::create(
      builder, getLoc(),
      DenseElementsAttr::get(type, static_cast<float>(value)));
}

Value KernelBuilder::loadHead(Value memref, Value batch, Value head, Value row,
                              int64_t column, int64_t rows, int64_t columns,
                              Value limit, StringRef name) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<Value> indices = {batch, head, row};
  SmallVector<int64_t> dims = {2, -1};
  if (type.getRank() == 4) {
    indices.push_back(constant(column));
    dims[1] = 3;
  }
  RankedTensorType tile = tileType(rows, columns, type.getElementType());
  if (name.empty())
    return tile::LoadOp::create(builder, getLoc(), tile, memref, indices, limit,
                                dims);
  return tile::LoadOp::create(builder, getNamedLoc(getLoc(), name), tile,
                              memref, indices, limit, dims,
                              builder.getStringAttr(name));
}

std::pair<Value, Value> fovea::decodeSections(OpBuilder &b, Location loc,
                                              Value item, Value tiles,
                                              Value allHeads, Value perSection,
                                              Value lastTile, bool inTurn) {
  Value size = arith::MulIOp::create(b, loc, perSection, tiles);
  Value section = arith::DivUIOp::create(b, loc, item, size);
  Value inside = arith::RemUIOp::create(b, loc, item, size);
  Value first = arith::MulIOp::create(b, loc, section, perSection);
  Value left = arith::SubIOp::create(b, loc, allHeads, first);
  Value width = arith::MinUIOp::create(b, loc, left, perSection);
  Value fromEnd = arith::DivUIOp::create(b, loc, inside, width);
  Value tile = arith::SubIOp::create(b, loc, lastTile, fromEnd);
  if (inTurn) {
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    Value last = arith::DivUIOp::create(
        b, loc, arith::SubIOp::create(b, loc, allHeads, one), perSection);
    Value toCome = arith::SubIOp::create(b, loc, last, section);
    Value isTurned =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                              arith::AndIOp::create(b, loc, toCome, one),
                              arith::ConstantIndexOp::create(b, loc, 0));
    tile = arith::SelectOp::create(b, loc, isTurned, fromEnd, tile);
  }
  Value offset = arith::RemUIOp::create(b, loc, inside, width);
  return {tile, arith::AddIOp::create(b, loc, first, offset)};
}

KernelBuilder::Work KernelBuilder::beginWork(Value batch, Value heads,
                                             Value rows, int64_t tileM,
                                             const WorkOrder &order) {
  Location loc = getLoc();
  Value tiles = arith::CeilDivUIOp::create(builder, loc, rows, constant(tileM));
  Value allHeads = arith::MulIOp::create(builder, loc, batch, heads);
  Value count = arith::MulIOp::create(builder, loc, allHeads, tiles);
  Value lastTile = arith::SubIOp::create(builder, loc, tiles, constant(1));
  const Value tilesOfHead = tiles, lastOfHead = lastTile;
  assert((order.tiles != TileOrder::ShortestFirst || order.finalTiles) &&
         "an order of sections with final tiles");
  // Each head's tiles that come last, and the items before those.
  Value lateTiles, earlyItems;
  if (order.finalTiles) {
    lateTiles = arith::MinUIOp::create(builder, loc, order.finalTiles, tiles);
    earlyItems = arith::SubIOp::create(
        builder, loc, count,
        arith::MulIOp::create(builder, loc, allHeads, lateTiles));
  }
  named("tiles", tiles);
  named("items", count);
  workLoop = tile::ForeachWorkOp::create(builder, loc, count, order.schedule);
  named("item", workLoop.getItem());
  builder.setInsertionPointToStart(workLoop.getBody());

  auto divide = [&](Value value, Value by) -> Value {
    return arith::DivUIOp::create(builder, loc, value, by);
  };
  auto remainder = [&](Value value, Value by) -> Value {
    return arith::RemUIOp::create(builder, loc, value, by);
  };
  Work work;
  Value item = workLoop.getItem(), tile, headOfAll;
  if (order.headsPerSection) {
    Value perSection = order.headsPerSection;
    if (lateTiles) {
      // They are one more section, of all heads.
      auto select = [&](Value isLate, Value yes, Value no) -> Value {
        return arith::SelectOp::create(builder, loc, isLate, yes, no);
      };
      auto subtract = [&](Value value, Value by) -> Value {
        return arith::SubIOp::create(builder, loc, value, by);
      };
      Value isLate = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::uge, item, earlyItems);
      item = select(isLate, subtract(item, earlyItems), item);
      tiles = select(isLate, lateTiles, subtract(tiles, lateTiles));
      perSection = select(isLate, allHeads, perSection);
      lastTile = select(isLate, subtract(lateTiles, constant(1)), lastTile);
    }
    std::tie(tile, headOfAll) = decodeSections(
        builder, loc, item, tiles, allHeads, perSection, lastTile,
        /*inTurn=*/order.schedule == tile::WorkSchedule::Static);
    // Sections begin with each head's last tiles.
    if (order.tiles != TileOrder::LastFirst)
      tile = arith::SubIOp::create(builder, loc, lastOfHead, tile);
    if (order.tiles == TileOrder::ShortestFirst)
      tile = emitShortestFirst(tile, tilesOfHead, lateTiles);
    if (order.batchFirst) {
      work.batch = remainder(headOfAll, batch);
      work.head = divide(headOfAll, batch);
    }
  } else {
    if (order.batchFirst) {
      work.batch = remainder(item, batch);
      item = divide(item, batch);
    }
    tile = remainder(item, tiles);
    headOfAll = divide(item, tiles);
    work.head = headOfAll;
    // CTAs start in order of their numbers: the longest ones first.
    if (order.schedule == tile::WorkSchedule::Single &&
        order.tiles == TileOrder::LastFirst)
      tile = arith::SubIOp::create(builder, loc, lastTile, tile);
  }
  work.row = arith::MulIOp::create(builder, loc, tile, constant(tileM));
  if (!order.batchFirst) {
    work.head = remainder(headOfAll, heads);
    work.batch = divide(headOfAll, heads);
  }
  named("row", work.row);
  named("head", work.head);
  named("batch", work.batch);
  return work;
}

Value KernelBuilder::emitShortestFirst(Value place, Value tiles,
                                       Value finalTiles) {
  Location loc = getLoc();
  Value early = arith::SubIOp::create(builder, loc, tiles, finalTiles);
  Value isEarly = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        place, early);
  Value last = arith::SubIOp::create(builder, loc, early, constant(1));
  Value fromEnd = arith::SubIOp::create(builder, loc, last, place);
  return arith::SelectOp::create(builder, loc, isEarly, fromEnd, place);
}

Value KernelBuilder::emitKeyLength(attn::AttentionOpInterface attention,
                                   Value batch, Value keys) {
  std::optional<unsigned> operand =
      attention.getSequence().getKeyPlaces().lengths;
  if (!operand)
    return {};
  Location loc = getLoc();
  Value lengths = operandArgument(
      attention.getSequenceOperands().getBeginOperandIndex() + *operand);
  Value length = memref::LoadOp::create(builder, loc, lengths, batch);
  Value wide =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), length);
  Value positive = arith::MaxSIOp::create(builder, loc, wide, constant(0));
  return arith::MinSIOp::create(builder, loc, positive, keys);
}

void KernelBuilder::endWork() { builder.setInsertionPointAfter(workLoop); }
