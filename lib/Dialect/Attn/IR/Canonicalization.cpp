//===- Canonicalization.cpp - Canonicalization of attention ops -----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace fovea::attn;

namespace {
/// A region with captured values after `leading` other arguments.
struct ModRegion {
  Region *region;
  unsigned leading;
};
} // namespace

static SmallVector<ModRegion> getModRegions(ForwardOp op) {
  return {{&op.getScoreMod(), ForwardOp::kScoreModArguments},
          {&op.getMaskMod(), ForwardOp::kMaskModArguments},
          {&op.getKvBounds(), ForwardOp::kKVBoundsArguments},
          {&op.getKvClassify(), ForwardOp::kKVClassifyArguments}};
}

static SmallVector<ModRegion> getModRegions(BackwardOp op) {
  return {{&op.getScoreMod(), BackwardOp::kScoreModArguments},
          {&op.getMaskMod(), BackwardOp::kMaskModArguments},
          {&op.getKvBounds(), BackwardOp::kKVBoundsArguments},
          {&op.getKvClassify(), BackwardOp::kKVClassifyArguments},
          {&op.getScoreGradient(), BackwardOp::kScoreGradientArguments},
          {&op.getQueryBounds(), BackwardOp::kQueryBoundsArguments}};
}

/// Regions that have no meaning without score_mod, or without mask_mod.
static SmallVector<Region *> getRegionsOfScoreMod(ForwardOp) { return {}; }
static SmallVector<Region *> getRegionsOfScoreMod(BackwardOp op) {
  return {&op.getScoreGradient()};
}
static SmallVector<Region *> getRegionsOfMaskMod(ForwardOp op) {
  return {&op.getKvBounds(), &op.getKvClassify()};
}
static SmallVector<Region *> getRegionsOfMaskMod(BackwardOp op) {
  return {&op.getKvBounds(), &op.getKvClassify(), &op.getQueryBounds()};
}

/// True if a captured value must stay because its gradient is a result.
static bool isFixed(ForwardOp, unsigned) { return false; }
static bool isFixed(BackwardOp op, unsigned index) {
  return llvm::is_contained(op.getDifferentiated(), int64_t(index));
}

/// Updates positions of captured values for the removal of the `dead` ones.
static void renumber(ForwardOp, const BitVector &) {}
static void renumber(BackwardOp op, const BitVector &dead) {
  SmallVector<int64_t> positions;
  for (int64_t position : op.getDifferentiated()) {
    int64_t fewer = 0;
    for (int64_t before = 0; before < position; ++before)
      fewer += dead.test(before);
    positions.push_back(position - fewer);
  }
  op.setDifferentiated(positions);
}

namespace {
/// Removes a score_mod that yields its score and a mask_mod that yields true.
template <typename OpTy>
struct DropTrivialRegions : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto yielded = [](Region &region) {
      return cast<YieldOp>(region.front().back()).getResults().front();
    };
    Region &scoreMod = op.getScoreMod(), &maskMod = op.getMaskMod();
    bool identity =
        !scoreMod.empty() && yielded(scoreMod) == scoreMod.getArgument(0);
    bool unmasked = !maskMod.empty() && matchPattern(yielded(maskMod), m_One());
    if (!identity && !unmasked)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      auto drop = [&](Region &region) { rewriter.eraseBlock(&region.front()); };
      auto dropAll = [&](Region &region, ArrayRef<Region *> others) {
        drop(region);
        for (Region *other : others)
          if (!other->empty())
            drop(*other);
      };
      if (identity)
        dropAll(scoreMod, getRegionsOfScoreMod(op));
      if (unmasked)
        dropAll(maskMod, getRegionsOfMaskMod(op));
    });
    return success();
  }
};

/// Removes unused and repeated captured values. The others keep their names, or
/// their numbers, which are part of the default names that hosts use.
template <typename OpTy>
struct PruneCaptures : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    SmallVector<ModRegion> regions = getModRegions(op);
    OperandRange captures = op.getCaptures();
    llvm::SmallDenseMap<Value, unsigned> first;
    BitVector dead(captures.size());
    rewriter.startOpModification(op);
    // Uses of a repeated capture move to its first occurrence; only after that
    // is it known which ones are used.
    for (auto [index, capture] : llvm::enumerate(captures)) {
      if (isFixed(op, index))
        continue;
      auto [entry, isNew] = first.try_emplace(capture, index);
      for (ModRegion &mod : regions)
        if (!isNew && !mod.region->empty())
          rewriter.replaceAllUsesWith(
              mod.region->getArgument(mod.leading + index),
              mod.region->getArgument(mod.leading + entry->second));
    }
    for (unsigned index = 0; index < captures.size(); ++index)
      if (!isFixed(op, index) && llvm::all_of(regions, [&](ModRegion &mod) {
            return mod.region->empty() ||
                   mod.region->getArgument(mod.leading + index).use_empty();
          }))
        dead.set(index);
    if (dead.none()) {
      rewriter.cancelOpModification(op);
      return failure();
    }
    for (ModRegion &mod : regions) {
      if (mod.region->empty())
        continue;
      BitVector arguments(mod.leading);
      for (unsigned index = 0; index < dead.size(); ++index)
        arguments.push_back(dead.test(index));
      mod.region->front().eraseArguments(arguments);
    }
    renumber(op, dead);
    SmallVector<Value> kept;
    SmallVector<int64_t> numbers;
    SmallVector<Attribute> names;
    for (auto [index, capture] : llvm::enumerate(captures))
      if (!dead.test(index)) {
        kept.push_back(capture);
        numbers.push_back(op.getCaptureNumber(index));
        if (std::optional<ArrayAttr> all = op.getCaptureNames())
          names.push_back((*all)[index]);
      }
    op.getCapturesMutable().assign(kept);
    if (op.getCaptureNames())
      op.setCaptureNamesAttr(rewriter.getArrayAttr(names));
    else if (llvm::equal(numbers, llvm::seq<int64_t>(0, numbers.size())))
      op.removeCaptureNumbersAttr();
    else
      op.setCaptureNumbers(numbers);
    rewriter.finalizeOpModification(op);
    return success();
  }
};

/// Folds a run-time scale that is a finite constant into the op.
template <typename OpTy>
struct FoldConstantScale : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    APFloat scale(0.0f);
    if (!op.getScaleValue() || op.getScaleAttr() ||
        !matchPattern(op.getScaleValue(), m_ConstantFloat(&scale)) ||
        !scale.isFinite())
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getScaleValueMutable().clear();
      op.setScaleAttr(rewriter.getF64FloatAttr(scale.convertToDouble()));
    });
    return success();
  }
};
} // namespace

void ForwardOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<DropTrivialRegions<ForwardOp>, FoldConstantScale<ForwardOp>,
               PruneCaptures<ForwardOp>>(context);
}

void BackwardOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  // A run-time scale stays an operand, since it may have a gradient.
  patterns.add<DropTrivialRegions<BackwardOp>, PruneCaptures<BackwardOp>>(
      context);
}
