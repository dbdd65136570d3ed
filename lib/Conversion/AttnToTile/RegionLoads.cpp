//===- RegionLoads.cpp - Reads of captured tensors on tiles -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardSums.h"
#include "Divisors.h"
#include "KeyChunks.h"
#include "RegionToTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace fovea;

Value RegionToTile::loadBox(Location loc, Value source, ArrayRef<Value> first,
                            ArrayRef<int64_t> dims) {
  if (dims[0] == -1 && dims[1] == -1)
    return memref::LoadOp::create(builder, loc, source, first);
  SmallVector<int64_t, 2> shape = {dims[0] == -1 ? 1 : context.rows,
                                   dims[1] == -1 ? 1 : context.columns};
  Type element = cast<MemRefType>(source.getType()).getElementType();
  // A block of each tensor that scores are made of is a stream of its own.
  StringAttr name;
  const Value *capture = llvm::find(context.captures, source);
  if (dims[0] != -1 && dims[1] != -1 && capture != context.captures.end())
    name = builder.getStringAttr("score." +
                                 Twine(capture - context.captures.begin()));
  return tile::LoadOp::create(builder, loc, tileType(shape, element), source,
                              first, /*limit=*/Value(), dims, name);
}

Value RegionToTile::loadInside(Location loc, Value source,
                               ArrayRef<Value> indices, int64_t position) {
  Type element = cast<MemRefType>(source.getType()).getElementType();
  Value size = memref::DimOp::create(builder, loc, source, position);
  Value isInside = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ult, indices[position], size);
  auto branch = scf::IfOp::create(builder, loc, element, isInside,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(branch.thenBlock());
  Value value = memref::LoadOp::create(builder, loc, source, indices);
  scf::YieldOp::create(builder, loc, value);
  builder.setInsertionPointToEnd(branch.elseBlock());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  scf::YieldOp::create(builder, loc, zero);
  return branch.getResult(0);
}

Value RegionToTile::loadForKeys(Location loc, Value source,
                                SmallVector<Value> first,
                                ArrayRef<int64_t> dims, int64_t position,
                                int64_t keys) {
  // Blocks begin at multiples of their size, which the keys divide.
  Value start = arith::DivUIOp::create(
      builder, loc, first[position],
      arith::ConstantIndexOp::create(builder, loc, keys));
  RankedTensorType numbers =
      tileType({1, context.columns}, builder.getI32Type());
  Value column = tile::IotaOp::create(builder, loc, numbers, 1);
  Type element = cast<MemRefType>(source.getType()).getElementType();
  RankedTensorType type =
      tileType({dims[0] == -1 ? 1 : context.rows, context.columns}, element);
  Value result;
  for (int64_t chunk = context.columns / keys - 1; chunk >= 0; --chunk) {
    first[position] = arith::AddIOp::create(
        builder, loc, start,
        arith::ConstantIndexOp::create(builder, loc, chunk));
    // A block's last chunks may lie past the last key.
    Value shared = dims[0] == -1 && dims[1] == -1
                       ? loadInside(loc, source, first, position)
                       : loadBox(loc, source, first, dims);
    Value wide = tile::BroadcastOp::create(builder, loc, type, shared);
    if (!result) {
      result = wide;
      continue;
    }
    Value end = arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(numbers, int32_t((chunk + 1) * keys)));
    Value isBefore = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, column, end);
    if (type.getDimSize(0) != 1)
      isBefore = toFullTile(loc, isBefore);
    result = arith::SelectOp::create(builder, loc, isBefore, wide, result);
  }
  return result;
}

LogicalResult RegionToTile::cloneExtract(tensor::ExtractOp op) {
  Location loc = op.getLoc();
  // A captured one: what computes a tensor is refused (cloneOp).
  Value source = mapping.lookup(op.getTensor());
  auto memref = cast<MemRefType>(source.getType());
  if (places && places->contains(op)) {
    // Its indices were computed apart, as index.
    context.hasWideIndex |= hasWideScalar;
    // A tile all the same: what is a scalar is taken to be one for all blocks.
    Value element =
        memref::LoadOp::create(builder, loc, source, places->at(op));
    mapping.map(op.getResult(), tile::BroadcastOp::create(
                                    builder, loc,
                                    tileType({context.rows, context.columns},
                                             element.getType()),
                                    element)
                                    .getResult());
    return success();
  }
  if (llvm::all_of(op.getIndices(), [&](Value v) { return isUniform(v); })) {
    SmallVector<Value> indices = llvm::map_to_vector(
        op.getIndices(), [&](Value v) { return asIndex(v); });
    mapping.map(op.getResult(),
                memref::LoadOp::create(invariant ? *invariant : builder, loc,
                                       source, indices)
                    .getResult());
    return success();
  }

  // Unit steps along the query and the key: a box. A coordinate may appear
  // once; a second one makes a diagonal, which is gathered. What many keys
  // share is a box without them.
  SmallVector<int64_t> dims = {-1, -1};
  SmallVector<Value> first;
  bool isBox = true;
  std::optional<int64_t> shared;
  int64_t sharedAt = -1;
  for (auto [position, index] : llvm::enumerate(op.getIndices())) {
    if (isUniform(index)) {
      first.push_back(asIndex(index));
      continue;
    }
    std::optional<int64_t> chunk = getKeyChunk(index, keyArgument);
    if (chunk && !shared && !context.rowsAreKeys &&
        context.columns % *chunk == 0) {
      shared = chunk;
      sharedAt = position;
      first.push_back(context.key);
      continue;
    }
    auto unit = affine.find(index);
    if (unit == affine.end() || dims[unit->second.dim] != -1) {
      isBox = false;
      break;
    }
    dims[unit->second.dim] = position;
    first.push_back(unit->second.first);
  }
  if (isBox && !(shared && dims[1] != -1)) {
    mapping.map(op.getResult(), shared ? loadForKeys(loc, source, first, dims,
                                                     sharedAt, *shared)
                                       : loadBox(loc, source, first, dims));
    return success();
  }

  SmallVector<Value> indices;
  int64_t rows = 1, columns = 1;
  for (Value index : op.getIndices()) {
    Value value = isUniform(index) ? asIndex(index) : lookup(index);
    indices.push_back(value);
    if (auto type = dyn_cast<RankedTensorType>(value.getType())) {
      rows = std::max(rows, type.getDimSize(0));
      columns = std::max(columns, type.getDimSize(1));
    }
  }
  mapping.map(
      op.getResult(),
      tile::GatherOp::create(builder, loc,
                             tileType({rows, columns}, memref.getElementType()),
                             source, indices, /*mask=*/Value())
          .getResult());
  return success();
}

/// Adds to memory where each pair says; pairs that say the same are for the
/// lowering to add up first.
LogicalResult RegionToTile::cloneContribute(attn::ContributeOp op) {
  Location loc = op.getLoc();
  if (!context.contributions || context.contributions->targets.empty())
    return success();
  const Contributions &contributions = *context.contributions;
  unsigned number = cast<BlockArgument>(op.getTarget()).getArgNumber();
  Value target =
      contributions.targets[number - (op->getBlock()->getNumArguments() -
                                      context.captures.size())];
  SmallVector<Value> indices =
      llvm::map_to_vector(op.getIndices(), [&](Value index) {
        return isUniform(index) ? asIndex(index) : lookup(index);
      });
  // What has no dimensions is one element.
  if (indices.empty())
    indices.push_back(arith::ConstantIndexOp::create(builder, loc, 0));
  addToSums(builder, loc, toFullTile(loc, lookup(op.getValue())), target,
            indices, contributions.counts);
  return success();
}
