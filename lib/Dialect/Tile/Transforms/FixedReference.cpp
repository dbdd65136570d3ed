//===- FixedReference.cpp - Fixed softmax offset --------------------------===//
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

// Exponent range of a row's probabilities below the largest one, and the
// largest exponent: sums of 2^31 products with values up to 2^48 stay finite.
static constexpr int kWeightRange = 24, kMostWeight = 48;

std::optional<double> SoftmaxLoopWriter::findFixedReference() {
  std::optional<ScoreBounds> bounds = getScoreBounds(getScores(op));
  std::optional<double> factor = references.getConstantFactor();
  if (!bounds || !factor)
    return std::nullopt;
  const llvm::fltSemantics &type = op.getValueElementType().getFloatSemantics();
  double least = bounds->least * *factor, most = bounds->most * *factor;
  // The largest probability of any row needs a normal range below it. The
  // offset may be larger by up to 1.
  double above =
             most - std::min(kMostWeight, APFloat::semanticsMaxExponent(type)),
         below = least - APFloat::semanticsMinExponent(type) - kWeightRange - 1;
  if (above > below)
    return std::nullopt;
  // Centre the range of the exponents.
  return std::clamp((least + most) / 2, above, below);
}

Value SoftmaxLoopWriter::mayBeFirst(Step step) {
  // In ascending order the first block may be unmasked.
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
  Value above =
      b.multiplyAdd(most, b.splat(rowType, *references.getConstantFactor()),
                    b.splat(rowType, -reference));
  Value fraction = b.subtract(above, math::FloorOp::create(b, above));
  Value aligned = b.add(fraction, b.splat(rowType, reference));
  Value next = b.select(b.isEqual(most, none), old, aligned);
  YieldOp::create(b, ValueRange{b.select(isOpen, next, old)});
  return align.getResult(0);
}

/// A probability that is a power of two is not rounded for the product. If a
/// row sees few keys, or many with equal scores, the rounding of the largest
/// probability dominates the error of the output. Therefore the largest
/// probability of the first block that a row sees becomes a power of two.
SoftmaxState SoftmaxLoopWriter::fixed(double reference) {
  // The offset of rows that have seen no key yet, or no masked block.
  auto guard = [&](Value m) {
    return b.select(b.isEqual(m, -std::numeric_limits<double>::infinity()),
                    b.splat(rowType, reference), m);
  };
  ResultRange results = forEachBlock(
      withAccNames({"row_max", "row_sums"}), startOfRows(),
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
          // All rows see all keys of such a block with their current offset.
          // Loops without masks keep only this branch.
          b.setInsertionPointToEnd(branch.elseBlock());
          Value kept = guard(carried[0]);
          scf::YieldOp::create(b, ValueRange{kept, kept});
        }
        Value m = branch.getResult(0);
        Value weights = references.weightsOf(
            scores, SoftmaxReference::Exponents{branch.getResult(1), Value()});
        SmallVector<Value> next = {m};
        next.append(
            addBlock(step.j, weights, carried[1], carried.drop_front(2)));
        return next;
      });
  Value l = finishSums(results[1]);
  // Rows that see no key have no offset.
  Value m =
      b.select(b.isEqual(l, 0.0), b.minusInfinity(rowType), guard(results[0]));
  return {l, llvm::to_vector_of<Value>(results.drop_front(2)),
          b.multiply(m, kLn2)};
}
