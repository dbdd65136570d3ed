//===- MathDerivatives.cpp - Derivatives of functions -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DerivativeModels.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

using Predicate = arith::CmpFPredicate;

static constexpr double kLn2 = 0.69314718055994531;
static constexpr double kLn10 = 2.3025850929940457;
static constexpr double kTwoBySqrtPi = 1.1283791670955126;

/// Rules of ops with one operand, by name.
namespace rules {
//===----------------------------------------------------------------------===//
// Exponentials, logarithms, roots
//===----------------------------------------------------------------------===//

static Value exp(AdjointBuilder &b, Value, Value y, Value dy) {
  return b.mulUnlessZero(dy, y);
}

static Value exp2(AdjointBuilder &b, Value, Value y, Value dy) {
  return b.mulUnlessZero(dy, b.scale(y, kLn2));
}

static Value expm1(AdjointBuilder &b, Value, Value y, Value dy) {
  return b.mulUnlessZero(dy, b.add(y, b.constant(y, 1.0)));
}

static Value log(AdjointBuilder &b, Value x, Value, Value dy) {
  return b.div(dy, x);
}

static Value log2(AdjointBuilder &b, Value x, Value, Value dy) {
  return b.div(dy, b.scale(x, kLn2));
}

static Value log10(AdjointBuilder &b, Value x, Value, Value dy) {
  return b.div(dy, b.scale(x, kLn10));
}

static Value log1p(AdjointBuilder &b, Value x, Value, Value dy) {
  return b.div(dy, b.add(x, b.constant(x, 1.0)));
}

static Value sqrt(AdjointBuilder &b, Value, Value y, Value dy) {
  return b.div(dy, b.scale(y, 2.0));
}

static Value rsqrt(AdjointBuilder &b, Value, Value y, Value dy) {
  return b.mul(dy, b.scale(b.mul(b.square(y), y), -0.5));
}

static Value cbrt(AdjointBuilder &b, Value, Value y, Value dy) {
  return b.div(dy, b.scale(b.square(y), 3.0));
}

static Value erf(AdjointBuilder &b, Value x, Value, Value dy) {
  Value bell = b.create<math::ExpOp>(b.neg(b.square(x)));
  return b.mul(dy, b.scale(bell, kTwoBySqrtPi));
}

static Value erfc(AdjointBuilder &b, Value x, Value y, Value dy) {
  return b.neg(erf(b, x, y, dy));
}

//===----------------------------------------------------------------------===//
// Trigonometry
//===----------------------------------------------------------------------===//

static Value sin(AdjointBuilder &b, Value x, Value, Value dy) {
  return b.mul(dy, b.create<math::CosOp>(x));
}

static Value cos(AdjointBuilder &b, Value x, Value, Value dy) {
  return b.neg(b.mul(dy, b.create<math::SinOp>(x)));
}

static Value tan(AdjointBuilder &b, Value, Value y, Value dy) {
  return b.mul(dy, b.add(b.square(y), b.constant(y, 1.0)));
}

static Value asin(AdjointBuilder &b, Value x, Value, Value dy) {
  Value rest = b.sub(b.constant(x, 1.0), b.square(x));
  return b.mul(dy, b.create<math::RsqrtOp>(rest));
}

static Value acos(AdjointBuilder &b, Value x, Value y, Value dy) {
  return b.neg(asin(b, x, y, dy));
}

static Value atan(AdjointBuilder &b, Value x, Value, Value dy) {
  return b.div(dy, b.add(b.square(x), b.constant(x, 1.0)));
}

static Value sinh(AdjointBuilder &b, Value x, Value, Value dy) {
  return b.mulUnlessZero(dy, b.create<math::CoshOp>(x));
}

static Value cosh(AdjointBuilder &b, Value x, Value, Value dy) {
  return b.mulUnlessZero(dy, b.create<math::SinhOp>(x));
}

static Value tanh(AdjointBuilder &b, Value, Value y, Value dy) {
  return b.mul(dy, b.create<math::FmaOp>(b.neg(y), y, b.constant(y, 1.0)));
}

static Value asinh(AdjointBuilder &b, Value x, Value, Value dy) {
  Value sum = b.add(b.square(x), b.constant(x, 1.0));
  return b.mul(dy, b.create<math::RsqrtOp>(sum));
}

static Value acosh(AdjointBuilder &b, Value x, Value, Value dy) {
  Value rest = b.sub(b.square(x), b.constant(x, 1.0));
  return b.mul(dy, b.create<math::RsqrtOp>(rest));
}

static Value atanh(AdjointBuilder &b, Value x, Value, Value dy) {
  return b.div(dy, b.sub(b.constant(x, 1.0), b.square(x)));
}

static Value absf(AdjointBuilder &b, Value x, Value, Value dy) {
  Value zero = b.zero(dy);
  Value negative = b.select(b.cmp(Predicate::OLT, x, zero), b.neg(dy), zero);
  return b.select(b.cmp(Predicate::OGT, x, zero), dy, negative);
}
} // namespace rules

namespace {
/// At the origin, where the angle is undefined, both derivatives are 0.
struct Atan2Model : DerivativeOf<Atan2Model, math::Atan2Op> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    Value y = op->getOperand(0), x = op->getOperand(1);
    Value norm = b.add(b.square(y), b.square(x)), zero = b.zero(dy);
    Value shared =
        b.select(b.cmp(Predicate::OEQ, norm, zero), zero, b.div(dy, norm));
    b.add(y, [&] { return b.mul(shared, x); });
    b.add(x, [&] { return b.neg(b.mul(shared, y)); });
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

/// x^(exponent - 1).
static Value lowerPower(AdjointBuilder &b, Value x, Value exponent) {
  FloatAttr constant;
  if (matchPattern(exponent, m_Constant(&constant))) {
    double value = constant.getValueAsDouble();
    if (value == 1.0)
      return b.constant(x, 1.0);
    if (value == 2.0)
      return x;
    if (value == 3.0)
      return b.square(x);
  }
  Value lower = b.sub(exponent, b.constant(exponent, 1.0));
  return b.create<math::PowFOp>(x, lower);
}

namespace {
/// x^0 is 1 for all x, and 0^p is 0 for all p > 0: the derivatives are 0,
/// although the formulas contain 0 * inf.
struct PowFModel : DerivativeOf<PowFModel, math::PowFOp> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    Value x = op->getOperand(0), p = op->getOperand(1), zero = b.zero(dy);
    b.add(x, [&] {
      Value slope = b.mul(lowerPower(b, x, p), p);
      return b.select(b.cmp(Predicate::OEQ, p, zero), zero, b.mul(dy, slope));
    });
    b.add(p, [&] {
      Value slope = b.mul(op->getResult(0), b.create<math::LogOp>(x));
      Value isFlat = b.logicalAnd(b.cmp(Predicate::OEQ, x, zero),
                                  b.cmp(Predicate::OGE, p, zero));
      return b.select(isFlat, zero, b.mul(dy, slope));
    });
  }
};

struct FPowIModel : DerivativeOf<FPowIModel, math::FPowIOp> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    Value x = op->getOperand(0), n = op->getOperand(1);
    b.add(x, [&] {
      Value lower = b.create<arith::SubIOp>(n, b.integer(n, 1));
      Value factor = b.create<arith::SIToFPOp>(x.getType(), n);
      Value slope = b.mul(b.create<math::FPowIOp>(x, lower), factor);
      Value isFlat =
          b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, n, b.integer(n, 0));
      return b.select(isFlat, b.zero(dy), b.mul(dy, slope));
    });
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Signs and bounds
//===----------------------------------------------------------------------===//

namespace {
/// The sign is a step function; the derivative of the magnitude at 0 is 0.
struct CopySignModel : DerivativeOf<CopySignModel, math::CopySignOp> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    Value x = op->getOperand(0), sign = op->getOperand(1);
    b.add(x, [&] {
      Value one = b.constant(x, 1.0), zero = b.zero(dy);
      Value slope = b.mul(b.create<math::CopySignOp>(one, x),
                          b.create<math::CopySignOp>(one, sign));
      return b.select(b.cmp(Predicate::OEQ, x, zero), zero, b.mul(dy, slope));
    });
  }
};

/// torch.clamp: the value counts at the bounds, too. If the bounds cross, the
/// result is the upper one.
struct ClampModel : DerivativeOf<ClampModel, math::ClampFOp> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    auto clamp = cast<math::ClampFOp>(op);
    Value x = clamp.getValue(), low = clamp.getMin(), high = clamp.getMax();
    auto isWithin = [&] {
      return b.logicalAnd(b.cmp(Predicate::OGE, x, low),
                          b.cmp(Predicate::OLE, x, high));
    };
    auto isBelow = [&] {
      return b.logicalAnd(b.cmp(Predicate::OLT, x, low),
                          b.cmp(Predicate::OLT, low, high));
    };
    auto isAbove = [&] {
      return b.logicalOr(b.cmp(Predicate::OGT, x, high),
                         b.cmp(Predicate::OLT, high, low));
    };
    b.addIf(x, isWithin, true, dy);
    b.addIf(low, isBelow, true, dy);
    b.addIf(high, isAbove, true, dy);
  }
};

struct FmaModel : DerivativeOf<FmaModel, math::FmaOp> {
  void addAdjoints(Operation *op, AdjointBuilder &b, Value dy) const {
    Value x = op->getOperand(0), y = op->getOperand(1);
    b.add(x, [&] { return b.mul(dy, y); });
    b.add(y, [&] { return b.mul(dy, x); });
    b.add(op->getOperand(2), [&] { return dy; });
  }
};
} // namespace

template <typename Op, UnaryRule rule>
static void attachUnary(MLIRContext *context) {
  Op::template attachInterface<UnaryDerivative<Op, rule>>(*context);
}

template <typename... Ops>
static void attachSteps(MLIRContext *context) {
  (Ops::template attachInterface<StepDerivative<Ops>>(*context), ...);
}

void fovea::attachMathDerivatives(MLIRContext *context) {
  using namespace math;
  attachUnary<ExpOp, rules::exp>(context);
  attachUnary<Exp2Op, rules::exp2>(context);
  attachUnary<ExpM1Op, rules::expm1>(context);
  attachUnary<LogOp, rules::log>(context);
  attachUnary<Log2Op, rules::log2>(context);
  attachUnary<Log10Op, rules::log10>(context);
  attachUnary<Log1pOp, rules::log1p>(context);
  attachUnary<SqrtOp, rules::sqrt>(context);
  attachUnary<RsqrtOp, rules::rsqrt>(context);
  attachUnary<CbrtOp, rules::cbrt>(context);
  attachUnary<ErfOp, rules::erf>(context);
  attachUnary<ErfcOp, rules::erfc>(context);
  attachUnary<SinOp, rules::sin>(context);
  attachUnary<CosOp, rules::cos>(context);
  attachUnary<TanOp, rules::tan>(context);
  attachUnary<AsinOp, rules::asin>(context);
  attachUnary<AcosOp, rules::acos>(context);
  attachUnary<AtanOp, rules::atan>(context);
  attachUnary<SinhOp, rules::sinh>(context);
  attachUnary<CoshOp, rules::cosh>(context);
  attachUnary<TanhOp, rules::tanh>(context);
  attachUnary<AsinhOp, rules::asinh>(context);
  attachUnary<AcoshOp, rules::acosh>(context);
  attachUnary<AtanhOp, rules::atanh>(context);
  attachUnary<AbsFOp, rules::absf>(context);
  attachSteps<CeilOp, FloorOp, RoundOp, RoundEvenOp, TruncOp>(context);
  Atan2Op::attachInterface<Atan2Model>(*context);
  ClampFOp::attachInterface<ClampModel>(*context);
  CopySignOp::attachInterface<CopySignModel>(*context);
  FmaOp::attachInterface<FmaModel>(*context);
  FPowIOp::attachInterface<FPowIModel>(*context);
  PowFOp::attachInterface<PowFModel>(*context);
}
