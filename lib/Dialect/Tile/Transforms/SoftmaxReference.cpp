//===- SoftmaxReference.cpp - Softmax offsets -----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxReference.h"
#include "ScoreBounds.h"

#include "fovea/Support/ValueNames.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

/// Larger exponents count as large: half a ULP of them is 2 to 4 octaves, which
/// every probability type can represent above 1.
static constexpr double kLargeExponent = 0x1p26;

/// The softmax offset of rows that have seen no key.
static constexpr double kNone = -std::numeric_limits<double>::infinity();

/// Assumed bound of a product of queries and keys, in absolute value.
static constexpr double kLargestProduct = 0x1p20;

bool fovea::tile::mayBeLarge(Value scores, double scale) {
  std::optional<ScoreBounds> bounds = getScoreBounds(scores, kLargestProduct);
  return !bounds || std::max(-bounds->least, bounds->most) * scale * kLog2E >
                        kLargeExponent;
}

SoftmaxReference::SoftmaxReference(TileBuilder &b, TileType rowType,
                                   double scale, Value runtimeScale,
                                   bool mayBeLarge, double headroom)
    : b(b), rowType(rowType), scale(scale), factor(scale * kLog2E),
      headroom(headroom), isByScore(mayBeLarge && !runtimeScale) {
  if (!runtimeScale)
    return;
  auto constant = [&](double value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  runtimeFactor = arith::MulFOp::create(b, runtimeScale, constant(factor));
  runtimeInverse = arith::DivFOp::create(b, constant(1.0), runtimeFactor);
}

Value SoftmaxReference::splatFactor(TileType type, double by) {
  if (!runtimeFactor)
    return b.splat(type, factor * by);
  Value factors = BroadcastOp::create(b, type, runtimeFactor);
  return by == 1.0 ? factors : b.multiply(factors, by);
}

Value SoftmaxReference::scaled(Value tile, double by) {
  return b.multiply(tile, splatFactor(TileBuilder::typeOf(tile), by));
}

Value SoftmaxReference::octaves(double count) {
  if (!runtimeFactor)
    return b.splat(rowType, count / factor);
  return b.multiply(BroadcastOp::create(b, rowType, runtimeInverse), count);
}

Value SoftmaxReference::maximumOf(Value scores) {
  // Scaling the maximum instead of the scores keeps the scale and the change of
  // base inside the FMA.
  Value most = b.reduceColumns(ReduceKind::Max, scores, 1);
  if (isByScore)
    return below(most);
  if (headroom == 0.0)
    return scaled(most);
  return b.multiplyAdd(most, splatFactor(rowType), b.splat(rowType, -headroom));
}

Value SoftmaxReference::below(Value maximum) {
  return headroom == 0.0 ? maximum : b.add(maximum, octaves(-headroom));
}

Value SoftmaxReference::above(Value m) {
  return headroom == 0.0 ? m : b.add(m, octaves(headroom));
}

Value SoftmaxReference::exceeds(Value next, Value reference, double tau) {
  double distance = isByScore ? tau / factor : tau;
  return b.compare(arith::CmpFPredicate::OGT, next,
                   b.add(reference, b.splat(rowType, distance)));
}

Value SoftmaxReference::makeFactor(Value m) {
  Value size = math::AbsFOp::create(b, m);
  Value isLarge = b.compare(arith::CmpFPredicate::OGT, size,
                            b.splat(rowType, kLargeExponent / factor));
  return b.select(isLarge,
                  b.splat(rowType, std::exp2(std::floor(std::log2(factor)))),
                  b.splat(rowType, factor));
}

SoftmaxReference::Exponents SoftmaxReference::makeExponents(Value reference) {
  Value guarded = b.guard(reference);
  if (!isByScore)
    return {guarded, Value()};
  Value rowFactor = makeFactor(guarded);
  return {b.multiply(guarded, rowFactor), rowFactor};
}

Value SoftmaxReference::weightsOf(Value scores, const Exponents &exponents) {
  RankedTensorType type = TileBuilder::typeOf(scores);
  Value offset = b.widen(b.negate(exponents.guarded), type);
  Value by =
      exponents.factor ? b.widen(exponents.factor, type) : splatFactor(type);
  return named("weights", b.exp2(b.multiplyAdd(scores, by, offset)));
}

Value SoftmaxReference::rescaleFrom(Value old, const Exponents &exponents) {
  if (!isByScore)
    return b.exp2(b.subtract(old, exponents.guarded));
  // Uses the same rounded offset as the old probabilities. Rows without an
  // offset have empty sums.
  Value before = b.select(b.isEqual(old, kNone), b.minusInfinity(rowType),
                          makeExponents(old).guarded);
  return b.exp2(b.subtract(before, exponents.guarded));
}

//===----------------------------------------------------------------------===//
// Softmax offsets of the lazy recurrence
//===----------------------------------------------------------------------===//

SmallVector<Value> SoftmaxReference::Served::getValues() const {
  SmallVector<Value> values = {m, exponent, threshold};
  if (factor)
    values.push_back(factor);
  return values;
}

SoftmaxReference::Served SoftmaxReference::Served::from(ValueRange carried) {
  return {carried[0], carried[1], carried[2],
          carried.size() > 3 ? Value(carried[3]) : Value()};
}

SmallVector<StringRef> SoftmaxReference::getServedNames() const {
  SmallVector<StringRef> names = {"reference", "exponent", "threshold"};
  if (isByScore)
    names.push_back("score_factor");
  return names;
}

RankedTensorType SoftmaxReference::getBitsType() {
  return tileLike(rowType, rowType.getShape(), b.getI32Type());
}

SoftmaxReference::Served SoftmaxReference::getNoneServed() {
  return {b.minusInfinity(rowType), b.splat(rowType, 0.0),
          b.splat(getBitsType(), std::numeric_limits<int32_t>::min()),
          isByScore ? b.splat(rowType, factor) : Value()};
}

Value SoftmaxReference::mostServed(Value m, double tau) {
  Value most = b.add(m, octaves(tau + headroom));
  return b.select(
      b.compare(arith::CmpFPredicate::OGE, most, b.splat(rowType, 0.0)), most,
      above(m));
}

SoftmaxReference::Served SoftmaxReference::makeServed(Value m, Value most) {
  RankedTensorType bitsType = getBitsType();
  Value above = arith::AddIOp::create(
      b, arith::BitcastOp::create(b, bitsType, most), b.splat(bitsType, 1));
  // The integer order of negative floats is reversed: below zero, and before
  // the first offset, every score requests a new one.
  Value ordered =
      b.compare(arith::CmpFPredicate::OGE, most, b.splat(rowType, 0.0));
  Value threshold = b.select(
      ordered, above, b.splat(bitsType, std::numeric_limits<int32_t>::min()));
  Value guarded = b.guard(m);
  if (!isByScore)
    return {m, scaled(guarded, -1.0), threshold, Value()};
  Value rowFactor = makeFactor(guarded);
  return {m, b.negate(b.multiply(guarded, rowFactor)), threshold, rowFactor};
}

Value SoftmaxReference::rescaleFrom(const Served &old, const Served &next) {
  if (!isByScore)
    return weightsOf(old.m, next);
  // Uses the same rounded offset as the old probabilities.
  Value factor = b.exp2(b.subtract(next.exponent, old.exponent));
  return b.select(b.isEqual(old.m, kNone), b.splat(rowType, 0.0), factor);
}

Value SoftmaxReference::weightsOf(Value scores, const Served &reference) {
  RankedTensorType type = TileBuilder::typeOf(scores);
  Value by =
      reference.factor ? b.widen(reference.factor, type) : splatFactor(type);
  return b.exp2(b.multiplyAdd(scores, by, b.widen(reference.exponent, type)));
}

Value SoftmaxReference::toNatural(Value reference) {
  return b.multiply(reference, isByScore ? scale : kLn2);
}
