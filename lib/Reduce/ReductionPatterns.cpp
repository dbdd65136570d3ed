//===- ReductionPatterns.cpp - Patterns for fovea-reduce ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Upstream's reducer removes whole ops but can't simplify an attention op.
// These patterns drop regions, operands and attributes of an attention op, and
// unused function arguments, as long as the module stays interesting.

#include "fovea/Reduce/ReductionPatterns.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Reducer/ReductionPatternInterface.h"
#include "mlir/Reducer/Tester.h"

using namespace mlir;
using namespace fovea::attn;

/// Simplifies an op; fails if the op has nothing to remove.
using Simplification = LogicalResult (*)(ForwardOp);

static LogicalResult dropRegion(Region &region) {
  if (region.empty())
    return failure();
  region.front().erase();
  return success();
}

/// Drops unused arguments of a function without callers.
static LogicalResult dropArguments(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  if (!module || function.isDeclaration() ||
      !SymbolTable::symbolKnownUseEmpty(function, module))
    return failure();
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty();
  return success(unused.any() && succeeded(function.eraseArguments(unused)));
}

/// Tried in this order. The bounds are derived from the mask.
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
      if (op.getSequenceOperands().empty() || op.getSequence().getPlaces().page)
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
    [](ForwardOp op) {
      return success(op.removeCaptureNumbersAttr() != nullptr);
    },
    [](ForwardOp op) {
      return success(op.removeCaptureNamesAttr() != nullptr);
    },
    // Changes of the op leave unused arguments, which are dropped with the
    // function.
    [](ForwardOp op) -> LogicalResult {
      auto function = op->getParentOfType<func::FuncOp>();
      return function ? dropArguments(function) : failure();
    },
};

//===----------------------------------------------------------------------===//
// Attempts
//===----------------------------------------------------------------------===//

static ModuleOp getOutermostModule(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  while (module && module->getParentOfType<ModuleOp>())
    module = module->getParentOfType<ModuleOp>();
  return module;
}

/// The op of type OpTy with that index among those of `module`.
template <typename OpTy>
static OpTy findAt(ModuleOp module, unsigned position) {
  OpTy found;
  module.walk([&](OpTy op) {
    if (position-- == 0) {
      found = op;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

/// True if the module stays interesting with a change to `op`. The change is
/// tried on a copy, since the rewriter can't undo it.
template <typename OpTy>
static bool staysInteresting(OpTy op, Tester &tester,
                             llvm::function_ref<LogicalResult(OpTy)> change) {
  ModuleOp module = getOutermostModule(op);
  if (!module)
    return false;
  unsigned position = 0;
  module.walk([&](OpTy other) {
    if (other == op)
      return WalkResult::interrupt();
    ++position;
    return WalkResult::advance();
  });
  OwningOpRef<ModuleOp> copy(module.clone());
  return succeeded(change(findAt<OpTy>(*copy, position))) &&
         succeeded(verify(*copy)) &&
         tester.isInteresting(*copy).first == Tester::Interestingness::True;
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// Applies the first simplification that keeps the module interesting.
struct SimplifyForward : OpRewritePattern<ForwardOp> {
  SimplifyForward(MLIRContext *context, Tester &tester)
      : OpRewritePattern(context), tester(tester) {}

  LogicalResult matchAndRewrite(ForwardOp op,
                                PatternRewriter &rewriter) const override {
    for (Simplification simplify : kSimplifications) {
      if (!staysInteresting<ForwardOp>(op, tester, simplify))
        continue;
      rewriter.modifyOpInPlace(op, [&] { (void)simplify(op); });
      return success();
    }
    return failure();
  }

  Tester &tester;
};

struct DropArguments : OpRewritePattern<func::FuncOp> {
  DropArguments(MLIRContext *context, Tester &tester)
      : OpRewritePattern(context), tester(tester) {}

  LogicalResult matchAndRewrite(func::FuncOp op,
                                PatternRewriter &rewriter) const override {
    if (!staysInteresting<func::FuncOp>(op, tester, dropArguments))
      return failure();
    rewriter.modifyOpInPlace(op, [&] { (void)dropArguments(op); });
    return success();
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
    patterns.add<SimplifyForward, DropArguments>(getContext(), tester);
  }
};
} // namespace

void fovea::registerReductionPatterns(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, AttnDialect *dialect) {
    dialect->addInterfaces<AttnReductionPatterns>();
  });
}
