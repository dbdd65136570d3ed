//===- Exponentials.cpp - Exponentials, logarithms, powers ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The GPU has instructions for 2^x and log2(x). For other bases a correction
// after the instruction restores the bits that the change of base rounds away.
// Differences from 1 are polynomials, because the instructions have an absolute
// error of 2^-22 near 1. Coefficients are minimax polynomials, rounded to f32.
//
//===----------------------------------------------------------------------===//

#include "Math/FloatFunctions.h"
#include "WarpToNVVM.h"

#include <limits>

using namespace mlir;
using namespace fovea;

using Predicate = arith::CmpFPredicate;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// log2(e) and ln(2), as f32 and the remainder.
static constexpr double kLog2E = 0x1.715476p+0, kLog2ERest = 0x1.4ae0cp-26;
static constexpr double kLn2 = 0x1.62e43p-1, kLn2Rest = -0x1.05c61p-29;
static constexpr double kLog10Of2 = 0.30102999566398120;

// 1.5 * 2^23: adding it rounds to an integer, which the last bits of the sum
// hold.
static constexpr double kRound = 0x1.8p23;

//===----------------------------------------------------------------------===//
// Exponentials
//===----------------------------------------------------------------------===//

/// 2^(power + rest) for a small `rest`. If `power` has overflowed, `rest` may
/// be infinite or NaN; the factor is then clamped to a finite value.
static Value emitExp2OfSum(FloatEmitter &f, Value power, Value rest) {
  Value factor = f.fma(rest, f.constant(0.6931471805599453), f.constant(1));
  factor = arith::MaxNumFOp::create(f.b, factor, f.constant(0.5));
  factor = arith::MinNumFOp::create(f.b, factor, f.constant(2));
  return f.mul(f.exp2(power), factor);
}

/// 2^scale e^x. Without the correction, rounding the product with log2(e)
/// causes a relative error of up to 2^-18.
static Value emitScaledExp(FloatEmitter &f, Value x, double scale) {
  Value log2e = f.constant(kLog2E), power = f.mul(x, log2e);
  Value rest = f.fma(x, log2e, f.neg(power));
  rest = f.fma(x, f.constant(kLog2ERest), rest);
  if (scale != 0)
    power = f.add(power, f.constant(scale));
  return emitExp2OfSum(f, power, rest);
}

static Value emitExp(FloatEmitter &f, ValueRange operands) {
  return emitScaledExp(f, operands[0], 0);
}

/// Returns `x` if it is zero: keeps -0, and subnormal numbers that compare as
/// 0.
static Value keepZero(FloatEmitter &f, Value x, Value result) {
  return f.select(f.compare(Predicate::OEQ, x, 0.0), x, result);
}

/// With x = n ln(2) + r: 2^n (e^r - 1) + (2^n - 1), computed with 2^(n-1),
/// which is finite.
static Value emitExpMinus1(FloatEmitter &f, ValueRange operands) {
  Value x = operands[0];
  Value bounded = arith::MaximumFOp::create(f.b, x, f.constant(-30));
  bounded = arith::MinimumFOp::create(f.b, bounded, f.constant(89));
  Value sum = f.fma(bounded, f.constant(kLog2E), f.constant(kRound));
  Value count = f.sub(f.constant(kRound), sum); // negated
  Value rest = f.fma(count, f.constant(kLn2), bounded);
  rest = f.fma(count, f.constant(kLn2Rest), rest);
  Value exponent = arith::ShLIOp::create(f.b, f.bits(sum), f.integer(23));
  Value half =
      f.fromBits(arith::AddIOp::create(f.b, exponent, f.integer(0x3f000000)));
  Value series =
      f.polynomial(rest, {0.5, 0x1.555556p-3, 0x1.5554f2p-5, 0x1.1110a2p-7,
                          0x1.6d4194p-10, 0x1.a18a4ep-13});
  Value power = f.fma(f.mul(rest, rest), series, rest);
  Value result = f.fma(power, half, f.sub(half, f.constant(0.5)));
  return keepZero(f, x, f.add(result, result));
}

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

static Value emitLog(FloatEmitter &f, ValueRange operands) {
  return f.mul(f.log2(operands[0]), f.constant(0.6931471805599453));
}

static Value emitLog10(FloatEmitter &f, ValueRange operands) {
  return f.mul(f.log2(operands[0]), f.constant(kLog10Of2));
}

/// The exponent n of a positive number, as the bits n << 23, for a mantissa
/// between `least` and 2 * `least`.
static Value emitExponentBits(FloatEmitter &f, Value x, float least) {
  int32_t start = llvm::bit_cast<int32_t>(least);
  Value over = arith::SubIOp::create(f.b, f.bits(x), f.integer(start));
  return arith::AndIOp::create(f.b, over, f.integer(0xff800000));
}

static Value emitExponent(FloatEmitter &f, Value exponentBits) {
  Value number = arith::SIToFPOp::create(f.b, f.b.getF32Type(), exponentBits);
  return f.mul(number, f.constant(0x1p-23));
}

/// With 1 + x = 2^n (1 + r), r from -1/4 to 1/2: n ln(2) + log(1 + r). Large
/// numbers and those without a logarithm use the instruction.
static Value emitLog1p(FloatEmitter &f, Value x) {
  Value one = f.constant(1), sum = f.add(x, one);
  Value exponentBits = emitExponentBits(f, sum, 0.75f);
  Value scale = f.fromBits(
      arith::SubIOp::create(f.b, f.integer(0x3f800000), exponentBits));
  Value rest = f.fma(x, scale, f.sub(scale, one));
  Value series = f.polynomial(
      rest, {-0.5, 0x1.5555a2p-2, -0x1.000082p-2, 0x1.996aep-3, -0x1.54dd24p-3,
             0x1.284c62p-3, -0x1.0e114ep-3, 0x1.b17928p-4, -0x1.7a35bep-5});
  Value near = f.fma(f.mul(rest, rest), series, rest);
  near = f.fma(emitExponent(f, exponentBits), f.constant(0.6931471805599453),
               near);
  Value isNear = arith::AndIOp::create(f.b, f.compare(Predicate::OGT, x, -1.0),
                                       f.compare(Predicate::OLT, x, 0x1p24));
  Value far = emitLog(f, sum);
  return keepZero(f, x, f.select(isNear, near, far));
}

static Value emitLog1p(FloatEmitter &f, ValueRange operands) {
  return emitLog1p(f, operands[0]);
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

namespace {
/// A number represented as the unevaluated sum of two f32 values.
struct Sum {
  Value high, low;
};
} // namespace

/// log2 of a magnitude to about 32 bits, by atanh((m - 1) / (m + 1)) of its
/// mantissa m from sqrt(1/2) to sqrt(2).
static Sum emitLog2OfSize(FloatEmitter &f, Value size) {
  Value one = f.constant(1);
  Value exponentBits = emitExponentBits(f, size, 0x1.6a09e6p-1f);
  Value mantissa =
      f.fromBits(arith::SubIOp::create(f.b, f.bits(size), exponentBits));
  Value above = f.sub(mantissa, one), divisor = f.add(mantissa, one);
  Value divisorRest = f.sub(mantissa, f.sub(divisor, one));
  Value inverse = f.reciprocal(divisor);
  Value ratio = f.mul(above, inverse), minus = f.neg(ratio);
  Value ratioRest =
      f.mul(f.fma(minus, divisorRest, f.fma(minus, divisor, above)), inverse);
  Value square = f.mul(ratio, ratio);
  Value series = f.polynomial(
      square, {0x1.555554p-2, 0x1.999a7ap-3, 0x1.2438c4p-3, 0x1.e2f9ap-4});
  Value tail = f.fma(ratio, f.mul(square, series), ratioRest);
  // Times 2 log2(e).
  Value factor = f.constant(2 * kLog2E);
  Value high = f.mul(ratio, factor);
  Value low = f.fma(ratio, factor, f.neg(high));
  low = f.fma(ratio, f.constant(2 * kLog2ERest), low);
  low = f.fma(tail, factor, low);
  Value exponent = emitExponent(f, exponentBits);
  Value total = f.add(exponent, high);
  low = f.add(low, f.sub(high, f.sub(total, exponent)));
  Value sum = f.add(total, low);
  return {sum, f.sub(low, f.sub(sum, total))};
}

/// As C's pow: 1 to any power, and any number to the power of 0, are 1; a
/// negative base needs an integer exponent.
static Value emitPower(FloatEmitter &f, ValueRange operands) {
  Value x = operands[0], y = operands[1], size = f.abs(x);
  Value zero = f.constant(0), one = f.constant(1);
  Sum log = emitLog2OfSize(f, size);
  Value high = f.select(f.compare(Predicate::OEQ, size, 0.0),
                        f.constant(-kInfinity), log.high);
  high = f.select(f.compare(Predicate::OLT, size, kInfinity), high, size);
  Value power = f.mul(y, high);
  Value rest = f.fma(y, log.low, f.fma(y, high, f.neg(power)));
  Value isOne = f.compare(Predicate::OEQ, high, 0.0);
  Value result = emitExp2OfSum(f, f.select(isOne, zero, power),
                               f.select(isOne, zero, rest));

  Value half = f.mul(y, f.constant(0.5));
  Value isInteger = f.compare(Predicate::OEQ, math::TruncOp::create(f.b, y), y);
  Value isFraction =
      f.compare(Predicate::UNE, math::TruncOp::create(f.b, y), y);
  Value isOdd =
      f.compare(Predicate::UNE, math::TruncOp::create(f.b, half), half);
  isOdd = arith::AndIOp::create(f.b, isOdd, isInteger);
  Value isFlipped = arith::AndIOp::create(f.b, isOdd, f.isSigned(x));
  result = f.select(isFlipped, f.neg(result), result);
  Value isNegative =
      arith::AndIOp::create(f.b, f.compare(Predicate::OLT, x, 0.0),
                            f.compare(Predicate::OGT, x, -kInfinity));
  Value isUndefined = arith::AndIOp::create(f.b, isNegative, isFraction);
  result = f.select(isUndefined, f.constant(kNaN), result);
  return f.select(f.compare(Predicate::OEQ, y, 0.0), one, result);
}

namespace {
/// Lowers integer powers to float powers; exponents up to 2^24 are exact.
struct FPowIToPowF : OpRewritePattern<math::FPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FPowIOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Value exponent = arith::SIToFPOp::create(rewriter, op.getLoc(),
                                             op.getType(), op.getRhs());
    rewriter.replaceOpWithNewOp<math::PowFOp>(op, op.getLhs(), exponent);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Hyperbolic functions
//===----------------------------------------------------------------------===//

/// The difference of e^|x| / 2 and e^-|x| / 2; near 0 a polynomial.
static Value emitHyperbolicSine(FloatEmitter &f, ValueRange operands) {
  Value x = operands[0], size = f.abs(x), square = f.mul(x, x);
  Value half = emitScaledExp(f, size, -1);
  Value far = f.sub(half, f.divide(f.constant(0.25), half));
  Value series =
      f.polynomial(square, {0x1.55559ap-3, 0x1.10f6ep-7, 0x1.ab5858p-13});
  Value near = f.fma(f.mul(series, square), size, size);
  Value isNear = f.compare(Predicate::OLT, size, 1.0);
  return f.copySign(f.select(isNear, near, far), x);
}

static Value emitHyperbolicCosine(FloatEmitter &f, ValueRange operands) {
  Value half = emitScaledExp(f, f.abs(operands[0]), -1);
  return f.add(half, f.divide(f.constant(0.25), half));
}

// Beyond this, x^2 - 1 and x^2 + 1 round to x^2, which must not overflow.
static constexpr double kLarge = 0x1p30;

/// log(x + sqrt(x^2 + 1)) = log1p(x + x^2 / (1 + sqrt(x^2 + 1))).
static Value emitInverseHyperbolicSine(FloatEmitter &f, ValueRange operands) {
  Value x = operands[0], size = f.abs(x), one = f.constant(1);
  Value isLarge = f.compare(Predicate::OGT, size, kLarge);
  Value square = f.mul(size, size);
  Value root = f.sqrt(f.fma(size, size, one));
  Value sum = f.add(size, f.divide(square, f.add(root, one)));
  Value result = emitLog1p(f, f.select(isLarge, size, sum));
  result = f.add(result, f.select(isLarge, f.constant(kLn2), f.constant(0)));
  return f.copySign(result, x);
}

/// log(x + sqrt(x^2 - 1)) = log1p(t + sqrt(t (t + 2))) with t = x - 1.
static Value emitInverseHyperbolicCosine(FloatEmitter &f, ValueRange operands) {
  Value x = operands[0], above = f.sub(x, f.constant(1));
  Value isLarge = f.compare(Predicate::OGT, x, kLarge);
  Value root = f.sqrt(f.mul(above, f.add(above, f.constant(2))));
  Value result = emitLog1p(f, f.select(isLarge, x, f.add(above, root)));
  result = f.add(result, f.select(isLarge, f.constant(kLn2), f.constant(0)));
  return f.select(f.compare(Predicate::OGE, x, 1.0), result, f.constant(kNaN));
}

/// log((1 + x) / (1 - x)) / 2 = log1p(2 x / (1 - x)) / 2.
static Value emitInverseHyperbolicTangent(FloatEmitter &f,
                                          ValueRange operands) {
  Value x = operands[0], size = f.abs(x);
  Value ratio = f.divide(f.add(size, size), f.sub(f.constant(1), size));
  Value result = f.mul(emitLog1p(f, ratio), f.constant(0.5));
  return f.copySign(result, x);
}

void fovea::populateExponentialPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  FloatFunction log1p = emitLog1p;
  patterns.add<ExpandFunction<math::ExpOp>>(context, emitExp);
  patterns.add<ExpandFunction<math::ExpM1Op>>(context, emitExpMinus1);
  patterns.add<ExpandFunction<math::Log10Op>>(context, emitLog10);
  patterns.add<ExpandFunction<math::Log1pOp>>(context, log1p);
  patterns.add<ExpandFunction<math::PowFOp>>(context, emitPower);
  patterns.add<ExpandFunction<math::SinhOp>>(context, emitHyperbolicSine);
  patterns.add<ExpandFunction<math::CoshOp>>(context, emitHyperbolicCosine);
  patterns.add<ExpandFunction<math::AsinhOp>>(context,
                                              emitInverseHyperbolicSine);
  patterns.add<ExpandFunction<math::AcoshOp>>(context,
                                              emitInverseHyperbolicCosine);
  patterns.add<ExpandFunction<math::AtanhOp>>(context,
                                              emitInverseHyperbolicTangent);
  patterns.add<FPowIToPowF>(context);
}
