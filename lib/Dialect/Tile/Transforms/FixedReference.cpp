//===- FixedReference.cpp - One reference for bounded scores --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreBounds.h"
#include "SoftmaxLoops.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

// Powers of two that a row's weights may be below its largest one, and that any
// may be above 1: sums of 2^31 products with values up to 2^48 stay finite.
static constexpr int kWeightRange = 24, kMostWeight = 48;

std::optional<double> SoftmaxLoopWriter::findFixedReference() {
  std::optional<ScoreBounds> bounds = getScoreBounds(getScores(op));
  if (!bounds)
    return std::nullopt;
  auto values = cast<RankedTensorType>(
      op.getValues().front().getTerminator()->getOperand(0).getType());
  const llvm::fltSemantics &type =
      cast<FloatType>(values.getElementType()).getFloatSemantics();
  double factor = references.getFactor(), least = bounds->least * factor,
         most = bounds->most * factor;
  // The largest weight of any row must keep a normal range below it.
  // The reference may be up to 1 larger.
  double above =
             most - std::min(kMostWeight, APFloat::semanticsMaxExponent(type)),
         below = least - APFloat::semanticsMinExponent(type) - kWeightRange - 1;
  if (above > below)
    return std::nullopt;
  // As many powers of two for large values as for small ones.
  return std::clamp((least + most) / 2, above, below);
}

Value SoftmaxLoopWriter::mayBeFirst(Step step) {
  // Upwards, the first block may need no mask.
  if (op.isVisiting() || op.getDescending())
    return step.partial;
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, step.j, op.getLower());
  return arith::OrIOp::create(b, isFirst, step.partial);
}

Value SoftmaxLoopWriter::alignReference(double reference, Value m,
                                        Value scores) {
  const double none = -std::numeric_limits<double>::infinity();
  Value isOpen = b.isEqual(m, none);
  auto align = IfAnyOp::create(b, isOpen, ValueRange{m});
  OpBuilder::InsertionGuard insertion(b);
  Block *body = beginBody(align);
  Value old = body->getArgument(0);
  Value most = b.reduceColumns(ReduceKind::Max, scores, 1);
  Value above = b.multiplyAdd(most, b.splat(rowType, references.getFactor()),
                              b.splat(rowType, -reference));
  Value fraction = b.subtract(above, math::FloorOp::create(b, above));
  Value aligned = b.add(fraction, b.splat(rowType, reference));
  Value next = b.select(b.isEqual(most, none), old, aligned);
  YieldOp::create(b, ValueRange{b.select(isOpen, next, old)});
  return align.getResult(0);
}

/// A weight that is a power of two is not rounded for the product, and where a
/// row sees few keys, or many that are alike, the largest weight's rounding is
/// the output's error. So the largest weight of the first block that a row sees
/// becomes a power of two.
SoftmaxState SoftmaxLoopWriter::fixed(double reference) {
  // What serves rows that have seen nothing yet, or no block with a mask.
  auto guard = [&](Value m) {
    return b.select(b.isEqual(m, -std::numeric_limits<double>::infinity()),
                    b.splat(rowType, reference), m);
  };
  ResultRange results = forEachBlock(
      {"row_max", "row_sums", "acc"}, startOfRows(),
      [&](Step step, ValueRange carried) {
        Value scores = scoresOf(step);
        auto branch =
            scf::IfOp::create(b, TypeRange{rowType, rowType}, mayBeFirst(step),
                              /*withElseRegion=*/true);
        {
          OpBuilder::InsertionGuard insertion(b);
          b.setInsertionPointToEnd(branch.thenBlock());
          Value aligned = alignReference(reference, carried[0], scores);
          scf::YieldOp::create(b, ValueRange{aligned, guard(aligned)});
          // All rows see all of such a block, and keep the reference that they
          // see it with. In loops without masks this remains.
          b.setInsertionPointToEnd(branch.elseBlock());
          Value kept = guard(carried[0]);
          scf::YieldOp::create(b, ValueRange{kept, kept});
        }
        Value m = branch.getResult(0);
        Value weights = references.weightsOf(
            scores, SoftmaxReference::Exponents{branch.getResult(1), Value()});
        auto [sums, acc] = addBlock(step.j, weights, carried[1], carried[2]);
        return SmallVector<Value>{m, sums, acc};
      });
  Value l = finishSums(results[1]);
  // Rows that saw nothing have no reference.
  Value m =
      b.select(b.isEqual(l, 0.0), b.minusInfinity(rowType), guard(results[0]));
  return {l, results[2], b.multiply(m, kLn2)};
}
