//===- RematerializeInLayout.cpp - Clone tiles in a layout ----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the cloning of a tile computation with another layout.
//
//===----------------------------------------------------------------------===//

#include "Layouts/RematerializeInLayout.h"

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
        << " must be computed by ops that can be rematerialized at their uses";
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
  // Tile constants are splats; the tile dialect verifies this.
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
