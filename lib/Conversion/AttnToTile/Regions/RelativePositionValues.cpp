//===- RelativePositionValues.cpp - Relative-position values --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Regions/RelativePositionValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

static RegionContext makeRowContext(const RegionContext &scores) {
  RegionContext context = scores;
  context.rows = 1;
  context.columns = scores.rows + scores.columns;
  return context;
}

RelativePositionEmitter::RelativePositionEmitter(
    Region &region, const RegionDependences &dependences, RegionEmitter &scores)
    : region(region), dependences(dependences), scores(scores),
      context(makeRowContext(scores.context)),
      ranges(region, context.captures.size(), /*past=*/context.columns),
      row(scores.builder, scores.builder, context, ranges, scores.exact) {}

bool fovea::isExpensiveRelative(Operation *op,
                                const RegionDependences &dependences,
                                bool rowsAreKeys) {
  if (isa<arith::MulFOp, arith::MulIOp>(op))
    return rowsAreKeys && llvm::all_of(op->getOperands(), [&](Value factor) {
             return !dependences.isUniform(factor);
           });
  if (isa<arith::DivFOp>(op))
    return !matchPattern(op->getOperand(1), m_Constant());
  return isa<tensor::ExtractOp>(op) ||
         (isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
          !isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::CopySignOp>(op));
}

bool RelativePositionEmitter::isExpensive(
    Operation *op, const AffineScoreBuilder &forms) const {
  // An op that only changes a sum is free.
  return isExpensiveRelative(op, dependences, scores.context.rowsAreKeys) ||
         (isa<arith::DivFOp>(op) && (scores.exact.contains(op->getResult(0)) ||
                                     !forms.contains(op->getOperand(0))));
}

bool RelativePositionEmitter::take(Operation *op,
                                   const AffineScoreBuilder &forms) const {
  if (op->getNumResults() != 1 || !dependences.isByDistance(op->getResult(0)))
    return false;
  return isExpensive(op, forms) ||
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return scores.values.lookupRelative(operand) != nullptr;
         });
}

void RelativePositionEmitter::emitCoordinates(Location loc) {
  OpBuilder &b = scores.builder;
  auto coordinates =
      region.getArguments().drop_back(context.captures.size()).take_back(2);
  Value ofRows = coordinates[0], ofColumns = coordinates[1];
  Value *firstRow = &context.row, firstColumn = context.key;
  if (context.rowsAreKeys) {
    std::swap(ofRows, ofColumns);
    firstRow = &context.key;
    firstColumn = context.row;
  }
  // The row starts at the relative position of the last row's first column; its
  // columns cover all relative positions up to that of the first row's last
  // column.
  *firstRow = arith::AddIOp::create(
      b, loc, *firstRow,
      arith::ConstantIndexOp::create(b, loc, scores.context.rows - 1));
  row.values.map(ofRows, *firstRow);
  // Aligned as blocks are, not to the width of the row.
  row.values.map(
      ofColumns,
      row.tiles.makeCoordinates(
          loc, firstColumn, BlockTiles::getPowerOf2(scores.context.columns),
          row.tiles.getType({1, context.columns}, b.getI32Type()), /*dim=*/1));
}

LogicalResult RelativePositionEmitter::emitOnRow(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (row.values.contains(operand))
      continue;
    if (scores.values.isUniform(operand))
      row.values.map(operand, scores.values.lookup(operand));
    else if (failed(emitOnRow(operand.getDefiningOp())))
      return failure();
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    CaptureReader(row).read(extract,
                            [&](Value v) { return row.values.lookup(v); });
    return success();
  }
  if (failed(RegionEmitter::checkArithmetic(op)))
    return failure();
  return row.emitElementwise(op);
}

LogicalResult RelativePositionEmitter::emit(Operation *op) {
  auto coordinates = region.getArguments().drop_back(context.captures.size());
  if (!row.values.contains(coordinates.back()))
    emitCoordinates(op->getLoc());
  Value result = op->getResult(0);
  if (!row.values.contains(result) && failed(emitOnRow(op)))
    return failure();
  scores.values.mapRelative(result, row.values.lookup(result));
  return success();
}

FailureOr<Value> RelativePositionEmitter::get(Value value) {
  if (Value made = scores.values.lookupRelative(value))
    return made;
  if (failed(emit(value.getDefiningOp())))
    return failure();
  return scores.values.lookupRelative(value);
}
