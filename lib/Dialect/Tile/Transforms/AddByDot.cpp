//===- AddByDot.cpp - Fold additions into dots ----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/Transforms/Passes.h"

#include "fovea/Dialect/Launch/IR/Launch.h"
#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace fovea::tile {
#define GEN_PASS_DEF_ADDBYDOT
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fovea::tile

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

//===----------------------------------------------------------------------===//
// Scaled sums
//===----------------------------------------------------------------------===//

namespace {
/// `dot * scale + addend` with relative-position values as the addend. Dividing
/// these few values by the scale makes them the accumulator of the dot.
struct ScaledSum {
  math::FmaOp op;
  Value scale;
  DiagonalsOp addend;
};
} // namespace

/// The value of a splat constant, if dividing other values by it neither
/// overflows nor loses bits; nullopt for other tiles.
static std::optional<APFloat> getDivisor(Value scale) {
  constexpr int kLargestExponent = 64;
  APFloat number(0.0f);
  if (!matchPattern(scale, m_ConstantFloat(&number)) ||
      !number.isFiniteNonZero() || number.isDenormal() ||
      std::abs(ilogb(number)) > kLargestExponent)
    return std::nullopt;
  return number;
}

/// Matches the only use of the dot as a scaled sum.
static std::optional<ScaledSum> matchScaledSum(DotOp dot) {
  if (!dot->hasOneUse())
    return std::nullopt;
  auto fma = dyn_cast<math::FmaOp>(*dot->user_begin());
  if (!fma || fma->getBlock() != dot->getBlock())
    return std::nullopt;
  bool isFirst = fma.getA() == dot.getResult();
  ScaledSum sum = {fma, isFirst ? fma.getB() : fma.getA(),
                   fma.getC().getDefiningOp<DiagonalsOp>()};
  bool isFolded = fma.getC() != dot.getResult() && sum.addend &&
                  sum.addend->hasOneUse() && getDivisor(sum.scale);
  return isFolded ? std::optional(sum) : std::nullopt;
}

/// The relative-position values of `addend`, divided by `divisor`.
static Value divide(DiagonalsOp addend, const APFloat &divisor) {
  OpBuilder b(addend);
  Location loc = addend.getLoc();
  auto type = cast<RankedTensorType>(addend.getSource().getType());
  APFloat inverse(divisor.getSemantics(), 1);
  inverse.divide(divisor, APFloat::rmNearestTiesToEven);
  Value factor = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(cast<ShapedType>(type), inverse));
  Value divided =
      arith::MulFOp::create(b, loc, addend.getSource(), factor).getResult();
  return DiagonalsOp::create(b, loc, addend.getType(), divided);
}

/// Makes the divided addend the accumulator of the dot. The multiplication by
/// the scale is fused with the next addition.
static void fold(DotOp dot, ScaledSum sum) {
  dot.getAccMutable().assign(divide(sum.addend, *getDivisor(sum.scale)));
  dot->moveBefore(sum.op);
  OpBuilder b(sum.op);
  for (Operation *user :
       llvm::make_early_inc_range(sum.op.getResult().getUsers())) {
    auto add = dyn_cast<arith::AddFOp>(user);
    if (!add || add.getLhs() == add.getRhs())
      continue;
    Value other =
        add.getLhs() == sum.op.getResult() ? add.getRhs() : add.getLhs();
    OpBuilder behind(add);
    add.replaceAllUsesWith(math::FmaOp::create(behind, add.getLoc(),
                                               dot.getResult(), sum.scale,
                                               other)
                               .getResult());
    add.erase();
  }
  if (!sum.op->use_empty())
    sum.op.replaceAllUsesWith(
        arith::MulFOp::create(b, sum.op.getLoc(), dot.getResult(), sum.scale)
            .getResult());
  sum.op.erase();
  sum.addend.erase();
}

//===----------------------------------------------------------------------===//
// Unscaled sums
//===----------------------------------------------------------------------===//

namespace {
/// A sum of a dot and another value, as an addition or an FMA.
struct Sum {
  Operation *op = nullptr;

  Value getResult() const { return op->getResult(0); }

  /// The other summand; created before the sum if it is a product.
  Value takeAddend(Value dot) const {
    if (auto add = dyn_cast<arith::AddFOp>(op))
      return add.getLhs() == dot ? add.getRhs() : add.getLhs();
    auto fma = cast<math::FmaOp>(op);
    OpBuilder b(op);
    return arith::MulFOp::create(b, fma.getLoc(), fma.getA(), fma.getB());
  }
};

/// The addition that uses a dot, or the two additions that use it in the
/// branches of an `scf.if`.
struct Use {
  SmallVector<Sum, 2> sums;
  scf::IfOp branches; ///< null for one sum in the dot's block
  unsigned result = 0;
};
} // namespace

/// Matches `user` as a sum of `dot` and another value; null op if it is none.
static Sum matchSum(Value dot, Operation *user) {
  if (auto add = dyn_cast<arith::AddFOp>(user))
    return add.getLhs() != add.getRhs() ? Sum{user} : Sum();
  auto fma = dyn_cast<math::FmaOp>(user);
  return fma && fma.getC() == dot && fma.getA() != dot && fma.getB() != dot
             ? Sum{user}
             : Sum();
}

/// Matches two sums, one in each branch of an `scf.if` in `block`, that both
/// branches yield as the same result and that are the only uses of the dot.
static LogicalResult matchBranches(Block *block, Use &use) {
  if (use.sums.size() != 2)
    return failure();
  Operation *parent = use.sums[0].op->getParentOp();
  use.branches = dyn_cast<scf::IfOp>(parent);
  if (!use.branches || use.branches->getBlock() != block ||
      use.sums[1].op->getParentOp() != parent ||
      use.sums[0].op->getBlock() == use.sums[1].op->getBlock())
    return failure();
  SmallVector<unsigned, 2> results;
  for (Sum sum : use.sums) {
    if (!sum.getResult().hasOneUse() ||
        !isa<scf::YieldOp>(*sum.op->user_begin()))
      return failure();
    results.push_back(sum.op->use_begin()->getOperandNumber());
  }
  use.result = results[0];
  return success(results[0] == results[1]);
}

static FailureOr<Use> matchUse(DotOp dot) {
  Use use;
  for (Operation *user : dot->getUsers()) {
    Sum sum = matchSum(dot.getResult(), user);
    if (!sum.op)
      return failure();
    use.sums.push_back(sum);
  }
  if (use.sums.size() == 1 && use.sums[0].op->getBlock() == dot->getBlock())
    return use;
  if (failed(matchBranches(dot->getBlock(), use)))
    return failure();
  return use;
}

/// Makes the other summand the accumulator of `dot`.
static void fold(DotOp dot, Use use) {
  Value sum, addend;
  if (use.branches) {
    sum = addend = use.branches.getResult(use.result);
    for (Sum inner : use.sums)
      inner.getResult().replaceAllUsesWith(inner.takeAddend(dot.getResult()));
    dot->moveAfter(use.branches);
  } else {
    sum = use.sums[0].getResult();
    addend = use.sums[0].takeAddend(dot.getResult());
    dot->moveBefore(use.sums[0].op);
  }
  sum.replaceAllUsesExcept(dot.getResult(), dot);
  dot.getAccMutable().assign(addend);
  for (Sum inner : use.sums)
    inner.op->erase();
}

namespace {
struct AddByDot : fovea::tile::impl::AddByDotBase<AddByDot> {
  using AddByDotBase::AddByDotBase;

  void runOnKernel() override {
    launch::AbiOp abi = launch::requireAbi(getOperation());
    if (!abi)
      return signalPassFailure();
    SmallVector<DotOp> dots;
    // Dots whose accumulator attn-to-tile has initialised count as folded.
    int64_t folded = 0;
    getOperation().walk([&](DotOp dot) {
      if (!abi.getPlan().getDot(dot.getNameAttr()).addsToSummand)
        return;
      if (matchPattern(dot.getAcc(), m_AnyZeroFloat()))
        dots.push_back(dot);
      else
        ++folded;
    });
    for (DotOp dot : dots) {
      if (std::optional<ScaledSum> sum = matchScaledSum(dot)) {
        fold(dot, *sum);
      } else {
        FailureOr<Use> use = matchUse(dot);
        if (failed(use))
          continue;
        fold(dot, *use);
      }
      ++numFolded;
      ++folded;
    }
    if (folded != 0)
      reportDone(getOperation(), abi, "add_by_dot", "Dots", folded);
    if (folded != 0 || !abi.getPlan().hasDot([](const plan::DotPlan &dot) {
          return dot.addsToSummand;
        }))
      return;
    Operation *where = dots.empty() ? getOperation() : dots.front();
    if (failed(reportMissed(where, abi, "add_by_dot",
                            "nothing is added to the dot's result")))
      return signalPassFailure();
    abi.setPlanAttr(abi.getPlan().changeDots(
        [](plan::DotPlan &dot) { dot.addsToSummand = false; }));
  }
};
} // namespace
