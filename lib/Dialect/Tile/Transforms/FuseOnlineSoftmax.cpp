//===- FuseOnlineSoftmax.cpp - Lower softmax sums to loops ----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxLoops.h"

#include "fovea/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace fovea::tile {
#define GEN_PASS_DEF_FUSEONLINESOFTMAX
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fovea::tile

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

namespace {

struct FuseOnlineSoftmax
    : fovea::tile::impl::FuseOnlineSoftmaxBase<FuseOnlineSoftmax> {
  using FuseOnlineSoftmaxBase::FuseOnlineSoftmaxBase;

  void runOnKernel() override {
    if (failed(resolveOptions()))
      return signalPassFailure();
    SmallVector<SoftmaxSumOp> sums;
    getOperation().walk([&](SoftmaxSumOp op) { sums.push_back(op); });
    for (SoftmaxSumOp op : sums) {
      if (failed(verifyTauFits(op)))
        return signalPassFailure();
      FailureOr<bool> sumByDot = canSumByDot(op);
      if (failed(sumByDot))
        return signalPassFailure();
      SoftmaxLoopWriter writer(op, plan, partialSumWidth, *sumByDot,
                               getHeadroom(op));
      writer.finish(write(writer));
      ++numFused;
    }
    RewritePatternSet patterns(&getContext());
    populateExpandSoftmaxStatePatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }

private:
  SoftmaxState write(SoftmaxLoopWriter &writer) {
    std::optional<double> reference;
    if (fixedReference && chosen != RecurrenceKind::ThreePass &&
        chosen != RecurrenceKind::Normalized)
      reference = writer.findFixedReference();
    if (reference) {
      ++numFixed;
      return writer.fixed(*reference);
    }
    switch (chosen) {
    case RecurrenceKind::ThreePass:
      return writer.threePass();
    case RecurrenceKind::Normalized:
      return writer.normalized();
    case RecurrenceKind::Deferred:
      return writer.deferred();
    case RecurrenceKind::Conditional:
      return writer.conditional(chosenTau);
    case RecurrenceKind::Lazy:
      return writer.lazy(chosenTau);
    }
    llvm_unreachable("unknown recurrence");
  }

  /// Takes the values of unset options from the kernel's plan.
  LogicalResult resolveOptions() {
    if (partialSumWidth < 1)
      return getOperation().emitError()
             << "partial-sum-width must be positive, found "
             << partialSumWidth.getValue();
    if (!std::isfinite(tau))
      return getOperation().emitError()
             << "tau must be finite, found " << tau.getValue();
    launch::AbiOp abi = launch::lookupAbi(getOperation());
    plan = abi ? abi.getPlan() : plan::KernelAttr();
    chosen = recurrence;
    if (recurrence == kScheduleRecurrence)
      chosen = abi ? abi.getPlan()->recurrence : RecurrenceKind::Deferred;
    chosenTau = tau;
    if (tau < 0.0)
      chosenTau = abi ? double(abi.getPlan()->tau) : 8.0;
    return success();
  }

  /// True if a dot computes the row sums. If the plan requires that but the op
  /// does not allow it, changes the plan or fails.
  FailureOr<bool> canSumByDot(SoftmaxSumOp op) {
    launch::AbiOp abi = launch::lookupAbi(getOperation());
    if (!abi || !abi.getPlan()->sumByDot)
      return false;
    std::string reason;
    if (chosen == RecurrenceKind::ThreePass ||
        chosen == RecurrenceKind::Normalized)
      reason = ("'" + stringifyRecurrenceKind(chosen) +
                "' sums the probabilities before they are rounded")
                   .str();
    else if (!op.getWeights().empty())
      reason = "the 'weights' region modifies the probabilities of the product";
    else if (op.getStep() % kDotColumns != 0)
      reason = ("blocks must be a multiple of " + Twine(kDotColumns) +
                " keys, found " + Twine(op.getStep()))
                   .str();
    if (reason.empty())
      return true;
    if (failed(fovea::reportMissed(op, abi, "sum_by_dot", reason)))
      return failure();
    abi.setPlanAttr(abi.getPlan().change(
        [](plan::KernelPlan &kernel) { kernel.sumByDot = false; }));
    return false;
  }

  /// True if scores may exceed the offset's maximum by up to tau octaves.
  bool followsLate() {
    return chosen == RecurrenceKind::Conditional ||
           chosen == RecurrenceKind::Lazy;
  }

  /// The octaves above 1 that the largest probability may have. 8-bit types
  /// have few exponents below 1 and use all of those above.
  double getHeadroom(SoftmaxSumOp op) {
    FloatType type = op.getValueElementType();
    if (type.getWidth() != 8)
      return 0.0;
    int most = APFloat::semanticsMaxExponent(type.getFloatSemantics());
    return std::max(0.0, most - (followsLate() ? chosenTau : 0.0));
  }

  /// Probabilities reach 2^tau before they are rounded to the values' type.
  LogicalResult verifyTauFits(SoftmaxSumOp op) {
    if (!followsLate())
      return success();
    FloatType type = op.getValueElementType();
    APFloat largest = APFloat::getLargest(type.getFloatSemantics());
    bool inexact;
    largest.convert(APFloat::IEEEdouble(), APFloat::rmTowardZero, &inexact);
    if (std::exp2(chosenTau) <= largest.convertToDouble())
      return success();
    return op.emitOpError("tau must keep 2^tau within ")
           << type << ", found " << chosenTau;
  }

  plan::KernelAttr plan;
  RecurrenceKind chosen = RecurrenceKind::Deferred;
  double chosenTau = 0.0;
};

} // namespace
