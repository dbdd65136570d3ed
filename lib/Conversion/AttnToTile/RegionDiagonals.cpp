//===- RegionDiagonals.cpp - What depends on distances alone ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionToTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

bool RegionToTile::isDear(Operation *op) {
  if (isa<tensor::ExtractOp>(op))
    return true;
  // What only changes a sum costs nothing.
  if (isa<arith::DivFOp>(op))
    return exact.contains(op->getResult(0)) ||
           !forms.contains(op->getOperand(0)) ||
           !matchPattern(op->getOperand(1), m_Constant());
  return isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
         !isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::CopySignOp>(op);
}

bool RegionToTile::isForDiagonals(Operation *op) {
  if (!dependences || context.partsRows || op->getNumResults() != 1 ||
      !dependences->isByDistance(op->getResult(0)))
    return false;
  return isDear(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
           return diagonals.contains(operand);
         });
}

LogicalResult RegionToTile::cloneForDiagonals(Operation *op) {
  Location loc = op->getLoc();
  if (!onDiagonals) {
    // The last row's first key is the first diagonal; from there on keys have
    // the distances of all, up to the first row's last key.
    Value lastRow = arith::AddIOp::create(
        builder, loc, context.row,
        arith::ConstantIndexOp::create(builder, loc, context.rows - 1));
    diagonalContext.emplace(context);
    diagonalContext->row = lastRow;
    diagonalContext->rows = 1;
    diagonalContext->columns = context.rows + context.columns;
    onDiagonals = std::make_unique<RegionToTile>(builder, *diagonalContext);
    Region &region = *op->getParentRegion();
    onDiagonals->exact = exact;
    auto coordinates = region.getArguments()
                           .drop_back(context.captures.size())
                           .take_back(attn::ForwardOp::kMaskModArguments);
    // As aligned as blocks are, not as wide as all diagonals.
    Value keys = makeCoordinates(
        loc, context.key, getPowerOf2(context.columns),
        tileType({1, diagonalContext->columns}, builder.getI32Type()), 1);
    onDiagonals->mapping.map(coordinates[2], lastRow);
    onDiagonals->mapping.map(coordinates[3], keys);
    for (Value coordinate : coordinates.drop_front(2))
      onDiagonals->ranges.try_emplace(
          coordinate, makeRange(0, attn::ForwardOp::kMaxSequenceLength +
                                       diagonalContext->columns));
  }
  if (failed(onDiagonals->cloneFrom(*this, op)))
    return failure();
  Value result = op->getResult(0);
  diagonals.try_emplace(result, onDiagonals->mapping.lookup(result));
  return success();
}

LogicalResult RegionToTile::cloneFrom(RegionToTile &scores, Operation *op) {
  for (Value operand : op->getOperands()) {
    if (mapping.contains(operand))
      continue;
    if (scores.isUniform(operand)) {
      mapping.map(operand, scores.mapping.lookup(operand));
      if (auto range = scores.ranges.find(operand);
          range != scores.ranges.end())
        ranges.insert_or_assign(operand, range->second);
      continue;
    }
    if (failed(cloneFrom(scores, operand.getDefiningOp())))
      return failure();
  }
  return cloneOp(op);
}
