//===- ApproximateExp2.cpp - Exponentials on FMA units --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes a share of the exponentials in P with a polynomial on the FMA units,
// because the special function units are the bottleneck (FlashAttention 4). The
// polynomial replaces only exponentials that are rounded to 16 bits for a dot.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPAPPROXIMATEEXP2
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// Layouts keep columns in blocks of this size.
static constexpr int64_t kColumnBlock = 8;
// Remez polynomial for 2^f, f in [-1/2, 1/2], in f32: relative error 7.5e-5.
static constexpr double kCoefficients[] = {0x1.fff692p-1, 0x1.62f31ap-1,
                                           0x1.f0de1ap-3, 0x1.c3f76p-5};
// Adding this number leaves the rounded integer, plus the exponent bias of f32,
// in the low bits of the sum.
static constexpr double kShifter = 0x1.8p23 + 127;
static constexpr int64_t kMantissaBits = 23;

namespace {
struct ApproximateExp2Pass
    : warp::impl::WarpApproximateExp2Base<ApproximateExp2Pass> {
  using WarpApproximateExp2Base::WarpApproximateExp2Base;
  void runOnKernel() override;
};
} // namespace

namespace {
/// Finds the exponentials from which rounded tiles, such as operands of dots,
/// are computed.
class Exponentials {
public:
  void add(Value value, int64_t percent);
  /// Percent of columns to approximate; 0 if `op` is not part of an added tile.
  int64_t getShare(math::Exp2Op op) const { return shares.lookup(op); }

private:
  void addRounded(Value value, int64_t percent);

  llvm::DenseMap<Operation *, int64_t> shares;
  llvm::DenseSet<Value> seen;
};
} // namespace

/// Follows a 16-bit operand through loops, branches, selects and
/// concatenations.
void Exponentials::add(Value value, int64_t percent) {
  if (!tile::isRegisterTile(value.getType()) || !seen.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      add(loop.getTiedLoopInit(argument)->get(), percent);
      add(loop.getTiedLoopYieldedValue(argument)->get(), percent);
    } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      unsigned index = argument.getArgNumber();
      add(loop.getInits()[index], percent);
      add(loop.getConditionOp().getArgs()[index], percent);
    }
    return;
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  unsigned index = result.getResultNumber();
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    add(loop.getConditionOp().getArgs()[index], percent);
  } else if (op->getNumRegions() != 0) {
    // Results of loops and branches are operands of their terminators.
    if (auto loop = dyn_cast<scf::ForOp>(op))
      add(loop.getInitArgs()[index], percent);
    for (Region &region : op->getRegions())
      if (!region.empty() && index < region.back().back().getNumOperands())
        add(region.back().back().getOperand(index), percent);
  } else if (isa<ConcatColumnsOp, arith::SelectOp>(op)) {
    for (Value operand : op->getOperands())
      add(operand, percent);
  } else if (isa<arith::TruncFOp>(op) &&
             getElementTypeOrSelf(value).getIntOrFloatBitWidth() <= 16) {
    addRounded(op->getOperand(0), percent);
  }
}

/// Follows the unrounded tile: an exponential, a concatenation, a select, or a
/// tile kept live across a wait.
void Exponentials::addRounded(Value value, int64_t percent) {
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert(value).second)
    return;
  if (isa<ConcatColumnsOp, arith::SelectOp>(op)) {
    for (Value operand : op->getOperands())
      addRounded(operand, percent);
  } else if (auto wait = dyn_cast<DotWaitOp>(op)) {
    for (auto [held, after] : llvm::zip(wait.getHeld(), wait.getHeldResults()))
      if (after == value)
        addRounded(held, percent);
  } else if (isa<math::Exp2Op>(op) && getElementTypeOrSelf(value).isF32()) {
    shares[op] = percent;
  }
}

/// Emits exp2(x) for x up to 127.
static Value emitPolynomial(OpBuilder &b, Location loc, Value x) {
  auto type = cast<RankedTensorType>(x.getType());
  auto bits = tile::tileLike(type, type.getShape(), b.getI32Type());
  auto splat = [&](double value) -> Value {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, b.getF32FloatAttr(value)));
  };
  x = arith::MaximumFOp::create(b, loc, x, splat(-127));
  Value shifter = splat(kShifter);
  Value shifted = arith::AddFOp::create(b, loc, x, shifter);
  Value whole = arith::SubFOp::create(b, loc, shifted, shifter);
  Value rest = arith::SubFOp::create(b, loc, x, whole);
  Value power = splat(kCoefficients[3]);
  for (int degree = 2; degree >= 0; --degree)
    power =
        math::FmaOp::create(b, loc, power, rest, splat(kCoefficients[degree]));
  Value exponent = arith::ShLIOp::create(
      b, loc, arith::BitcastOp::create(b, loc, bits, shifted),
      arith::ConstantOp::create(
          b, loc,
          DenseElementsAttr::get(bits, b.getI32IntegerAttr(kMantissaBits))));
  Value scale = arith::BitcastOp::create(b, loc, type, exponent);
  return arith::MulFOp::create(b, loc, power, scale);
}

/// Computes the last `columns` columns with the polynomial.
static void approximate(math::Exp2Op op, int64_t columns) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getType());
  int64_t exact = type.getDimSize(1) - columns;
  auto part = [&](int64_t from, int64_t width) -> Value {
    auto narrow = tile::tileLike(type, {type.getDimSize(0), width},
                                 type.getElementType());
    return ExtractColumnsOp::create(b, loc, narrow, op.getOperand(), from);
  };
  Value result;
  if (exact == 0) {
    result = emitPolynomial(b, loc, op.getOperand());
  } else {
    Value first = math::Exp2Op::create(b, loc, part(0, exact));
    Value second = emitPolynomial(b, loc, part(exact, columns));
    result = ConcatColumnsOp::create(b, loc, type, ValueRange{first, second});
  }
  op.replaceAllUsesWith(result);
  op.erase();
}

void ApproximateExp2Pass::runOnKernel() {
  if (share > 100) {
    getOperation().emitError("share must be at most 100, found ")
        << int64_t(share);
    return signalPassFailure();
  }
  launch::AbiOp abi = launch::lookupAbi(getOperation());
  Exponentials exponentials;
  auto getPercent = [&](StringAttr dot) -> int64_t {
    if (share >= 0)
      return share;
    return abi ? abi.getPlan().getDot(dot).operandByFma : 0;
  };
  getOperation().walk([&](Operation *op) {
    if (auto dot = dyn_cast<DotOp>(op)) {
      if (int64_t percent = getPercent(dot.getNameAttr()); percent > 0)
        exponentials.add(dot.getA(), percent);
    } else if (auto dot = dyn_cast<DotIntoOp>(op)) {
      // An operand in tensor memory is stored there.
      if (int64_t percent = getPercent(dot.getNameAttr()); percent > 0)
        for (Operation *user : dot.getA().getUsers())
          if (auto store = dyn_cast<TmemStoreOp>(user))
            exponentials.add(store.getValue(), percent);
    }
  });
  // With the pass option, all rounded exponentials count, whether a dot reads
  // them or not.
  if (share > 0)
    getOperation().walk(
        [&](arith::TruncFOp op) { exponentials.add(op.getResult(), share); });
  SmallVector<math::Exp2Op> found;
  getOperation().walk([&](math::Exp2Op op) {
    if (exponentials.getShare(op) != 0)
      found.push_back(op);
  });
  int64_t done = 0;
  for (math::Exp2Op op : found) {
    int64_t percent = exponentials.getShare(op);
    int64_t all = cast<RankedTensorType>(op.getType()).getDimSize(1);
    int64_t columns = all * percent / 100 / kColumnBlock * kColumnBlock;
    if (percent == 100)
      columns = all;
    if (columns == 0)
      continue;
    approximate(op, columns);
    ++numApproximated;
    ++done;
  }
  if (done != 0 && abi)
    reportDone(getOperation(), abi, "exp2_by_fma", "Exponentials", done);
  if (done != 0 || !abi || !abi.getPlan().hasDot([](const plan::DotPlan &dot) {
        return dot.operandByFma != 0;
      }))
    return;
  if (failed(reportMissed(getOperation(), abi, "exp2_by_fma",
                          "no exponential is rounded for a dot, or the share "
                          "is less than 8 columns")))
    return signalPassFailure();
  abi.setPlanAttr(abi.getPlan().changeDots(
      [](plan::DotPlan &dot) { dot.operandByFma = 0; }));
}
