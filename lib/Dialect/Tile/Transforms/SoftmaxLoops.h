//===- SoftmaxLoops.h - Loops of the softmax recurrences --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Notation: c = scale * log2(e). Probabilities are exp2(s * c - offset), where
// SoftmaxReference computes the softmax offset. `lazy` compares scores with the
// offset, so it keeps the offset in units of the score.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SOFTMAXLOOPS_H
#define FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SOFTMAXLOOPS_H

#include "SoftmaxReference.h"

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Support/CloneBody.h"
#include "fovea/Support/ValueNames.h"

#include <optional>

namespace fovea::tile {

/// Columns of the narrowest dot.
inline constexpr int64_t kDotColumns = 8;

/// Results of the loops, with the softmax offset in natural units.
struct SoftmaxState {
  mlir::Value l;
  llvm::SmallVector<mlir::Value> accs;
  mlir::Value reference;
};

/// Emits the loops of one tile.softmax_sum before it.
class SoftmaxLoopWriter {
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using RankedTensorType = mlir::RankedTensorType;

public:
  /// Probabilities reach 2^headroom before an offset is followed by `tau`.
  SoftmaxLoopWriter(SoftmaxSumOp op, plan::KernelAttr plan,
                    int64_t partialSumWidth, bool sumByDot, double headroom)
      : op(op), plan(plan), b(op.getLoc(), mlir::OpBuilder(op)),
        rowType(op.getM().getType()),
        scoresType(tileLike(rowType,
                            {rowType.getDimSize(0), int64_t(op.getStep())},
                            rowType.getElementType())),
        references(b, rowType, op.getScale().convertToDouble(),
                   op.getRuntimeScale(),
                   mayBeLarge(getScores(op), op.getScale().convertToDouble()),
                   headroom),
        sumByDot(sumByDot) {
    int64_t width = op.getStep() % partialSumWidth == 0 ? partialSumWidth : 1;
    if (sumByDot)
      width = kDotColumns;
    sumsType =
        tileLike(rowType, {rowType.getDimSize(0), width}, b.getF32Type());
  }

  SoftmaxState threePass();
  SoftmaxState normalized();
  /// With `tau` the offset follows the maximum as in `conditional`, and the
  /// role that receives the factors rescales only if some factor is not 1.
  SoftmaxState deferred(std::optional<double> tau = std::nullopt);
  SoftmaxState conditional(double tau);
  SoftmaxState lazy(double tau);
  /// A softmax offset for all scores of the op, in base 2. nullopt if the
  /// scores are not bounded, or if the probabilities would not fit the type
  /// that they are rounded to.
  std::optional<double> findFixedReference();
  /// The loop for such an offset. The only maximum is that of the first block
  /// that a row sees; it determines the fraction of the offset.
  SoftmaxState fixed(double reference);

  void finish(SoftmaxState state) {
    op.getM().replaceAllUsesWith(state.reference);
    op.getL().replaceAllUsesWith(state.l);
    op.getAccs().replaceAllUsesWith(state.accs);
    op.erase();
  }

private:
  /// An iteration: the block's first key and its partial flag.
  struct Step {
    Value j, partial;
  };
  using StepBody =
      llvm::function_ref<llvm::SmallVector<Value>(Step, ValueRange)>;

  /// Emits a loop over the blocks. `body` takes the iteration and the carried
  /// values and returns the next ones, which get `names`.
  mlir::ResultRange forEachBlock(llvm::ArrayRef<llvm::StringRef> names,
                                 llvm::ArrayRef<Value> inits, StepBody body);

  /// Offsets, sums and accumulators of rows that have seen no key.
  llvm::SmallVector<Value> startOfRows() {
    llvm::SmallVector<Value> start = {references.getNone(),
                                      b.splat(sumsType, 0.0)};
    start.append(zeroAccs());
    return start;
  }
  llvm::SmallVector<Value> zeroAccs() {
    return llvm::map_to_vector(op.getAccs(), [&](Value acc) {
      return b.splat(TileBuilder::typeOf(acc), 0.0);
    });
  }
  /// `names`, followed by those of the accumulators.
  llvm::SmallVector<llvm::StringRef>
  withAccNames(llvm::ArrayRef<llvm::StringRef> names) {
    llvm::SmallVector<llvm::StringRef> all(names);
    all.append(op.getAccs().size(), "acc");
    return all;
  }

  /// Creates the body of a new op and sets the insertion point to its end.
  mlir::Block *beginBody(IfAnyOp op) {
    llvm::SmallVector<mlir::Type> types(op.getResultTypes());
    return b.createBlock(
        &op.getBody(), {}, types,
        llvm::SmallVector<mlir::Location>(types.size(), b.getLoc()));
  }

  /// Clones the region and returns the only yielded value.
  Value inlineRegion(mlir::Region &region, ValueRange arguments) {
    return cloneBody(b, region, arguments).front();
  }
  Value scoresOf(Step step) {
    return named("scores",
                 inlineRegion(op.getScores(), {step.j, step.partial}));
  }
  /// The scores that the op's region yields.
  static Value getScores(SoftmaxSumOp op) {
    return op.getScores().front().getTerminator()->getOperand(0);
  }
  /// acc + p * values for each accumulator, with the probabilities modified by
  /// the `weights` region and rounded to the type of the values.
  llvm::SmallVector<Value> accumulate(Value j, Value weights, ValueRange accs);

  bool isStaged(llvm::StringRef name) {
    return plan && plan.getStream(name).isStaged;
  }
  /// A tile that a role other than its producer may use.
  Value staged(llvm::StringRef name, Value value) {
    return makeStaged(b, b.getLoc(), plan, name, value);
  }
  /// The name of the dot that computes row sums, derived from the product's.
  mlir::StringAttr getSumName() {
    mlir::StringAttr name = op.getNameAttr();
    return name ? b.getStringAttr(name.getValue() + ".sum") : name;
  }
  /// Probabilities, rounded to the type of the values.
  Value roundWeights(Value weights);
  /// Adds a block's probabilities to the loop-carried sums. With a dot, each
  /// column is a complete row sum, since a dot has at least eight columns.
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
  /// Adds a block to the sums and the accumulators, and returns these. A row
  /// sum by dot follows the products, after the load of the values.
  llvm::SmallVector<Value> addBlock(Value j, Value weights, Value sums,
                                    ValueRange accs) {
    if (!sumByDot)
      sums = addToSums(sums, weights);
    llvm::SmallVector<Value> next = accumulate(j, weights, accs);
    if (sumByDot)
      sums = addToSums(sums, weights);
    next.insert(next.begin(), sums);
    return next;
  }
  /// The row sums, from the result of addToSums.
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
  llvm::SmallVector<Value> scaleAllRows(ValueRange tiles, Value factors) {
    return llvm::map_to_vector(
        tiles, [&](Value tile) { return scaleRows(tile, factors); });
  }
  /// The same, but skipped if no row would change.
  Value scaleChangedRows(Value tile, Value factors);

  /// A new softmax offset. `moved` are the rows whose offset changed; null if
  /// any row may have changed.
  struct Move {
    Value reference;
    SoftmaxReference::Exponents exponents;
    Value moved;
  };
  /// The offset after `scores`: the running maximum, or with `tau` the running
  /// maximum only in rows where it exceeds `m` by more than `tau`.
  Move followMaximum(Value m, Value scores, std::optional<double> tau);
  /// The factor for sums that were computed with offset `m`. It is exactly 1 in
  /// rows whose offset stays, whatever their state.
  Value factorOf(Value m, const Move &move);

  struct LazyMove {
    SoftmaxReference::Served reference;
    Value sums, peaks, factor, moved;
  };
  /// The offset after `scores`, the factor for sums with the old offset, and
  /// the rows whose offset changed. Rescales `sums` if given. `peaks`, if
  /// given, are the largest scores so far as integers.
  LazyMove moveReference(const SoftmaxReference::Served &old, Value sums,
                         Value peaks, Value scores, Value isShown, double tau);
  /// True if the row sums must include the rounding of the largest probability.
  bool correctsPeak();
  /// Adds that rounding to the sums of `state`; `peak` is the largest
  /// probability.
  SoftmaxState correctPeak(SoftmaxState state, Value peak);
  /// True if owned rows may see keys of the block; null if they always may.
  Value isShown(Step step);
  /// True if the block may be the first one that some row sees.
  Value mayBeFirst(Step step);
  /// The offsets `m` of rows. If an offset is still -inf and the row sees keys
  /// of the block, it becomes `reference` plus the fraction by which the
  /// largest of `scores` exceeds `reference`.
  Value alignReference(double reference, Value m, Value scores);

  SoftmaxSumOp op;
  plan::KernelAttr plan; ///< null if the kernel has none
  TileBuilder b;
  RankedTensorType rowType, scoresType, sumsType;
  SoftmaxReference references;
  bool sumByDot;
};

/// Names loop-carried values; the results of one op share one name.
void nameCarried(llvm::ArrayRef<llvm::StringRef> names,
                 mlir::ValueRange values);

} // namespace fovea::tile

#endif // FOVEA_LIB_DIALECT_TILE_TRANSFORMS_SOFTMAXLOOPS_H
