//===- AnalyzeMask.cpp - Key bounds of masks ------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Attn/Transforms/Passes.h"

#include "EmptyMask.h"
#include "MaskRemarks.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace fovea::attn {
#define GEN_PASS_DEF_ATTNANALYZEMASK
#include "fovea/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fovea::attn

using namespace mlir;
using namespace fovea;
using namespace fovea::attn;

/// Yields `lb <= fb <= fe <= ub`, all within the sequence. An empty range keeps
/// its lower end.
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
    getOperation()->walk([&](AttentionOpInterface op) {
      // Block lists already determine the processed blocks.
      if (!op.getMaskMod().empty() && op.getKvBounds().empty() &&
          !op.hasBlocks())
        analyze(op);
      else
        remarkUnanalyzed(op);
    });
  }

  void analyze(AttentionOpInterface op);
  Cover analyzeBounds(AttentionOpInterface op, bool &isExact,
                      MaskFindings &findings);
  void analyzeQueryBounds(BackwardOp op);
  MaskFindings classify(AttentionOpInterface op);
  Block *addRegion(AttentionOpInterface op, Region &region, unsigned leading);
  void simplify(Region &region);

  FrozenRewritePatternSet patterns;
};
} // namespace

/// Adds a block with `leading` indices and the captured values to `region`.
Block *AnalyzeMaskPass::addRegion(AttentionOpInterface op, Region &region,
                                  unsigned leading) {
  SmallVector<Type> types(leading, IndexType::get(&getContext()));
  llvm::append_range(types, op.getCaptures().getTypes());
  SmallVector<Location> locs(types.size(), op.getMaskMod().getLoc());
  OpBuilder builder(&getContext());
  return builder.createBlock(&region, {}, types, locs);
}

void AnalyzeMaskPass::simplify(Region &region) {
  (void)applyPatternsGreedily(region, patterns);
  IRRewriter rewriter(&getContext());
  DominanceInfo dominance(region.getParentOp());
  eliminateCommonSubExpressions(rewriter, dominance, region.getParentOp());
}

static MaskFindings getFindings(const MaskAnalysis &analysis) {
  return {llvm::to_vector(analysis.getUnknown()),
          llvm::to_vector(analysis.getHulls())};
}

Cover AnalyzeMaskPass::analyzeBounds(AttentionOpInterface op, bool &isExact,
                                     MaskFindings &findings) {
  Block &mask = op.getMaskMod().front();
  Block *bounds =
      addRegion(op, op.getKvBounds(), AttentionOpInterface::kKVBoundsArguments);
  OpBuilder builder = OpBuilder::atBlockEnd(bounds);
  IntervalBuilder intervals(builder, op.getMaskMod().getLoc());
  MaskAnalysis analysis(intervals, mask, *bounds, /*overKeys=*/false);
  Cover cover = analysis.analyze(mask.getTerminator()->getOperand(0));
  yieldBounds(intervals, analysis.getKeyRanges(), cover);
  simplify(op.getKvBounds());
  findings = getFindings(analysis);
  numUnknown += findings.unknown.size();
  isExact = analysis.isExact();
  return cover;
}

/// Clones the mask with queries and keys exchanged, so that bounds of its keys
/// are bounds of queries.
static void exchangeSides(Region &mask, Region &result) {
  IRMapping mapping;
  mask.cloneInto(&result, mapping);
  constexpr unsigned kQuery = 2, kKey = 3;
  Block &block = result.front();
  Value query = block.getArgument(kQuery), key = block.getArgument(kKey);
  SmallVector<OpOperand *> ofQuery =
      llvm::map_to_vector(query.getUses(), [](OpOperand &use) { return &use; });
  key.replaceAllUsesWith(query);
  for (OpOperand *use : ofQuery)
    use->set(key);
}

/// Exchanges query and key lengths.
static void exchangeLengths(Region &region) {
  SmallVector<Operation *> lengths;
  region.walk([&](Operation *op) {
    if (isa<QueryLengthOp, KeyLengthOp>(op))
      lengths.push_back(op);
  });
  for (Operation *op : lengths) {
    OpBuilder builder(op);
    Value other =
        isa<QueryLengthOp>(op)
            ? KeyLengthOp::create(builder, op->getLoc()).getResult()
            : QueryLengthOp::create(builder, op->getLoc()).getResult();
    op->getResult(0).replaceAllUsesWith(other);
    op->erase();
  }
}

/// Creates query_bounds, the counterpart of kv_bounds.
void AnalyzeMaskPass::analyzeQueryBounds(BackwardOp op) {
  Region mask;
  exchangeSides(op.getMaskMod(), mask);
  exchangeLengths(mask);
  Block *bounds =
      addRegion(op, op.getQueryBounds(), BackwardOp::kQueryBoundsArguments);
  OpBuilder builder = OpBuilder::atBlockEnd(bounds);
  IntervalBuilder intervals(builder, op.getMaskMod().getLoc());
  MaskAnalysis analysis(intervals, mask.front(), *bounds, /*overKeys=*/false);
  Cover cover = analysis.analyze(mask.front().getTerminator()->getOperand(0));
  yieldBounds(intervals, analysis.getKeyRanges(), cover);
  exchangeLengths(op.getQueryBounds());
  simplify(op.getQueryBounds());
}

/// Adds kv_classify, unless it would be trivial.
MaskFindings AnalyzeMaskPass::classify(AttentionOpInterface op) {
  Block &mask = op.getMaskMod().front();
  Block *body = addRegion(op, op.getKvClassify(),
                          AttentionOpInterface::kKVClassifyArguments);
  OpBuilder builder = OpBuilder::atBlockEnd(body);
  IntervalBuilder intervals(builder, op.getMaskMod().getLoc());
  MaskAnalysis analysis(intervals, mask, *body, /*overKeys=*/true);
  Cover cover = analysis.analyze(mask.getTerminator()->getOperand(0));
  auto toCondition = [&](const KeyRange &range) -> Value {
    if (range.isEmpty || !range.guard)
      return intervals.boolean(!range.isEmpty);
    return range.guard;
  };
  Value any = toCondition(cover.may), all = toCondition(cover.must);
  auto yield =
      YieldOp::create(builder, intervals.getLoc(), ValueRange{any, all});
  simplify(op.getKvClassify());
  if (matchPattern(yield.getOperand(0), m_One()) &&
      matchPattern(yield.getOperand(1), m_Zero())) {
    op.getKvClassify().front().erase();
    return getFindings(analysis);
  }
  ++numClassified;
  return getFindings(analysis);
}

void AnalyzeMaskPass::analyze(AttentionOpInterface op) {
  // Terms of a sum cancel only if they are the same value.
  IRRewriter rewriter(&getContext());
  DominanceInfo dominance(op);
  eliminateCommonSubExpressions(rewriter, dominance, op);

  bool isExact;
  MaskFindings ranges;
  std::optional<MaskFindings> blocks;
  Cover cover = analyzeBounds(op, isExact, ranges);
  if (!isExact && op.getKvClassify().empty())
    blocks = classify(op);
  auto backward = dyn_cast<BackwardOp>(op.getOperation());
  if (backward && backward.getQueryBounds().empty())
    analyzeQueryBounds(backward);
  remarkMask(op, ranges, blocks ? &*blocks : nullptr);
  if (cover.may.isEmpty || hidesEverything(op.getMaskMod().front()))
    op.getMaskMod().front().getTerminator()->emitWarning(
        "mask_mod hides every key from every query");

  ++numMasks;
  if (!cover.may.isAll())
    ++numBounded;
  if (!cover.must.isEmpty)
    ++numWithFullBlocks;
}
