//===- NumericTest.cpp - Conversions against APFloat and the ISA ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "fovea/PTX/Units/Numeric.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <limits>

using namespace fovea::ptx;
using namespace fovea::ptx::test;
using llvm::APFloat;
using llvm::APInt;

namespace {
struct NarrowType {
  ElementType type;
  const llvm::fltSemantics &semantics;
  /// The width in APFloat's format, and the position of tf32's lowest bit.
  unsigned bits, shift;
};
} // namespace

static const NarrowType *getTypes(size_t *count) {
  static const NarrowType types[] = {
      {ElementType::F16, APFloat::IEEEhalf(), 16, 0},
      {ElementType::BF16, APFloat::BFloat(), 16, 0},
      {ElementType::TF32, APFloat::FloatTF32(), 19, 13},
      {ElementType::E4M3, APFloat::Float8E4M3FN(), 8, 0},
      {ElementType::E5M2, APFloat::Float8E5M2(), 8, 0},
      {ElementType::E2M3, APFloat::Float6E2M3FN(), 6, 0},
      {ElementType::E3M2, APFloat::Float6E3M2FN(), 6, 0},
      {ElementType::E2M1, APFloat::Float4E2M1FN(), 4, 0},
      {ElementType::UE8M0, APFloat::Float8E8M0FNU(), 8, 0},
  };
  *count = std::size(types);
  return types;
}

static llvm::ArrayRef<NarrowType> getTypes() {
  size_t count;
  const NarrowType *types = getTypes(&count);
  return {types, count};
}

static double toDouble(const NarrowType &type, uint64_t bits) {
  APFloat value(type.semantics, APInt(type.bits, bits));
  // A NaN without fraction bits (ue8m0) would become an infinity.
  if (value.isNaN())
    return std::numeric_limits<double>::quiet_NaN();
  bool loses;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

static uint64_t fromDouble(const NarrowType &type, double value,
                           APFloat::roundingMode mode) {
  APFloat converted(value);
  bool loses;
  converted.convert(type.semantics, mode, &loses);
  return converted.bitcastToAPInt().getZExtValue();
}

static bool isSame(double a, double b) {
  return std::isnan(a) ? std::isnan(b)
                       : a == b && std::signbit(a) == std::signbit(b);
}

/// Every value of every type.
static void testValues() {
  for (const NarrowType &type : getTypes())
    for (uint64_t bits = 0; bits < uint64_t(1) << type.bits; ++bits) {
      double expected = toDouble(type, bits);
      double found = convertToDouble(bits << type.shift, type.type);
      CHECK_TRUE(isSame(found, expected));
      if (std::isnan(expected))
        continue;
      uint64_t back = convertFromDouble(expected, type.type) >> type.shift;
      CHECK_EQUAL(back, bits);
    }
}

/// Values, midpoints between neighbours, and their neighbours, in all rounding
/// modes. Beyond the largest value the types differ from APFloat's rules.
static void testRounding() {
  static constexpr struct {
    Rounding ours;
    APFloat::roundingMode theirs;
  } modes[] = {{Rounding::NearestEven, APFloat::rmNearestTiesToEven},
               {Rounding::NearestAway, APFloat::rmNearestTiesToAway},
               {Rounding::Zero, APFloat::rmTowardZero},
               {Rounding::Down, APFloat::rmTowardNegative},
               {Rounding::Up, APFloat::rmTowardPositive}};
  for (const NarrowType &type : getTypes()) {
    if (type.type == ElementType::UE8M0)
      continue;
    uint64_t positive = uint64_t(1) << (type.bits - 1);
    // A part of tf32 will do.
    uint64_t step = type.bits > 16 ? 7 : 1;
    for (uint64_t bits = 0; bits + 1 < positive; bits += step) {
      double low = toDouble(type, bits), high = toDouble(type, bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high))
        continue;
      double middle = (low + high) / 2;
      double values[] = {
          low,    std::nextafter(low, high),    std::nextafter(middle, low),
          middle, std::nextafter(middle, high), std::nextafter(high, low)};
      for (double value : values)
        for (auto mode : modes)
          for (double sign : {1.0, -1.0}) {
            ConvertOptions options;
            options.rounding = mode.ours;
            uint64_t found =
                convertFromDouble(sign * value, type.type, options);
            CHECK_EQUAL(found >> type.shift,
                        fromDouble(type, sign * value, mode.theirs));
          }
    }
  }
}

/// MLIR's rule for types without infinity, as APFloat applies it.
static void testOverflowToNaN() {
  ConvertOptions options;
  options.overflowToNaN = true;
  for (double value : {448.0, 464.0, 464.5, 1e300, double(INFINITY)})
    for (double sign : {1.0, -1.0})
      CHECK_EQUAL(convertFromDouble(sign * value, ElementType::E4M3, options),
                  fromDouble({ElementType::E4M3, APFloat::Float8E4M3FN(), 8, 0},
                             sign * value, APFloat::rmNearestTiesToEven));
  CHECK_EQUAL(convertFromDouble(1e300, ElementType::E5M2, options), 0x7cu);
  CHECK_EQUAL(convertFromDouble(1e300, ElementType::E2M1, options), 0x7u);
}

/// The ISA's cvt: NaN, .satfinite, .relu.
static void testSpecialValues() {
  double nan = std::numeric_limits<double>::quiet_NaN();
  double infinity = std::numeric_limits<double>::infinity();
  struct Case {
    ElementType type;
    uint64_t nan, infinity, largest, sign;
  };
  static constexpr Case cases[] = {
      {ElementType::F32, 0x7fffffff, 0x7f800000, 0x7f7fffff, 0x80000000},
      {ElementType::TF32, 0x7fffffff, 0x7f800000, 0x7f7fe000, 0x80000000},
      {ElementType::F16, 0x7fff, 0x7c00, 0x7bff, 0x8000},
      {ElementType::BF16, 0x7fff, 0x7f80, 0x7f7f, 0x8000},
      {ElementType::E5M2, 0x7f, 0x7c, 0x7b, 0x80},
      {ElementType::E4M3, 0x7f, 0x7e, 0x7e, 0x80},
      // Without NaN and infinity: MAX_NORM.
      {ElementType::E2M3, 0x1f, 0x1f, 0x1f, 0x20},
      {ElementType::E3M2, 0x1f, 0x1f, 0x1f, 0x20},
      {ElementType::E2M1, 0x7, 0x7, 0x7, 0x8},
      {ElementType::UE8M0, 0xff, 0xfe, 0xfe, 0},
  };
  ConvertOptions finite, relu;
  finite.saturateFinite = true, relu.relu = true;
  for (const Case &c : cases) {
    CHECK_EQUAL(convertFromDouble(nan, c.type), c.nan);
    CHECK_EQUAL(convertFromDouble(-nan, c.type, finite), c.nan);
    CHECK_EQUAL(convertFromDouble(nan, c.type, relu), c.nan);
    CHECK_EQUAL(convertFromDouble(infinity, c.type), c.infinity);
    CHECK_EQUAL(convertFromDouble(-infinity, c.type), c.infinity | c.sign);
    CHECK_EQUAL(convertFromDouble(infinity, c.type, finite), c.largest);
    CHECK_EQUAL(convertFromDouble(-1e300, c.type, finite), c.largest | c.sign);
    CHECK_EQUAL(convertFromDouble(1e300, c.type), c.infinity);
    ConvertOptions truncated;
    truncated.rounding = Rounding::Zero;
    CHECK_EQUAL(convertFromDouble(1e300, c.type, truncated), c.largest);
    if (!c.sign)
      continue;
    CHECK_EQUAL(convertFromDouble(-1.0, c.type, relu), uint64_t(0));
    CHECK_EQUAL(convertFromDouble(-0.0, c.type, relu), uint64_t(0));
    CHECK_EQUAL(convertFromDouble(1.0, c.type, relu),
                convertFromDouble(1.0, c.type));
    CHECK_EQUAL(convertFromDouble(-0.0, c.type), c.sign);
  }
}

/// Bits that are known by heart.
static void testKnownValues() {
  CHECK_EQUAL(convertFromDouble(1.0, ElementType::F16), 0x3c00u);
  CHECK_EQUAL(convertFromDouble(65504.0, ElementType::F16), 0x7bffu);
  CHECK_EQUAL(convertFromDouble(65519.0, ElementType::F16), 0x7bffu);
  CHECK_EQUAL(convertFromDouble(65520.0, ElementType::F16), 0x7c00u);
  CHECK_EQUAL(convertFromDouble(448.0, ElementType::E4M3), 0x7eu);
  CHECK_EQUAL(convertFromDouble(464.0, ElementType::E4M3), 0x7eu);
  CHECK_EQUAL(convertFromDouble(0x1p-9, ElementType::E4M3), 0x01u);
  CHECK_EQUAL(convertFromDouble(57344.0, ElementType::E5M2), 0x7bu);
  CHECK_EQUAL(convertFromDouble(6.0, ElementType::E2M1), 0x7u);
  CHECK_EQUAL(convertFromDouble(7.5, ElementType::E2M3), 0x1fu);
  CHECK_EQUAL(convertFromDouble(28.0, ElementType::E3M2), 0x1fu);
  CHECK_EQUAL(convertFromDouble(1.0, ElementType::UE8M0), 127u);
  CHECK_EQUAL(convertFromDouble(1.0, ElementType::UE4M3), 0x38u);
  // 1 + 2^-11 is halfway between two tf32 numbers.
  ConvertOptions away;
  away.rounding = Rounding::NearestAway;
  CHECK_EQUAL(convertFromDouble(1 + 0x1p-11, ElementType::TF32), 0x3f800000u);
  CHECK_EQUAL(convertFromDouble(1 + 0x1p-11, ElementType::TF32, away),
              0x3f802000u);
  // Scales: .rz and .rp.
  ConvertOptions up, down;
  up.rounding = Rounding::Up, down.rounding = Rounding::Zero;
  CHECK_EQUAL(convertFromDouble(5.0, ElementType::UE8M0, up), 130u);
  CHECK_EQUAL(convertFromDouble(5.0, ElementType::UE8M0, down), 129u);
  CHECK_EQUAL(convertFromDouble(4.0, ElementType::UE8M0, up), 129u);
  CHECK_EQUAL(convertFromDouble(0x1p-140, ElementType::UE8M0, up), 0u);
  // .ftz is about f32's subnormal numbers.
  ConvertOptions flush;
  flush.flushSubnormals = true;
  CHECK_EQUAL(convertFromDouble(-0x1p-127, ElementType::BF16, flush), 0x8000u);
  CHECK_EQUAL(convertFromDouble(0x1p-126, ElementType::BF16, flush), 0x0080u);
}

/// .rs: a carry out of discarded plus random bits rounds away.
static void testStochastic() {
  // 1 + 3/4 of f16's last place; it drops 13 bits: 0x1800 of 0x2000.
  double value = 1 + 0x1.8p-11;
  for (uint32_t random = 0; random < 0x2000; random += 0x7f) {
    ConvertOptions options;
    options.rounding = Rounding::Stochastic;
    options.randomWidth = 13;
    options.randomBits = random;
    uint64_t expected = 0x3c00 + (0x1800 + random >= 0x2000);
    CHECK_EQUAL(convertFromDouble(value, ElementType::F16, options), expected);
    CHECK_EQUAL(convertFromDouble(-value, ElementType::F16, options),
                expected | 0x8000);
    // Exact values stay.
    CHECK_EQUAL(convertFromDouble(1.5, ElementType::F16, options), 0x3e00u);
  }
}

static void testFastForms() {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    double expected = convertToDouble(bits, ElementType::F16);
    CHECK_TRUE(isSame(halfToFloat(bits), expected));
    double bfloat = convertToDouble(bits, ElementType::BF16);
    CHECK_TRUE(isSame(bfloatToFloat(bits), bfloat));
  }
  Random random(1);
  for (unsigned i = 0; i < 300000; ++i) {
    float value = bitsToFloat(uint32_t(random.next()));
    if (i % 2) // More of f16's range, with many ties.
      value = bitsToFloat(uint32_t(random.next(0x32000000, 0x48000000)) &
                          (i % 4 == 1 ? 0xfffff000u : ~0u));
    CHECK_EQUAL(floatToHalf(value), convertFromDouble(value, ElementType::F16));
    CHECK_EQUAL(floatToBFloat(value),
                convertFromDouble(value, ElementType::BF16));
    // A double next to a float, as a tie often is.
    double wide = double(value) * (1 + (i % 3 - 1.0) * 0x1p-40);
    CHECK_EQUAL(floatToHalf(roundToOdd(wide)),
                convertFromDouble(wide, ElementType::F16));
    CHECK_EQUAL(floatToBFloat(roundToOdd(wide)),
                convertFromDouble(wide, ElementType::BF16));
  }
  CHECK_EQUAL(floatToBits(canonicalize(bitsToFloat(0xffc12345))), 0x7fffffffu);
  CHECK_EQUAL(floatToBits(flushSubnormal(bitsToFloat(0x807fffff))),
              0x80000000u);
  CHECK_EQUAL(floatToBits(flushSubnormal(bitsToFloat(0x00800000))),
              0x00800000u);
}

/// Elements of 4 and 6 bits are packed without gaps, low bits first; in
/// containers they have one byte each.
static void testUnpacking() {
  const uint8_t four[] = {0x21, 0xf7}; // 1, 2, 7, 15
  float values[4];
  unpackToFloats(four, ElementType::E2M1, 4, values);
  CHECK_EQUAL(values[0], 0.5f);
  CHECK_EQUAL(values[1], 1.0f);
  CHECK_EQUAL(values[2], 6.0f);
  CHECK_EQUAL(values[3], -6.0f);
  // 0x01, 0x1f, 0x20, 0x2a from the lowest bit on.
  const uint8_t six[] = {0xc1, 0x07, 0xaa};
  unpackToFloats(six, ElementType::E2M3, 4, values);
  CHECK_EQUAL(values[0], 0.125f);
  CHECK_EQUAL(values[1], 7.5f);
  CHECK_TRUE(isSame(values[2], -0.0));
  CHECK_EQUAL(values[3], -1.25f);
  const uint8_t container[] = {0x1c, 0x3c, 0x04, 0xc3};
  unpackContainersToFloats(container, ElementType::E2M1, 4, values);
  CHECK_EQUAL(values[0], 6.0f);
  CHECK_EQUAL(values[1], -6.0f);
  CHECK_EQUAL(values[2], 0.5f);
  CHECK_EQUAL(values[3], 0.0f);
  const uint32_t tf32[] = {0x3f801fff};
  unpackToFloats(tf32, ElementType::TF32, 1, values);
  CHECK_EQUAL(values[0], 1.0f);
  const uint8_t bytes[] = {0xff};
  unpackToFloats(bytes, ElementType::S8, 1, values);
  CHECK_EQUAL(values[0], -1.0f);
  unpackToFloats(bytes, ElementType::U8, 1, values);
  CHECK_EQUAL(values[0], 255.0f);
}

void fovea::ptx::test::testNumeric() {
  testValues();
  testRounding();
  testOverflowToNaN();
  testSpecialValues();
  testKnownValues();
  testStochastic();
  testFastForms();
  testUnpacking();
}
