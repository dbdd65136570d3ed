//===- CaptureReader.cpp - Loads of captured tensors ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Regions/CaptureReader.h"

#include "RegionAnalysis/RegionDependences.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

//===----------------------------------------------------------------------===//
// Classification of indices
//===----------------------------------------------------------------------===//

void CaptureReader::addCoordinate(BlockArgument argument, int64_t dim,
                                  Value first) {
  shifted.try_emplace(argument, Shifted{dim, first});
  if (dim == emitter.context.getKeyDim())
    key = argument;
}

void CaptureReader::note(Operation *op) {
  if (!isa<arith::AddIOp, arith::SubIOp>(op))
    return;
  Value left = op->getOperand(0), right = op->getOperand(1);
  if (isa<arith::AddIOp>(op) && emitter.values.isUniform(left))
    std::swap(left, right);
  auto known = shifted.find(left);
  if (known == shifted.end() || !emitter.values.isUniform(right))
    return;
  emitter.noteWidth(op->getResult(0));
  Shifted sum = known->second;
  Value scalar = emitter.asIndex(right);
  OpBuilder &b = emitter.builder;
  Location loc = op->getLoc();
  sum.first = isa<arith::AddIOp>(op)
                  ? arith::AddIOp::create(b, loc, sum.first, scalar).getResult()
                  : arith::SubIOp::create(b, loc, sum.first, scalar);
  shifted.try_emplace(op->getResult(0), sum);
}

std::optional<int64_t> CaptureReader::getSharedKeys(Value index) {
  const RegionContext &context = emitter.context;
  std::optional<int64_t> keys = getKeyChunk(index, key);
  if (!keys || context.rowsAreKeys || context.columns % *keys != 0)
    return std::nullopt;
  return keys;
}

/// A tile has unit steps along the query and the key. Each coordinate may
/// appear once; an index with both is gathered. A tile for a shared index has
/// no key dimension.
std::optional<CaptureReader::Box> CaptureReader::findBox(tensor::ExtractOp op) {
  Box box;
  for (auto [position, index] : llvm::enumerate(op.getIndices())) {
    if (emitter.values.isUniform(index)) {
      box.first.push_back(emitter.asIndex(index));
      continue;
    }
    if (std::optional<int64_t> keys = getSharedKeys(index);
        keys && !box.sharedKeys) {
      box.sharedKeys = keys;
      box.sharedAt = position;
      box.first.push_back(emitter.context.key);
      continue;
    }
    auto known = shifted.find(index);
    if (known == shifted.end() || box.dims[known->second.dim] != -1)
      return std::nullopt;
    box.dims[known->second.dim] = position;
    box.first.push_back(known->second.first);
  }
  if (box.sharedKeys && box.dims[1] != -1)
    return std::nullopt;
  return box;
}

//===----------------------------------------------------------------------===//
// Emission of loads
//===----------------------------------------------------------------------===//

Value CaptureReader::loadBox(Location loc, Value source, ArrayRef<Value> first,
                             ArrayRef<int64_t> dims) {
  OpBuilder &b = emitter.builder;
  const RegionContext &context = emitter.context;
  if (dims[0] == -1 && dims[1] == -1)
    return memref::LoadOp::create(b, loc, source, first);
  SmallVector<int64_t, 2> shape = {dims[0] == -1 ? 1 : context.rows,
                                   dims[1] == -1 ? 1 : context.columns};
  Type element = cast<MemRefType>(source.getType()).getElementType();
  // Each captured tensor of score_mod is a stream if its rows in memory are the
  // rows of the tile: asynchronous copies cannot transpose.
  StringAttr name;
  const Value *capture = llvm::find(context.captures, source);
  if (dims[0] != -1 && dims[0] < dims[1] && capture != context.captures.end())
    name =
        b.getStringAttr("score." + Twine(capture - context.captures.begin()));
  return tile::LoadOp::create(b, loc, emitter.tiles.getType(shape, element),
                              source, first, /*limit=*/Value(), dims, name);
}

Value CaptureReader::loadInside(Location loc, Value source,
                                ArrayRef<Value> indices, int64_t position) {
  OpBuilder &b = emitter.builder;
  Type element = cast<MemRefType>(source.getType()).getElementType();
  Value size = memref::DimOp::create(b, loc, source, position);
  Value isInside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                         indices[position], size);
  auto branch = scf::IfOp::create(b, loc, element, isInside,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  Value value = memref::LoadOp::create(b, loc, source, indices);
  scf::YieldOp::create(b, loc, value);
  b.setInsertionPointToEnd(branch.elseBlock());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  scf::YieldOp::create(b, loc, zero);
  return branch.getResult(0);
}

Value CaptureReader::loadForKeys(Location loc, Value source, Box box) {
  OpBuilder &b = emitter.builder;
  const RegionContext &context = emitter.context;
  int64_t keys = *box.sharedKeys;
  bool isByRow = box.dims[0] != -1;
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  // Blocks start at multiples of their size, which the number of keys divides.
  Value start =
      arith::DivUIOp::create(b, loc, box.first[box.sharedAt], constant(keys));
  RankedTensorType numbers =
      emitter.tiles.getType({1, context.columns}, b.getI32Type());
  Value column = tile::IotaOp::create(b, loc, numbers, 1);
  Type element = cast<MemRefType>(source.getType()).getElementType();
  RankedTensorType type = emitter.tiles.getType(
      {isByRow ? context.rows : 1, context.columns}, element);
  Value result;
  for (int64_t chunk = context.columns / keys - 1; chunk >= 0; --chunk) {
    box.first[box.sharedAt] =
        arith::AddIOp::create(b, loc, start, constant(chunk));
    // A block's last groups may be past the last key.
    Value shared = isByRow ? loadBox(loc, source, box.first, box.dims)
                           : loadInside(loc, source, box.first, box.sharedAt);
    Value wide = tile::BroadcastOp::create(b, loc, type, shared);
    if (!result) {
      result = wide;
      continue;
    }
    Value end = arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(numbers, int32_t((chunk + 1) * keys)));
    Value isBefore =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, column, end);
    if (type.getDimSize(0) != 1)
      isBefore = emitter.tiles.toFullTile(loc, isBefore);
    result = arith::SelectOp::create(b, loc, isBefore, wide, result);
  }
  return result;
}

Value CaptureReader::gather(tensor::ExtractOp op, Value source,
                            function_ref<Value(Value)> lookup) {
  SmallVector<Value> indices;
  SmallVector<int64_t, 2> shape = {1, 1};
  for (Value index : op.getIndices()) {
    Value value = emitter.values.isUniform(index) ? emitter.asIndex(index)
                                                  : lookup(index);
    indices.push_back(value);
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (auto [extent, other] : llvm::zip_equal(shape, type.getShape()))
        extent = std::max(extent, other);
  }
  Type element = cast<MemRefType>(source.getType()).getElementType();
  return tile::GatherOp::create(emitter.builder, op.getLoc(),
                                emitter.tiles.getType(shape, element), source,
                                indices, /*mask=*/Value());
}

void CaptureReader::read(tensor::ExtractOp op,
                         function_ref<Value(Value)> lookup) {
  Location loc = op.getLoc();
  // The tensor is a captured one: ops that compute tensors are rejected.
  Value source = emitter.values.lookup(op.getTensor());
  if (emitter.values.areUniform(op.getIndices())) {
    SmallVector<Value> indices = llvm::map_to_vector(
        op.getIndices(), [&](Value v) { return emitter.asIndex(v); });
    Value element =
        memref::LoadOp::create(emitter.scalars, loc, source, indices);
    emitter.values.map(op.getResult(), element);
    return;
  }
  std::optional<Box> box = findBox(op);
  Value read = !box              ? gather(op, source, lookup)
               : box->sharedKeys ? loadForKeys(loc, source, *box)
                                 : loadBox(loc, source, box->first, box->dims);
  emitter.values.map(op.getResult(), read);
}
