//===- ReductionPatterns.cpp - How fovea-reduce simplifies ops -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The upstream reducer drops ops. What an attention op is made of it can't
// see; here each part of one is dropped when the module stays interesting
// without it.

#include "fovea/Reduce/ReductionPatterns.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Reducer/ReductionPatternInterface.h"
#include "mlir/Reducer/Tester.h"

using namespace mlir;
using namespace fovea::attn;

/// Makes an op smaller, or fails where there is nothing to take away.
using Simplification = LogicalResult (*)(ForwardOp);

static LogicalResult dropRegion(Region &region) {
  if (region.empty())
    return failure();
  region.front().erase();
  return success();
}

/// In the order in which they are tried; the bounds follow from the mask.
static constexpr Simplification kSimplifications[] = {
    [](ForwardOp op) { return dropRegion(op.getScoreMod()); },
    [](ForwardOp op) { return dropRegion(op.getKvClassify()); },
    [](ForwardOp op) { return dropRegion(op.getKvBounds()); },
    [](ForwardOp op) -> LogicalResult {
      if (!op.getKvBounds().empty() || !op.getKvClassify().empty())
        return failure();
      return dropRegion(op.getMaskMod());
    },
    [](ForwardOp op) -> LogicalResult {
      if (op.getSequenceOperands().empty() ||
          op.getSequence().getKeyPlaces().page)
        return failure();
      op.getSequenceOperandsMutable().clear();
      op.setSequenceAttr(DenseAttr::get(op.getContext()));
      return success();
    },
    [](ForwardOp op) -> LogicalResult {
      if (!op.getSinks())
        return failure();
      op.getSinksMutable().clear();
      return success();
    },
    [](ForwardOp op) -> LogicalResult {
      if (!op.getDropoutAttr())
        return failure();
      op.getDropoutSeedMutable().clear();
      op.getDropoutOffsetMutable().clear();
      op.removeDropoutAttr();
      return success();
    },
    [](ForwardOp op) -> LogicalResult {
      if (!op.getScaleValue() && !op.getScaleAttr())
        return failure();
      op.getScaleValueMutable().clear();
      op.removeScaleAttr();
      return success();
    },
};

/// The place of `op` among the attention ops of `module`.
static ForwardOp findForward(ModuleOp module, unsigned position) {
  ForwardOp found;
  module.walk([&](ForwardOp op) {
    if (position-- == 0) {
      found = op;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

namespace {
/// Applies the first simplification that keeps the module interesting. Each is
/// tried on a copy, since the rewriter can't take changes back.
struct SimplifyForward : OpRewritePattern<ForwardOp> {
  SimplifyForward(MLIRContext *context, Tester &tester)
      : OpRewritePattern(context), tester(tester) {}

  LogicalResult matchAndRewrite(ForwardOp op,
                                PatternRewriter &rewriter) const override {
    auto module = op->getParentOfType<ModuleOp>();
    while (module && module->getParentOfType<ModuleOp>())
      module = module->getParentOfType<ModuleOp>();
    if (!module)
      return failure();
    unsigned position = 0;
    module.walk([&](ForwardOp other) {
      if (other == op)
        return WalkResult::interrupt();
      ++position;
      return WalkResult::advance();
    });
    for (Simplification simplify : kSimplifications) {
      OwningOpRef<ModuleOp> copy(module.clone());
      if (failed(simplify(findForward(*copy, position))) ||
          failed(verify(*copy)) ||
          tester.isInteresting(*copy).first != Tester::Interestingness::True)
        continue;
      rewriter.modifyOpInPlace(op, [&] { (void)simplify(op); });
      return success();
    }
    return failure();
  }

  Tester &tester;
};

struct AttnReductionPatterns : DialectReductionPatternInterface {
  explicit AttnReductionPatterns(Dialect *dialect)
      : DialectReductionPatternInterface(dialect) {}

  void populateReductionPatterns(RewritePatternSet &patterns) const override {
    ForwardOp::getCanonicalizationPatterns(patterns, getContext());
  }
  void populateReductionPatternsWithTester(RewritePatternSet &patterns,
                                           Tester &tester) const override {
    patterns.add<SimplifyForward>(getContext(), tester);
  }
};
} // namespace

void fovea::registerReductionPatterns(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, AttnDialect *dialect) {
    dialect->addInterfaces<AttnReductionPatterns>();
  });
}
