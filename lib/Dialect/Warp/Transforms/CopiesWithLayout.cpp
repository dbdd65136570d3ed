//===- CopiesWithLayout.cpp - Values with a layout of their own -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopiesWithLayout.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea;

Value fovea::warp::copyWithLayout(OpBuilder &b, Value value, Attribute layout,
                                  StringRef what, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  bool isCopied =
      op && op->getNumRegions() == 0 && op->getNumResults() == 1 &&
      (isMemoryEffectFree(op) || hasSingleEffect<MemoryEffects::Read>(op));
  if (!isCopied) {
    mlir::emitError(value.getLoc())
        << what
        << " must be computed by ops that can be repeated where they are used";
    return {};
  }
  for (Value operand : op->getOperands())
    if (tile::isRegisterTile(operand.getType()) &&
        !copyWithLayout(b, operand, layout, what, mapping))
      return {};
  auto type = cast<RankedTensorType>(value.getType());
  auto laidOut = RankedTensorType::getChecked(
      [&] { return mlir::emitError(value.getLoc()); }, type.getShape(),
      type.getElementType(), layout);
  if (!laidOut)
    return {};
  Operation *copy = b.clone(*op, mapping);
  copy->getResult(0).setType(laidOut);
  // The tile dialect takes no other constants.
  if (auto constant = dyn_cast<arith::ConstantOp>(copy))
    constant.setValueAttr(
        cast<SplatElementsAttr>(constant.getValue()).resizeSplat(laidOut));
  return copy->getResult(0);
}

LogicalResult fovea::warp::layOut(OpOperand &operand, Attribute layout,
                                  StringRef what) {
  OpBuilder b(operand.getOwner());
  IRMapping mapping;
  Value copy = copyWithLayout(b, operand.get(), layout, what, mapping);
  if (!copy)
    return failure();
  operand.set(copy);
  return success();
}

Value fovea::warp::cloneTile(OpBuilder &b, Value tile, IRMapping &mapping,
                             function_ref<bool(Operation *)> isCloned) {
  Operation *op = tile.getDefiningOp();
  bool isRepeatable =
      op && isa<RankedTensorType>(tile.getType()) && op->getNumRegions() == 0 &&
      (isMemoryEffectFree(op) || tile::readsUnwrittenTensor(op)) &&
      isCloned(op);
  if (mapping.contains(tile) || !isRepeatable)
    return mapping.lookupOrDefault(tile);
  for (Value operand : op->getOperands())
    cloneTile(b, operand, mapping, isCloned);
  b.clone(*op, mapping);
  return mapping.lookup(tile);
}
