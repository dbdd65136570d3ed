//===- Rows.cpp - Ops that depend on row indices --------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea::tile;

static Value addOffset(OpBuilder &b, Location loc, Value value,
                       int64_t offset) {
  if (offset == 0)
    return value;
  return arith::AddIOp::create(b, loc, value,
                               arith::ConstantIndexOp::create(b, loc, offset));
}

/// Moves the start of a tile by `rows` rows.
static void moveBox(OpBuilder &b, Location loc, MutableOperandRange indices,
                    BoxDims dims, int64_t rows) {
  OpOperand &index = indices[dims.row];
  index.set(addOffset(b, loc, index.get(), rows / dims.foldExtent));
}

int64_t LoadOp::getRowUnit() {
  // The rows of all groups have one start.
  if (getBoxDims().hasGroups())
    return getResult().getType().getDimSize(0);
  return getBoxDims().foldExtent;
}

SmallVector<Value> LoadOp::restrictToRows(OpBuilder &b, int64_t first,
                                          int64_t) {
  moveBox(b, getLoc(), getIndicesMutable(), getBoxDims(), first);
  return {getResult()};
}

Value StoreOp::getRowTile() { return getValue(); }

int64_t StoreOp::getRowUnit() { return getBoxDims().foldExtent; }

SmallVector<Value> StoreOp::restrictToRows(OpBuilder &b, int64_t first,
                                           int64_t) {
  moveBox(b, getLoc(), getIndicesMutable(), getBoxDims(), first);
  return {};
}

SmallVector<Value> RandomOp::restrictToRows(OpBuilder &b, int64_t first,
                                            int64_t) {
  getRowMutable().assign(addOffset(b, getLoc(), getRow(), first));
  return {getResult()};
}

SmallVector<Value> IotaOp::restrictToRows(OpBuilder &b, int64_t first,
                                          int64_t) {
  if (getDim() != 0 || first == 0)
    return {getResult()};
  b.setInsertionPointAfter(*this);
  RankedTensorType type = getResult().getType();
  Value before = arith::ConstantOp::create(
      b, getLoc(),
      DenseElementsAttr::get(type,
                             b.getIntegerAttr(type.getElementType(), first)));
  return {arith::AddIOp::create(b, getLoc(), getResult(), before,
                                arith::IntegerOverflowFlags::nsw)};
}

SmallVector<Value> RampOp::restrictToRows(OpBuilder &b, int64_t first,
                                          int64_t) {
  if (getDim() != 0 || first == 0)
    return {getResult()};
  Value count =
      arith::ConstantOp::create(b, getLoc(), b.getF32FloatAttr(first));
  Value more = arith::MulFOp::create(b, getLoc(), count, getStep());
  getStartMutable().assign(
      arith::AddFOp::create(b, getLoc(), getStart(), more));
  return {getResult()};
}

Value OwnedRowsOp::getRowTile() { return {}; }

SmallVector<Value> OwnedRowsOp::restrictToRows(OpBuilder &b, int64_t first,
                                               int64_t count) {
  return {arith::ConstantIndexOp::create(b, getLoc(), first),
          arith::ConstantIndexOp::create(b, getLoc(), count)};
}
