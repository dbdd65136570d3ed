//===- ForwardCanonicalization.cpp - Simplifies attn.forward ----*- C++ -*-===//
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
/// A score_mod that yields its score, a mask_mod that yields true: no region.
struct DropTrivialRegions : OpRewritePattern<ForwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ForwardOp op,
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
      if (identity)
        drop(scoreMod);
      if (unmasked)
        drop(maskMod);
      for (Region *region : {&op.getKvBounds(), &op.getKvClassify()})
        if (unmasked && !region->empty())
          drop(*region);
    });
    return success();
  }
};

/// Captured values that no region reads, and values captured twice. What stays
/// keeps its number: hosts pass it by that name.
struct PruneCaptures : OpRewritePattern<ForwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ForwardOp op,
                                PatternRewriter &rewriter) const override {
    struct ModRegion {
      Region *region;
      unsigned leading;
    };
    ModRegion regions[] = {
        {&op.getScoreMod(), ForwardOp::kScoreModArguments},
        {&op.getMaskMod(), ForwardOp::kMaskModArguments},
        {&op.getKvBounds(), ForwardOp::kKVBoundsArguments},
        {&op.getKvClassify(), ForwardOp::kKVClassifyArguments}};
    OperandRange captures = op.getCaptures();
    llvm::SmallDenseMap<Value, unsigned> first;
    BitVector dead(captures.size());
    rewriter.startOpModification(op);
    // Uses of a repeated capture move to its first mention; only then is it
    // known which ones are read.
    for (auto [index, capture] : llvm::enumerate(captures)) {
      auto [entry, isNew] = first.try_emplace(capture, index);
      for (ModRegion &mod : regions)
        if (!isNew && !mod.region->empty())
          rewriter.replaceAllUsesWith(
              mod.region->getArgument(mod.leading + index),
              mod.region->getArgument(mod.leading + entry->second));
    }
    for (unsigned index = 0; index < captures.size(); ++index)
      if (llvm::all_of(regions, [&](ModRegion &mod) {
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
    SmallVector<Value> kept;
    SmallVector<int64_t> numbers;
    for (auto [index, capture] : llvm::enumerate(captures))
      if (!dead.test(index)) {
        kept.push_back(capture);
        numbers.push_back(op.getCaptureNumber(index));
      }
    op.getCapturesMutable().assign(kept);
    if (llvm::equal(numbers, llvm::seq<int64_t>(0, numbers.size())))
      op.removeCaptureNumbersAttr();
    else
      op.setCaptureNumbers(numbers);
    rewriter.finalizeOpModification(op);
    return success();
  }
};

/// A run-time scale that is a finite constant becomes one of the op.
struct FoldConstantScale : OpRewritePattern<ForwardOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ForwardOp op,
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
  patterns.add<DropTrivialRegions, FoldConstantScale, PruneCaptures>(context);
}
