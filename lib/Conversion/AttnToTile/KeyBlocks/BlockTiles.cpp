//===- BlockTiles.cpp - Coordinates of a score block ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyBlocks/BlockTiles.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace fovea;

RankedTensorType BlockTiles::getType(ArrayRef<int64_t> shape,
                                     Type element) const {
  return RankedTensorType::get(shape, element,
                               tile::RegAttr::get(builder.getContext()));
}

RankedTensorType BlockTiles::getLineType(int64_t count, int64_t dim) const {
  SmallVector<int64_t, 2> shape = {1, 1};
  shape[dim] = count;
  return getType(shape, builder.getI32Type());
}

Value BlockTiles::makeCoordinates(Location loc, Value first, int64_t alignment,
                                  RankedTensorType type, int64_t dim) const {
  Value base =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), first);
  int64_t bits = std::numeric_limits<int32_t>::max() & -alignment;
  base = arith::AndIOp::create(
      builder, loc, base, arith::ConstantIntOp::create(builder, loc, bits, 32));
  Value iota = tile::IotaOp::create(builder, loc, type, dim);
  Value start = tile::BroadcastOp::create(builder, loc, type, base);
  return arith::AddIOp::create(builder, loc, iota, start,
                               arith::IntegerOverflowFlags::nsw);
}

Value BlockTiles::getQueryTile(Location loc) const {
  int64_t count = context.countQueries(), dim = context.getQueryDim();
  return makeCoordinates(loc, context.row,
                         context.packedHeads ? 1 : getPowerOf2(count),
                         getLineType(count, dim), dim);
}

Value BlockTiles::getKeyTile(Location loc) const {
  int64_t count = context.countKeys(), dim = context.getKeyDim();
  return makeCoordinates(loc, context.key, getPowerOf2(count),
                         getLineType(count, dim), dim);
}

SmallVector<Value> BlockTiles::getPlaces(Location loc,
                                         OpBuilder &scalars) const {
  bool hasOneQuery = context.packedHeads.hasOneQuery();
  if (context.packedHeads && !hasOneQuery) {
    auto [heads, queries] = getFoldedRows(loc);
    return {context.batch, heads, queries, getKeyTile(loc)};
  }
  Value rows = getQueryTile(loc), keys = getKeyTile(loc);
  if (!hasOneQuery)
    return {context.batch, context.head, rows, keys};
  // A scalar outside of the loop, since code before the loop over blocks may
  // use it.
  Value query = arith::ConstantIndexOp::create(scalars, loc, 0);
  return {context.batch, rows, query, keys};
}

std::pair<Value, Value> BlockTiles::getFoldedRows(Location loc) const {
  RankedTensorType type = getType({context.rows, 1}, builder.getI32Type());
  Value row = tile::IotaOp::create(builder, loc, type, 0);
  const PackedHeads &packed = context.packedHeads;
  int64_t inner =
      packed.areAdjacent ? packed.getRowsPerQuery() : packed.queries;
  Value divisor = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, int32_t(inner)));
  auto addTo = [&](Value scalar, Value offsets) -> Value {
    Value first =
        arith::IndexCastOp::create(builder, loc, builder.getI32Type(), scalar);
    return arith::AddIOp::create(
        builder, loc, offsets,
        tile::BroadcastOp::create(builder, loc, type, first));
  };
  Value outer =
      addTo(context.row, arith::DivUIOp::create(builder, loc, row, divisor));
  Value rest = arith::RemUIOp::create(builder, loc, row, divisor);
  if (packed.areAdjacent)
    return {addTo(context.head, rest), outer};
  return {outer, rest};
}

Value BlockTiles::loadOfHeads(Location loc, Value vector) const {
  RankedTensorType type = getType(
      {context.rows, 1}, cast<MemRefType>(vector.getType()).getElementType());
  if (context.packedHeads.hasOneQuery())
    return tile::LoadOp::create(builder, loc, type, vector, context.row,
                                /*limit=*/Value(), ArrayRef<int64_t>{0, -1});
  return tile::GatherOp::create(builder, loc, type, vector,
                                getFoldedRows(loc).first, /*mask=*/Value());
}

Value BlockTiles::toFullTile(Location loc, Value value) const {
  RankedTensorType type = getFullType(getElementTypeOrSelf(value.getType()));
  if (value.getType() == type)
    return value;
  return tile::BroadcastOp::create(builder, loc, type, value);
}
