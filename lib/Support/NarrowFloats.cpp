//===- NarrowFloats.cpp - Conversions between float formats ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Support/NarrowFloats.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace fovea;

namespace {
/// A binary float format: one sign bit (or none), exponent, fraction.
struct Layout {
  unsigned exponentBits, fractionBits;
  int bias;
  bool isSigned;
  /// The encodings of the largest finite value, infinity and NaN; 0 for formats
  /// without them.
  uint64_t largest, infinity, nan;
  /// Position of the lowest fraction bit: tf32 has 13 unused bits.
  unsigned shift;
};
} // namespace

static const Layout &getLayout(FloatFormat format) {
  static const Layout layouts[] = {
      /*F64*/ {11, 52, 1023, true, 0x7fefffffffffffff, 0x7ff0000000000000,
               0x7fffffffffffffff, 0},
      /*F32*/ {8, 23, 127, true, 0x7f7fffff, 0x7f800000, 0x7fffffff, 0},
      /*TF32*/ {8, 10, 127, true, 0x3fbff, 0x3fc00, 0x3ffff, 13},
      /*F16*/ {5, 10, 15, true, 0x7bff, 0x7c00, 0x7fff, 0},
      /*BF16*/ {8, 7, 127, true, 0x7f7f, 0x7f80, 0x7fff, 0},
      /*E4M3*/ {4, 3, 7, true, 0x7e, 0, 0x7f, 0},
      /*E5M2*/ {5, 2, 15, true, 0x7b, 0x7c, 0x7f, 0},
      /*E2M3*/ {2, 3, 1, true, 0x1f, 0, 0, 0},
      /*E3M2*/ {3, 2, 3, true, 0x1f, 0, 0, 0},
      /*E2M1*/ {2, 1, 1, true, 0x7, 0, 0, 0},
      /*UE8M0*/ {8, 0, 127, false, 0xfe, 0, 0xff, 0},
      /*UE4M3*/ {4, 3, 7, false, 0x7e, 0, 0x7f, 0},
  };
  return layouts[unsigned(format)];
}

unsigned fovea::getPrecisionBits(FloatFormat format) {
  return getLayout(format).fractionBits + 1;
}

int fovea::getMinExponent(FloatFormat format) {
  return 1 - getLayout(format).bias;
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

/// True if a magnitude must be rounded up: `rest` is the discarded part of
/// `bits` bits, `odd` the parity of the kept part.
static bool roundsAway(uint64_t rest, unsigned bits, bool odd, bool negative,
                       const ConvertOptions &options) {
  if (rest == 0)
    return false;
  uint64_t half = uint64_t(1) << (bits - 1);
  switch (options.rounding) {
  case Rounding::NearestEven:
    return rest > half || (rest == half && odd);
  case Rounding::NearestAway:
    return rest >= half;
  case Rounding::Zero:
    return false;
  case Rounding::Down:
    return negative;
  case Rounding::Up:
    return !negative;
  case Rounding::Stochastic: {
    unsigned width = options.randomWidth;
    uint64_t random = options.randomBits & ((uint64_t(1) << width) - 1);
    random =
        bits >= width ? random << (bits - width) : random >> (width - bits);
    return ((rest + random) >> bits) != 0;
  }
  }
  llvm_unreachable("unknown rounding");
}

/// The result for an infinite magnitude.
static uint64_t getInfinity(const Layout &layout,
                            const ConvertOptions &options) {
  if (options.saturateFinite)
    return layout.largest;
  if (layout.infinity)
    return layout.infinity;
  return options.overflowToNaN && layout.nan ? layout.nan : layout.largest;
}

/// The result for a finite magnitude above the largest one.
static uint64_t overflow(const Layout &layout, bool negative,
                         const ConvertOptions &options) {
  bool towardsZero = options.rounding == Rounding::Zero ||
                     (options.rounding == Rounding::Down && !negative) ||
                     (options.rounding == Rounding::Up && negative);
  return towardsZero ? layout.largest : getInfinity(layout, options);
}

/// ue8m0 has no zero, no sign and no subnormal values.
static uint64_t convertToPower(double magnitude,
                               const ConvertOptions &options) {
  constexpr int kBias = 127;
  constexpr uint64_t kLargest = 0xfe;
  if (std::isinf(magnitude))
    return kLargest;
  if (magnitude == 0)
    return 0;
  int exponent;
  double fraction = 2 * std::frexp(magnitude, &exponent);
  int64_t biased = int64_t(exponent) - 1 + kBias;
  bool up = options.rounding == Rounding::Up
                ? fraction > 1
                : options.rounding == Rounding::NearestEven &&
                      (fraction > 1.5 || (fraction == 1.5 && (biased & 1)));
  biased += up;
  return biased < 0 ? 0 : std::min<uint64_t>(biased, kLargest);
}

/// Rounds the magnitude of a finite nonzero value.
static uint64_t roundMagnitude(double magnitude, bool negative,
                               const Layout &layout,
                               const ConvertOptions &options) {
  constexpr unsigned kDoubleBits = 52;
  int exponent;
  double fraction = std::frexp(magnitude, &exponent);
  // magnitude = significand * 2^(exponent - 52), significand in [2^52, 2^53).
  auto significand = uint64_t(std::ldexp(fraction, int(kDoubleBits) + 1));
  exponent -= 1;
  int smallest = 1 - layout.bias;
  unsigned drop = kDoubleBits - layout.fractionBits;
  uint64_t base = 0;
  if (exponent >= smallest)
    base = uint64_t(exponent - smallest) << layout.fractionBits;
  else
    drop += unsigned(smallest - exponent);
  // Only nonzeroness remains. The limit keeps the shifts defined and the
  // rounding right, since half of 2^62 is above 2^53.
  if (drop > 62)
    drop = 62;
  uint64_t kept = drop ? significand >> drop : significand;
  uint64_t rest = significand - (kept << drop);
  // The hidden bit of a normal number is part of `kept`: adding it to the
  // exponent minus one gives the encoding. A rounding carry works the same way.
  uint64_t encoded = base + kept;
  if (drop && roundsAway(rest, drop, kept & 1, negative, options))
    ++encoded;
  return encoded > layout.largest ? overflow(layout, negative, options)
                                  : encoded;
}

uint64_t fovea::encodeFloat(double value, FloatFormat format,
                            const ConvertOptions &options) {
  const Layout &layout = getLayout(format);
  if (std::isnan(value))
    // tf32 uses the NaN of f32, including the bits that tf32 lacks.
    return format == FloatFormat::TF32
               ? kCanonicalNaN
               : (layout.nan ? layout.nan : layout.largest);
  bool negative = std::signbit(value);
  double magnitude = std::fabs(value);
  if (options.flushSubnormals && magnitude < 0x1p-126)
    magnitude = 0;
  if (options.relu && negative)
    magnitude = 0, negative = false;

  uint64_t encoded = 0;
  if (format == FloatFormat::UE8M0)
    encoded = convertToPower(magnitude, options);
  else if (std::isinf(magnitude))
    encoded = getInfinity(layout, options);
  else if (magnitude != 0)
    encoded = roundMagnitude(magnitude, negative, layout, options);
  if (negative && layout.isSigned)
    encoded |= uint64_t(1) << (layout.exponentBits + layout.fractionBits);
  return encoded << layout.shift;
}

double fovea::decodeFloat(uint64_t bits, FloatFormat format) {
  const Layout &layout = getLayout(format);
  unsigned magnitudeBits = layout.exponentBits + layout.fractionBits;
  bits >>= layout.shift;
  bool negative = layout.isSigned && (bits >> magnitudeBits) & 1;
  uint64_t magnitude = bits & ((uint64_t(1) << magnitudeBits) - 1);
  // If the format has an infinity, all larger encodings are NaN.
  bool isNaN = layout.infinity ? magnitude > layout.infinity
                               : layout.nan && magnitude == layout.nan;
  double value;
  if (isNaN) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (layout.infinity && magnitude == layout.infinity) {
    value = std::numeric_limits<double>::infinity();
  } else if (format == FloatFormat::UE8M0) {
    value = std::ldexp(1.0, int(magnitude) - layout.bias);
  } else {
    uint64_t exponent = magnitude >> layout.fractionBits;
    uint64_t fraction = magnitude & ((uint64_t(1) << layout.fractionBits) - 1);
    if (exponent)
      fraction |= uint64_t(1) << layout.fractionBits;
    else
      exponent = 1;
    value = std::ldexp(double(fraction),
                       int(exponent) - layout.bias - int(layout.fractionBits));
  }
  return negative ? -value : value;
}

float fovea::roundToOdd(double value) {
  auto nearest = float(value);
  if (double(nearest) == value || std::isnan(value) || std::isinf(nearest))
    return nearest;
  uint32_t bits = floatToBits(nearest);
  if (std::fabs(double(nearest)) > std::fabs(value))
    --bits; // towards zero
  return bitsToFloat(bits | 1);
}
