//===- Trigonometry.cpp - Sines, tangents, their inverses -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Angles are reduced to [-pi/4, pi/4] before a polynomial. Moderate angles
// subtract multiples of pi/2 in three parts (Cody and Waite); larger ones
// multiply with the relevant bits of 2/pi (Payne and Hanek). Coefficients are
// minimax polynomials, rounded to f32.
//
//===----------------------------------------------------------------------===//

#include "Math/FloatFunctions.h"
#include "WarpToNVVM.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace fovea;

using Predicate = arith::CmpFPredicate;

// pi/2 as a sum of three f32, and 2/pi.
static constexpr double kHalfPi = 0x1.921fb6p+0;
static constexpr double kHalfPiRest = -0x1.777a5cp-25;
static constexpr double kHalfPiLast = -0x1.ee59dap-50;
static constexpr double kTwoByPi = 0.63661977236758134;

// Maximum magnitude of an angle that is reduced in three parts.
static constexpr double kLargestModerate = 0x1p18;

// The bits of 2/pi, after a word of zeros.
static constexpr uint32_t kTwoByPiBits[] = {0,          0xA2F9836E, 0x4E441529,
                                            0xFC2757D1, 0xF534DDC0, 0xDB629599,
                                            0x3C439041, 0xFE5163AB};

// Minimum number of elements for which a branch pays off.
static constexpr int64_t kLeastBranched = 8;

// Number of large angles that a lane reduces at a time.
static constexpr size_t kReducedTogether = 2;

namespace {
/// A reduced angle: `rest`, from -pi/4 to pi/4, plus `quadrant` right angles,
/// i32, of which the last two bits matter.
struct Reduced {
  Value rest, quadrant;
};
} // namespace

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

/// Cody and Waite reduction; gives NaN for infinity and NaN.
static Reduced reduceModerate(FloatEmitter &f, Value x) {
  // The sum is rounded to an integer, which its last bits hold.
  constexpr double kRound = 0x1.8p23;
  Value sum = f.fma(x, f.constant(kTwoByPi), f.constant(kRound));
  Value count = f.sub(f.constant(kRound), sum); // negated
  Value rest = f.fma(count, f.constant(kHalfPi), x);
  rest = f.fma(count, f.constant(kHalfPiRest), rest);
  rest = f.fma(count, f.constant(kHalfPiLast), rest);
  return {rest, f.bits(sum)};
}

/// Payne and Hanek reduction for finite angles of 2^18 and more. With x = m *
/// 2^(e - 150), the 96 bits of 2/pi from 2^(151 - e) on are relevant: earlier
/// ones contribute multiples of four right angles, later ones affect the 70th
/// bit of the result.
static Reduced reduceLarge(FloatEmitter &f, Value x) {
  ImplicitLocOpBuilder &b = f.b;
  Type i64 = b.getI64Type();
  auto widen = [&](Value value) -> Value {
    return arith::ExtUIOp::create(b, i64, value);
  };
  auto wide = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  };
  Value pattern = f.bits(x);
  Value exponent = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, pattern, f.integer(23)), f.integer(255));
  Value mantissa = arith::OrIOp::create(
      b, arith::AndIOp::create(b, pattern, f.integer(0x7fffff)),
      f.integer(0x800000));
  // Position of the first relevant bit in kTwoByPiBits.
  Value start = arith::SubIOp::create(b, exponent, f.integer(120));
  Value shift = arith::AndIOp::create(b, start, f.integer(31));
  Value words[4];
  for (int64_t word : llvm::seq(4))
    words[word] = f.integer(kTwoByPiBits[word]);
  for (int64_t first : llvm::seq(1, 5)) {
    Value isReached = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, start,
                                            f.integer(32 * first));
    for (int64_t word : llvm::seq(4))
      words[word] = arith::SelectOp::create(
          b, isReached, f.integer(kTwoByPiBits[first + word]), words[word]);
  }
  Value product = wide(0), factor = widen(mantissa);
  for (int64_t word : llvm::reverse(llvm::seq(3))) {
    Value window = LLVM::CallIntrinsicOp::create(
                       b, b.getI32Type(), b.getStringAttr("llvm.fshl.i32"),
                       {words[word], words[word + 1], shift})
                       .getResult(0);
    Value part = arith::MulIOp::create(b, factor, widen(window));
    if (word == 0)
      part = arith::ShLIOp::create(b, part, wide(32));
    if (word == 1)
      product = arith::ShRUIOp::create(b, product, wide(32));
    product = arith::AddIOp::create(b, product, part);
  }
  // The first two bits count right angles; round to the nearest one.
  Value isUpper = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, product, wide(61)), wide(1));
  Value count = arith::AddIOp::create(
      b, arith::ShRUIOp::create(b, product, wide(62)), isUpper);
  Value quadrant = arith::TruncIOp::create(b, b.getI32Type(), count);
  Value fraction = arith::SIToFPOp::create(
      b, b.getF32Type(), arith::ShLIOp::create(b, product, wide(2)));
  Value rest = f.mul(fraction, f.constant(1.5707963267948966 * 0x1p-64));
  Value isNegative = f.isSigned(x);
  return {f.select(isNegative, f.neg(rest), rest),
          arith::SelectOp::create(
              b, isNegative, arith::SubIOp::create(b, f.integer(0), quadrant),
              quadrant)};
}

static Value isLarge(FloatEmitter &f, Value x) {
  return f.compare(Predicate::OGT, f.abs(x), kLargestModerate);
}

static Reduced reduceAny(FloatEmitter &f, Value x) {
  Reduced moderate = reduceModerate(f, x), large = reduceLarge(f, x);
  Value isFinite = f.compare(Predicate::OLT, f.abs(x),
                             std::numeric_limits<double>::infinity());
  Value choice = arith::AndIOp::create(f.b, isLarge(f, x), isFinite);
  return {f.select(choice, large.rest, moderate.rest),
          f.select(choice, large.quadrant, moderate.quadrant)};
}

//===----------------------------------------------------------------------===//
// Sine, cosine, tangent
//===----------------------------------------------------------------------===//

static Value emitSineNearZero(FloatEmitter &f, Value x) {
  Value square = f.mul(x, x);
  Value series =
      f.polynomial(square, {-0x1.555544p-3, 0x1.1106d6p-7, -0x1.991ebcp-13});
  return f.fma(f.mul(series, square), x, x);
}

static Value emitCosineNearZero(FloatEmitter &f, Value x) {
  Value square = f.mul(x, x);
  Value series =
      f.polynomial(square, {0x1.55554ap-5, -0x1.6c0bfap-10, 0x1.99d74ep-16});
  Value start = f.fma(square, f.constant(-0.5), f.constant(1));
  return f.fma(f.mul(square, square), series, start);
}

static Value hasBit(FloatEmitter &f, Value number, int64_t bit) {
  Value found = arith::AndIOp::create(f.b, number, f.integer(bit));
  return arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne, found,
                               f.integer(0));
}

/// The sine of the angle plus `added` right angles.
static Value emitSineOf(FloatEmitter &f, Reduced angle, int64_t added) {
  Value quadrant = angle.quadrant;
  if (added)
    quadrant = arith::AddIOp::create(f.b, quadrant, f.integer(added));
  Value result =
      f.select(hasBit(f, quadrant, 1), emitCosineNearZero(f, angle.rest),
               emitSineNearZero(f, angle.rest));
  return f.select(hasBit(f, quadrant, 2), f.neg(result), result);
}

/// Returns `x` if it is zero: keeps -0, which the reduction loses, and
/// subnormal numbers that compare as 0.
static Value keepZero(FloatEmitter &f, Value x, Value result) {
  return f.select(f.compare(Predicate::OEQ, x, 0.0), x, result);
}

/// sin(x) for 0 added right angles, cos(x) for 1.
static Value emitSine(FloatEmitter &f, Value x, int64_t added) {
  Value result = emitSineOf(f, reduceAny(f, x), added);
  return added ? result : keepZero(f, x, result);
}

/// A small angle with the same sine to the same relative accuracy: sines near 0
/// belong to angles near 0.
static Value emitAngleOfSine(FloatEmitter &f, Reduced angle, int64_t added) {
  Value quadrant = angle.quadrant;
  if (added)
    quadrant = arith::AddIOp::create(f.b, quadrant, f.integer(added));
  Value shifted = f.add(angle.rest, f.constant(kHalfPi));
  Value result = f.select(hasBit(f, quadrant, 1), shifted, angle.rest);
  return f.select(hasBit(f, quadrant, 2), f.neg(result), result);
}

static Value emitTangent(FloatEmitter &f, ValueRange operands) {
  Value x = operands[0];
  Reduced angle = reduceAny(f, x);
  Value sine = emitSineNearZero(f, angle.rest);
  Value cosine = emitCosineNearZero(f, angle.rest);
  Value isSwapped = hasBit(f, angle.quadrant, 1);
  Value result = f.divide(f.select(isSwapped, f.neg(cosine), sine),
                          f.select(isSwapped, sine, cosine));
  return keepZero(f, x, result);
}

/// i1, warp-uniform: true if any lane of the warp has a large angle.
static Value emitAnyLarge(FloatEmitter &f, ArrayRef<Value> angles) {
  Value any = isLarge(f, angles.front());
  for (Value x : angles.drop_front())
    any = arith::OrIOp::create(f.b, any, isLarge(f, x));
  return NVVM::VoteSyncOp::create(f.b, f.b.getI1Type(),
                                  emitI32(f.b, f.b.getLoc(), -1), any,
                                  NVVM::VoteSyncKind::any);
}

namespace {
/// The reduction of large angles takes three times as long as the rest. For
/// vectors it is in a warp-uniform branch, which replaces large angles by small
/// ones with the same sine.
template <typename Op>
struct ExpandSine : OpRewritePattern<Op> {
  ExpandSine(MLIRContext *context, int64_t added)
      : OpRewritePattern<Op>(context, /*benefit=*/2), added(added) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return failure();
    FloatEmitter f(rewriter, op.getLoc());
    auto vector = dyn_cast<VectorType>(type);
    if (!vector) {
      rewriter.replaceOp(op, emitSine(f, op.getOperand(), added));
      return success();
    }
    SmallVector<Value> results;
    if (vector.getNumElements() < kLeastBranched) {
      for (Value x : getElements(f, op.getOperand()))
        results.push_back(emitSine(f, x, added));
    } else {
      scf::IfOp small = emitSmallAngles(f, op.getOperand());
      for (Value x : getElements(f, small.getResult(0))) {
        Reduced angle = reduceModerate(f, x);
        angle.quadrant =
            arith::AddIOp::create(f.b, angle.quadrant, small.getResult(1));
        Value result = emitSineOf(f, angle, 0);
        results.push_back(added ? result : keepZero(f, x, result));
      }
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, vector, results);
    return success();
  }

  static SmallVector<Value> getElements(FloatEmitter &f, Value vector) {
    return llvm::to_vector_of<Value>(
        vector::ToElementsOp::create(f.b, vector).getResults());
  }

  /// Reduces a few angles in their own block: reductions of all angles of a
  /// lane at once would exceed the registers.
  SmallVector<Value> emitFewSmallAngles(FloatEmitter &f,
                                        ArrayRef<Value> angles) const {
    auto emit = [&](auto reduce) {
      return [&, reduce](OpBuilder &builder, Location loc) {
        FloatEmitter inner(builder, loc);
        scf::YieldOp::create(
            builder, loc, llvm::map_to_vector(angles, [&](Value x) {
              Value angle = emitAngleOfSine(inner, reduce(inner, x), added);
              return added ? angle : keepZero(inner, x, angle);
            }));
      };
    };
    return llvm::to_vector_of<Value>(
        scf::IfOp::create(f.b, emitAnyLarge(f, angles), emit(reduceAny),
                          emit(reduceModerate))
            .getResults());
  }

  /// Angles up to kLargestModerate with the required sines, and the number of
  /// right angles to add to each.
  scf::IfOp emitSmallAngles(FloatEmitter &f, Value source) const {
    SmallVector<Value> angles = getElements(f, source);
    auto emitReduced = [&](OpBuilder &builder, Location loc) {
      FloatEmitter inner(builder, loc);
      SmallVector<Value> results;
      for (size_t first = 0; first < angles.size(); first += kReducedTogether) {
        size_t count = std::min(kReducedTogether, angles.size() - first);
        llvm::append_range(
            results,
            emitFewSmallAngles(inner, ArrayRef(angles).slice(first, count)));
      }
      Value all = vector::FromElementsOp::create(
          builder, loc, cast<VectorType>(source.getType()), results);
      scf::YieldOp::create(builder, loc, {all, inner.integer(0)});
    };
    auto emitSame = [&](OpBuilder &builder, Location loc) {
      Value count = FloatEmitter(builder, loc).integer(added);
      scf::YieldOp::create(builder, loc, {source, count});
    };
    return scf::IfOp::create(f.b, emitAnyLarge(f, angles), emitReduced,
                             emitSame);
  }

  int64_t added;
};
} // namespace

//===----------------------------------------------------------------------===//
// Inverses
//===----------------------------------------------------------------------===//

/// For arguments from 0 to 1.
static Value emitArcTangentOfRatio(FloatEmitter &f, Value x) {
  Value square = f.mul(x, x);
  Value series =
      f.polynomial(square, {-0x1.55554p-2, 0x1.999276p-3, -0x1.2426fp-3,
                            0x1.c0d24p-4, -0x1.58dbbap-4, 0x1.dd0c78p-5,
                            -0x1.01ad4cp-5, 0x1.6a8afep-7, -0x1.def6e4p-10});
  return f.fma(f.mul(series, square), x, x);
}

/// `quadrants` right angles minus an angle.
static Value subtractFrom(FloatEmitter &f, int64_t quadrants, Value angle) {
  Value rest = f.sub(f.constant(quadrants * kHalfPi), angle);
  return f.add(rest, f.constant(quadrants * kHalfPiRest));
}

static Value emitArcTangent(FloatEmitter &f, ValueRange operands) {
  Value x = operands[0], size = f.abs(x);
  Value isSteep = f.compare(Predicate::OGT, size, 1.0);
  Value one = f.constant(1);
  Value ratio =
      f.divide(f.select(isSteep, one, size), f.select(isSteep, size, one));
  Value angle = emitArcTangentOfRatio(f, ratio);
  angle = f.select(isSteep, subtractFrom(f, 1, angle), angle);
  return f.copySign(angle, x);
}

static Value emitArcTangent2(FloatEmitter &f, ValueRange operands) {
  Value y = operands[0], x = operands[1];
  Value height = f.abs(y), width = f.abs(x), one = f.constant(1);
  Value least = arith::MinimumFOp::create(f.b, height, width);
  Value most = arith::MaximumFOp::create(f.b, height, width);
  // The origin is treated as on an axis, two infinities as at 45 degrees.
  Value divisor = f.select(f.compare(Predicate::OEQ, most, 0.0), one, most);
  Value isDiagonal =
      f.compare(Predicate::OEQ, least, std::numeric_limits<double>::infinity());
  Value ratio = f.select(isDiagonal, one, f.divide(least, divisor));
  Value angle = emitArcTangentOfRatio(f, ratio);
  angle = f.select(f.compare(Predicate::OGT, height, width),
                   subtractFrom(f, 1, angle), angle);
  angle = f.select(f.isSigned(x), subtractFrom(f, 2, angle), angle);
  return f.copySign(angle, y);
}

/// asin(x) = x + x^3 p(x^2) up to 1/2. Beyond, pi/2 - asin(x) = 2 asin(s) with
/// s = sqrt((1 - x) / 2), so `s` replaces `x`.
static std::pair<Value, Value> emitArcSineOfHalf(FloatEmitter &f, Value x) {
  Value size = f.abs(x);
  Value isBeyond = f.compare(Predicate::OGT, size, 0.5);
  Value half = f.fma(size, f.constant(-0.5), f.constant(0.5));
  Value square = f.select(isBeyond, half, f.mul(size, size));
  Value sine = f.select(isBeyond, f.sqrt(half), size);
  Value series =
      f.polynomial(square, {0x1.5555cap-3, 0x1.33014ep-4, 0x1.748c66p-5,
                            0x1.8ba244p-6, 0x1.59dad8p-5});
  return {f.fma(f.mul(series, square), sine, sine), isBeyond};
}

static Value emitArcSine(FloatEmitter &f, ValueRange operands) {
  auto [angle, isBeyond] = emitArcSineOfHalf(f, operands[0]);
  Value complement = subtractFrom(f, 1, f.add(angle, angle));
  return f.copySign(f.select(isBeyond, complement, angle), operands[0]);
}

static Value emitArcCosine(FloatEmitter &f, ValueRange operands) {
  Value x = operands[0];
  auto [angle, isBeyond] = emitArcSineOfHalf(f, x);
  Value twice = f.add(angle, angle);
  twice = f.select(f.isSigned(x), subtractFrom(f, 2, twice), twice);
  return f.select(isBeyond, twice, subtractFrom(f, 1, f.copySign(angle, x)));
}

void fovea::populateTrigonometryPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ExpandSine<math::SinOp>>(context, /*added=*/0);
  patterns.add<ExpandSine<math::CosOp>>(context, /*added=*/1);
  patterns.add<ExpandFunction<math::TanOp>>(context, emitTangent);
  patterns.add<ExpandFunction<math::AtanOp>>(context, emitArcTangent);
  patterns.add<ExpandFunction<math::Atan2Op>>(context, emitArcTangent2);
  patterns.add<ExpandFunction<math::AsinOp>>(context, emitArcSine);
  patterns.add<ExpandFunction<math::AcosOp>>(context, emitArcCosine);
}
