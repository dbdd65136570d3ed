//===- AnalyzeMask.cpp - Bounds of the keys that a mask shows ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Attn/Transforms/Passes.h"

#include "MaskAnalysis.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fovea::attn {
#define GEN_PASS_DEF_ATTNANALYZEMASK
#include "fovea/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fovea::attn

using namespace mlir;
using namespace fovea;
using namespace fovea::attn;

/// Yields `lb <= fb <= fe <= ub`, all in the sequence. A range without keys
/// keeps its lower end.
static void yieldBounds(IntervalBuilder &b, KeyRangeBuilder &keys,
                        Cover cover) {
  Value zero = b.constant(0), length = keys.getLength();
  KeyRange may = cover.may, must = cover.must;
  Value lb = zero, ub = length;
  if (may.isEmpty) {
    ub = zero;
  } else {
    if (may.lo)
      lb = b.min(b.max(may.lo, zero), length);
    if (may.hi)
      ub = b.max(b.min(may.hi, length), lb);
    if (may.guard)
      ub = b.select(may.guard, ub, lb);
  }
  Value fb = lb, fe = ub;
  if (must.isEmpty) {
    fe = lb;
  } else {
    if (must.lo && must.lo != may.lo)
      fb = b.min(b.max(must.lo, lb), ub);
    if (must.hi && must.hi != may.hi)
      fe = b.max(b.min(must.hi, ub), fb);
    if (must.guard && must.guard != may.guard)
      fe = b.select(must.guard, fe, fb);
  }
  YieldOp::create(b.getBuilder(), b.getLoc(), ValueRange{lb, fb, fe, ub});
}

namespace {
struct AnalyzeMaskPass
    : fovea::attn::impl::AttnAnalyzeMaskBase<AnalyzeMaskPass> {
  using AttnAnalyzeMaskBase::AttnAnalyzeMaskBase;

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet owned(context);
    for (RegisteredOperationName op : context->getRegisteredOperationsByDialect(
             arith::ArithDialect::getDialectNamespace()))
      op.getCanonicalizationPatterns(owned, context);
    patterns = std::move(owned);
    return success();
  }

  void runOnOperation() override {
    getOperation()->walk([&](ForwardOp op) {
      // Lists of blocks say already what is visited.
      if (!op.getMaskMod().empty() && op.getKvBounds().empty() &&
          !op.hasBlocks())
        analyze(op);
    });
  }

  void analyze(ForwardOp op);

  FrozenRewritePatternSet patterns;
};
} // namespace

void AnalyzeMaskPass::analyze(ForwardOp op) {
  // Equal terms of a sum must be one value to cancel.
  IRRewriter rewriter(&getContext());
  DominanceInfo dominance(op);
  eliminateCommonSubExpressions(rewriter, dominance, op);

  Block &mask = op.getMaskMod().front();
  Location loc = op.getMaskMod().getLoc();
  SmallVector<Type> types(ForwardOp::kKVBoundsArguments,
                          IndexType::get(&getContext()));
  llvm::append_range(types, op.getCaptures().getTypes());
  SmallVector<Location> locs(types.size(), loc);
  OpBuilder builder(&getContext());
  Block *bounds = builder.createBlock(&op.getKvBounds(), {}, types, locs);

  IntervalBuilder intervals(builder, loc);
  MaskAnalysis analysis(intervals, mask, *bounds);
  Cover cover = analysis.analyze(mask.getTerminator()->getOperand(0));
  yieldBounds(intervals, analysis.getKeyRanges(), cover);
  (void)applyPatternsGreedily(op.getKvBounds(), patterns);
  DominanceInfo newDominance(op);
  eliminateCommonSubExpressions(rewriter, newDominance, op);

  ++numMasks;
  if (!cover.may.isAll())
    ++numBounded;
  if (!cover.must.isEmpty)
    ++numWithFullBlocks;
  numUnknown += analysis.getNumUnknown();
}
