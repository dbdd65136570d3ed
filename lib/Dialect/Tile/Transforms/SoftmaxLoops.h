//===- SoftmaxLoops.h - Softmax sums as loops -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Notation: c = scale * log2(e). Weights are exp2(s * c - reference);
// SoftmaxReference defines references. `lazy` compares scores with them, so it
// keeps them in units of the score.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SOFTMAXLOOPS_H
#define FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SOFTMAXLOOPS_H

#include "SoftmaxReference.h"

#include "fovea/Schedule/Schedule.h"
#include "fovea/Support/ValueNames.h"

#include <optional>

namespace fovea::tile {

/// Columns of the narrowest product.
inline constexpr int64_t kDotColumns = 8;

/// Results of the loops, with the reference in natural units.
struct SoftmaxState {
  mlir::Value l, acc, reference;
};

/// Writes the loops of one softmax_sum before it.
class SoftmaxLoopWriter {
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using RankedTensorType = mlir::RankedTensorType;

public:
  SoftmaxLoopWriter(SoftmaxSumOp op, plan::KernelAttr plan,
                    int64_t partialSumWidth, bool sumByDot)
      : op(op), plan(plan), b(op.getLoc(), mlir::OpBuilder(op)),
        accType(op.getAcc().getType()), rowType(op.getM().getType()),
        scoresType(tileLike(accType,
                            {accType.getDimSize(0), int64_t(op.getStep())},
                            rowType.getElementType())),
        references(b, rowType, op.getScale().convertToDouble(),
                   mayBeLarge(getScores(op), op.getScale().convertToDouble())),
        sumByDot(sumByDot) {
    int64_t width = op.getStep() % partialSumWidth == 0 ? partialSumWidth : 1;
    if (sumByDot)
      width = kDotColumns;
    sumsType =
        tileLike(accType, {accType.getDimSize(0), width}, b.getF32Type());
  }

  SoftmaxState threePass();
  SoftmaxState normalized();
  /// With `tau` the reference follows as in `conditional`, and the role that
  /// gets the factors rescales only if some are not 1.
  SoftmaxState deferred(std::optional<double> tau = std::nullopt);
  SoftmaxState conditional(double tau);
  SoftmaxState lazy(double tau);
  /// A reference that serves all scores the op can have, in base 2; none if
  /// that isn't known, or if weights by one reference would not fit the type
  /// that they are rounded to.
  std::optional<double> findFixedReference();
  /// For such a reference; no maximum is computed but that of the first block
  /// that a row sees, which chooses the reference's fraction.
  SoftmaxState fixed(double reference);

  void finish(SoftmaxState state) {
    op.getM().replaceAllUsesWith(state.reference);
    op.getL().replaceAllUsesWith(state.l);
    op.getAcc().replaceAllUsesWith(state.acc);
    op.erase();
  }

private:
  /// A step of the loop: the first key, and whether masks apply.
  struct Step {
    Value j, partial;
  };
  using StepBody =
      llvm::function_ref<llvm::SmallVector<Value>(Step, ValueRange)>;

  /// A loop over the blocks; `body` gets a step and the carried values and
  /// returns the next ones, which are called `names`.
  mlir::ResultRange forEachBlock(llvm::ArrayRef<llvm::StringRef> names,
                                 llvm::ArrayRef<Value> inits, StepBody body);

  /// References, sums and accumulators of rows that have seen nothing.
  llvm::SmallVector<Value, 3> startOfRows() {
    return {references.getNone(), b.splat(sumsType, 0.0),
            b.splat(accType, 0.0)};
  }

  /// The body of a new op, with the builder at its end.
  mlir::Block *beginBody(IfAnyOp op) {
    llvm::SmallVector<mlir::Type> types(op.getResultTypes());
    return b.createBlock(
        &op.getBody(), {}, types,
        llvm::SmallVector<mlir::Location>(types.size(), b.getLoc()));
  }

  /// The yielded values of a copy of the region, and the only one.
  llvm::SmallVector<Value> inlineAll(mlir::Region &region,
                                     ValueRange arguments);
  Value inlineRegion(mlir::Region &region, ValueRange arguments) {
    return inlineAll(region, arguments).front();
  }
  Value scoresOf(Step step) {
    return named("scores",
                 inlineRegion(op.getScores(), {step.j, step.partial}));
  }
  /// What the op's region gives.
  static Value getScores(SoftmaxSumOp op) {
    return op.getScores().front().getTerminator()->getOperand(0);
  }
  RankedTensorType getValuesType() {
    return mlir::cast<RankedTensorType>(
        op.getValues().front().getTerminator()->getOperand(0).getType());
  }
  /// acc + weights * values, with the weights as the op's region changes them
  /// and rounded to the type of the values.
  Value accumulate(Value j, Value weights, Value acc);

  bool isStaged(llvm::StringRef name) {
    return plan && plan.getStream(name).isStaged;
  }
  /// A tile that another role may need than the one that computes it.
  Value staged(llvm::StringRef name, Value value) {
    return makeStaged(b, b.getLoc(), plan, name, value);
  }
  /// The name of sums by a dot: a part of the product's.
  mlir::StringAttr getSumName() {
    mlir::StringAttr name = op.getNameAttr();
    return name ? b.getStringAttr(name.getValue() + ".sum") : name;
  }
  /// The weights in the type of the values.
  Value roundWeights(Value weights);
  /// The sums that the loop carries, and one block's weights. By a dot, all
  /// columns are whole sums, since a product has no fewer columns.
  Value addToSums(Value sums, Value weights) {
    if (!sumByDot)
      return b.add(sums, partialSumsOf(weights));
    Value rounded = roundWeights(weights);
    RankedTensorType type = TileBuilder::typeOf(rounded);
    Value ones = b.splat(tileLike(type, {type.getDimSize(1), kDotColumns},
                                  type.getElementType()),
                         1.0);
    return DotOp::create(b, rounded, ones, sums,
                         /*transposeA=*/false, /*transposeB=*/false,
                         getSumName());
  }
  /// The sums with a block's weights, and the accumulator with their products.
  /// A sum by dot joins the product, after the copy of the values.
  std::pair<Value, Value> addBlock(Value j, Value weights, Value sums,
                                   Value acc) {
    if (!sumByDot)
      sums = addToSums(sums, weights);
    acc = accumulate(j, weights, acc);
    if (sumByDot)
      sums = addToSums(sums, weights);
    return {sums, acc};
  }
  /// The row's sum, from what addToSums gave.
  Value finishSums(Value sums) {
    return sumByDot ? b.reduceColumns(ReduceKind::Max, sums, 1) : sumUp(sums);
  }
  Value sumUp(Value partialSums) {
    return b.reduceColumns(ReduceKind::Add, partialSums, 1);
  }
  Value partialSumsOf(Value weights) {
    return b.reduceColumns(ReduceKind::Add, weights, sumsType.getDimSize(1));
  }
  Value scaleRows(Value tile, Value factors) {
    return b.multiply(tile, b.widen(factors, TileBuilder::typeOf(tile)));
  }
  /// The same, but skipped where no row would change.
  Value scaleChangedRows(Value tile, Value factors);

  /// A reference that left the old one in the rows `moved`; null if that may be
  /// any.
  struct Move {
    Value reference;
    SoftmaxReference::Exponents exponents;
    Value moved;
  };
  /// The reference after `scores`: their maximum so far, or with `tau` only
  /// where that left `m` by more.
  Move followMaximum(Value m, Value scores, std::optional<double> tau);
  /// What was summed up with `m` is multiplied with. Rows that stay get exactly
  /// 1, whatever their state.
  Value factorOf(Value m, const Move &move);

  struct LazyMove {
    SoftmaxReference::Served reference;
    Value sums, peaks, factor, moved;
  };
  /// The reference after a look at `scores`, the factor of what was summed up
  /// with the old one, and the rows that moved. Rescales `sums`, if given;
  /// `peaks`, if given, are the largest scores so far as integers.
  LazyMove moveReference(const SoftmaxReference::Served &old, Value sums,
                         Value peaks, Value scores, Value isShown, double tau);
  /// Whether the rounding of a row's largest weight is to be added to its sum.
  bool correctsPeak();
  /// `state` with that rounding in the sum, where `peak` is the largest weight.
  SoftmaxState correctPeak(SoftmaxState state, Value peak);
  /// Whether rows that are held may see some of the block; null if they all
  /// may.
  Value isShown(Step step);
  /// Whether the step may be the first one that some row sees.
  Value mayBeFirst(Step step);
  /// The references `m` of rows. Where one is open (-inf) and the row sees some
  /// of the block, it becomes `reference` plus the fraction by which the
  /// largest of `scores` is above that.
  Value alignReference(double reference, Value m, Value scores);

  SoftmaxSumOp op;
  plan::KernelAttr plan; ///< null if the kernel has none
  TileBuilder b;
  RankedTensorType accType, rowType, scoresType, sumsType;
  SoftmaxReference references;
  bool sumByDot;
};

/// Names the values that a loop carries; ops with several results have one name
/// for all.
void nameCarried(llvm::ArrayRef<llvm::StringRef> names,
                 mlir::ValueRange values);

} // namespace fovea::tile

#endif // FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SOFTMAXLOOPS_H
