//===- ExpandSoftmaxState.cpp - Expand merge and finish -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"

#include "fovea/Dialect/Tile/Transforms/Passes.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

/// The stream of the factors that normalise the output.
static constexpr StringLiteral kScaleName = "scale";

/// The plan of the kernel that contains `op`; null if there is none.
static plan::KernelAttr lookupPlan(Operation *op) {
  auto kernel = op->getParentOfType<gpu::GPUFuncOp>();
  launch::AbiOp abi = kernel ? launch::lookupAbi(kernel) : launch::AbiOp();
  return abi ? abi.getPlan() : plan::KernelAttr();
}

/// `acc` times the `inverse` of the row sums. Rows with l = 0 must be 0 even if
/// the accumulator is NaN (0 * NaN, from a value that no row attends to). Such
/// rows are rare, so they are zeroed in a branch.
static Value normalize(TileBuilder &b, Value acc, Value inverse, Value empty) {
  RankedTensorType type = TileBuilder::typeOf(acc);
  Value scaled = named("normalized", b.multiply(acc, b.widen(inverse, type)));
  auto cleared = IfAnyOp::create(b, empty, scaled);
  OpBuilder::InsertionGuard insertion(b);
  Block *body = b.createBlock(&cleared.getBody(), {}, {type}, {b.getLoc()});
  Value zeros =
      b.select(b.widen(empty, type), b.splat(type, 0.0), body->getArgument(0));
  YieldOp::create(b, zeros);
  return cleared.getResult(0);
}

namespace {

/// Rescales both states to the larger of their softmax offsets.
struct ExpandMerge : OpRewritePattern<SoftmaxMergeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SoftmaxMergeOp op,
                                PatternRewriter &rewriter) const override {
    TileBuilder b(op.getLoc(), rewriter);
    Value m = b.maximum(op.getMA(), op.getMB());
    Value reference = b.guard(m);
    auto factorOf = [&](Value from) {
      return b.exp2(b.multiply(b.subtract(from, reference), kLog2E));
    };
    Value factorA = factorOf(op.getMA()), factorB = factorOf(op.getMB());
    Value l =
        b.multiplyAdd(op.getLA(), factorA, b.multiply(op.getLB(), factorB));
    SmallVector<Value> merged = {m, l};
    for (auto [accA, accB] : llvm::zip_equal(op.getAccsA(), op.getAccsB())) {
      RankedTensorType type = TileBuilder::typeOf(accA);
      merged.push_back(b.multiplyAdd(accA, b.widen(factorA, type),
                                     b.multiply(accB, b.widen(factorB, type))));
    }
    rewriter.replaceOp(op, merged);
    return success();
  }
};

/// Emits one division per row.
struct ExpandFinish : OpRewritePattern<SoftmaxFinishOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SoftmaxFinishOp op,
                                PatternRewriter &rewriter) const override {
    TileBuilder b(op.getLoc(), rewriter);
    RankedTensorType rowType = op.getL().getType();
    Value empty = b.isEqual(op.getL(), 0.0);
    Value m = op.getM(), l = op.getL(), hasNone = empty;
    Value share = b.splat(rowType, 1.0);
    if (op.getSink()) {
      // Rescale to the larger offset, as in a merge with a state of one score.
      Value largest = b.maximum(m, op.getSink());
      Value reference = b.guard(largest);
      auto factorOf = [&](Value from) {
        return b.exp2(b.multiply(b.subtract(from, reference), kLog2E));
      };
      share = factorOf(m);
      l = b.multiplyAdd(l, share, factorOf(op.getSink()));
      m = largest;
      hasNone = b.isEqual(l, 0.0);
    }
    Value inverse = b.divide(share, l);
    // If another role multiplies, one value per row carries both the factor and
    // the flag: the factor of a row with keys is 0 only if it underflows.
    plan::KernelAttr plan = lookupPlan(op);
    if (plan && plan.getStream(kScaleName).isStaged) {
      Value known = b.select(empty, b.splat(rowType, 0.0), inverse);
      inverse = makeStaged(b, b.getLoc(), plan, kScaleName, known);
      empty = b.isEqual(inverse, 0.0);
    }
    SmallVector<Value> results;
    for (Value acc : op.getAccs())
      results.push_back(normalize(b, acc, inverse, empty));
    Value sum = b.multiplyAdd(b.log2(l), b.splat(rowType, kLn2), m);
    Value lse = named("lse", b.select(hasNone, b.minusInfinity(rowType), sum));
    results.push_back(lse);
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void fovea::tile::populateExpandSoftmaxStatePatterns(
    RewritePatternSet &patterns) {
  patterns.add<ExpandMerge, ExpandFinish>(patterns.getContext());
}
