//===- Numeric.cpp - Numeric formats of PTX -------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Units/Numeric.h"

#include "llvm/Support/ErrorHandling.h"

#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

using namespace fovea::ptx;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

unsigned fovea::ptx::getBitWidth(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::S64:
  case ElementType::U64:
    return 64;
  case ElementType::F32:
  case ElementType::TF32:
  case ElementType::S32:
  case ElementType::U32:
    return 32;
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::S16:
  case ElementType::U16:
    return 16;
  case ElementType::E4M3:
  case ElementType::E5M2:
  case ElementType::UE8M0:
  case ElementType::UE4M3:
  case ElementType::S8:
  case ElementType::U8:
    return 8;
  case ElementType::E2M3:
  case ElementType::E3M2:
    return 6;
  case ElementType::E2M1:
    return 4;
  }
  llvm_unreachable("unknown element type");
}

llvm::StringRef fovea::ptx::getName(ElementType type) {
  static constexpr llvm::StringLiteral names[] = {
      "f64",  "f32",  "tf32", "f16",   "bf16",  "e4m3", "e5m2",
      "e2m3", "e3m2", "e2m1", "ue8m0", "ue4m3", "s64",  "u64",
      "s32",  "u32",  "s16",  "u16",   "s8",    "u8"};
  return names[unsigned(type)];
}

bool fovea::ptx::isFloat(ElementType type) { return type < ElementType::S64; }

namespace {
/// A binary float format: one sign bit (or none), exponent, fraction.
struct FloatFormat {
  unsigned exponentBits, fractionBits;
  int bias;
  bool isSigned;
  /// The encodings of the largest finite value, infinity and NaN; 0 for types
  /// without them.
  uint64_t largest, infinity, nan;
  /// Position of the lowest fraction bit: tf32 has 13 unused bits.
  unsigned shift;
};
} // namespace

static const FloatFormat &getFormat(ElementType type) {
  static const FloatFormat formats[] = {
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
  assert(isFloat(type) && "not a float");
  return formats[unsigned(type)];
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

/// The result for a magnitude above the largest finite one.
static uint64_t overflow(const FloatFormat &format, bool negative,
                         const ConvertOptions &options) {
  bool towardsZero = options.rounding == Rounding::Zero ||
                     (options.rounding == Rounding::Down && !negative) ||
                     (options.rounding == Rounding::Up && negative);
  return options.saturateFinite || towardsZero || !format.infinity
             ? format.largest
             : format.infinity;
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
                               const FloatFormat &format,
                               const ConvertOptions &options) {
  constexpr unsigned kDoubleBits = 52;
  int exponent;
  double fraction = std::frexp(magnitude, &exponent);
  // magnitude = significand * 2^(exponent - 52), significand in [2^52, 2^53).
  auto significand = uint64_t(std::ldexp(fraction, int(kDoubleBits) + 1));
  exponent -= 1;
  int smallest = 1 - format.bias;
  unsigned drop = kDoubleBits - format.fractionBits;
  uint64_t base = 0;
  if (exponent >= smallest)
    base = uint64_t(exponent - smallest) << format.fractionBits;
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
  return encoded > format.largest ? overflow(format, negative, options)
                                  : encoded;
}

uint64_t fovea::ptx::convertFromDouble(double value, ElementType type,
                                       const ConvertOptions &options) {
  const FloatFormat &format = getFormat(type);
  if (std::isnan(value))
    // tf32 uses the NaN of f32, including the bits that tf32 lacks.
    return type == ElementType::TF32
               ? kCanonicalNaN
               : (format.nan ? format.nan : format.largest);
  bool negative = std::signbit(value);
  double magnitude = std::fabs(value);
  if (options.flushSubnormals && magnitude < 0x1p-126)
    magnitude = 0;
  if (options.relu && negative)
    magnitude = 0, negative = false;

  uint64_t encoded = 0;
  if (type == ElementType::UE8M0)
    encoded = convertToPower(magnitude, options);
  else if (std::isinf(magnitude))
    encoded = options.saturateFinite || !format.infinity ? format.largest
                                                         : format.infinity;
  else if (magnitude != 0)
    encoded = roundMagnitude(magnitude, negative, format, options);
  if (negative && format.isSigned)
    encoded |= uint64_t(1) << (format.exponentBits + format.fractionBits);
  return encoded << format.shift;
}

double fovea::ptx::convertToDouble(uint64_t bits, ElementType type) {
  const FloatFormat &format = getFormat(type);
  unsigned magnitudeBits = format.exponentBits + format.fractionBits;
  bits >>= format.shift;
  bool negative = format.isSigned && (bits >> magnitudeBits) & 1;
  uint64_t magnitude = bits & ((uint64_t(1) << magnitudeBits) - 1);
  // If the type has an infinity, all larger encodings are NaN.
  bool isNaN = format.infinity ? magnitude > format.infinity
                               : format.nan && magnitude == format.nan;
  double value;
  if (isNaN) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (format.infinity && magnitude == format.infinity) {
    value = std::numeric_limits<double>::infinity();
  } else if (type == ElementType::UE8M0) {
    value = std::ldexp(1.0, int(magnitude) - format.bias);
  } else {
    uint64_t exponent = magnitude >> format.fractionBits;
    uint64_t fraction = magnitude & ((uint64_t(1) << format.fractionBits) - 1);
    if (exponent)
      fraction |= uint64_t(1) << format.fractionBits;
    else
      exponent = 1;
    value = std::ldexp(double(fraction),
                       int(exponent) - format.bias - int(format.fractionBits));
  }
  return negative ? -value : value;
}

//===----------------------------------------------------------------------===//
// Fast forms
//===----------------------------------------------------------------------===//

float fovea::ptx::halfToFloat(uint16_t bits) {
  uint32_t shifted = uint32_t(bits & 0x7fff) << 13;
  uint32_t exponent = shifted & 0x0f800000;
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  if (exponent == 0x0f800000) // Infinity and NaN.
    return bitsToFloat(sign | (shifted + (uint32_t(255 - 31) << 23)));
  if (exponent == 0) {
    // As a fraction of 2^-14, minus 2^-14.
    float value = bitsToFloat(shifted + (uint32_t(113) << 23));
    return bitsToFloat(sign | floatToBits(value - 0x1p-14f));
  }
  return bitsToFloat(sign | (shifted + (uint32_t(127 - 15) << 23)));
}

uint16_t fovea::ptx::floatToHalf(float value) {
  uint32_t bits = floatToBits(value);
  uint32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return 0x7fff;
  if (magnitude >= 0x47800000) // 65536
    return sign | 0x7c00;
  if (magnitude < 0x38800000) { // 2^-14: the adder's rounding does the work.
    float shifted = bitsToFloat(magnitude) + 0.5f;
    return sign | (floatToBits(shifted) - floatToBits(0.5f));
  }
  uint32_t odd = (magnitude >> 13) & 1;
  // A carry past 65504 gives the encoding of infinity.
  return sign | ((magnitude - (uint32_t(127 - 15) << 23) + 0xfff + odd) >> 13);
}

uint16_t fovea::ptx::floatToBFloat(float value) {
  uint32_t bits = floatToBits(value);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fff;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

template <ElementType type>
static const auto &getTable() {
  static const auto table = [] {
    constexpr unsigned bits =
        type == ElementType::E2M1                                ? 4
        : type == ElementType::E2M3 || type == ElementType::E3M2 ? 6
                                                                 : 8;
    std::array<float, 1u << bits> values;
    for (unsigned index = 0; index < values.size(); ++index)
      values[index] = float(convertToDouble(index, type));
    return values;
  }();
  return table;
}

template <typename Storage, typename Function>
static void unpack(const uint8_t *source, size_t count, float *result,
                   Function convert) {
  for (size_t index = 0; index < count; ++index) {
    Storage value;
    std::memcpy(&value, source + index * sizeof(Storage), sizeof(Storage));
    result[index] = convert(value);
  }
}

template <ElementType type>
static void unpackBytes(const uint8_t *source, size_t count, float *result) {
  const auto &table = getTable<type>();
  for (size_t index = 0; index < count; ++index)
    result[index] = table[source[index]];
}

/// Unpacks elements of 4 and 6 bits, which may cross byte boundaries.
template <ElementType type, unsigned bits>
static void unpackBits(const uint8_t *source, size_t count, float *result) {
  const auto &table = getTable<type>();
  for (size_t index = 0; index < count; ++index) {
    size_t first = index * bits, byte = first / 8;
    unsigned value = source[byte] >> (first % 8);
    if (first % 8 + bits > 8)
      value |= unsigned(source[byte + 1]) << (8 - first % 8);
    result[index] = table[value & ((1u << bits) - 1)];
  }
}

void fovea::ptx::unpackToFloats(const void *source, ElementType type,
                                size_t count, float *result) {
  auto *bytes = static_cast<const uint8_t *>(source);
  switch (type) {
  case ElementType::F32:
    std::memcpy(result, source, count * sizeof(float));
    return;
  case ElementType::TF32:
    return unpack<uint32_t>(bytes, count, result, [](uint32_t value) {
      return bitsToFloat(value & 0xffffe000u);
    });
  case ElementType::F16:
    return unpack<uint16_t>(bytes, count, result, halfToFloat);
  case ElementType::BF16:
    return unpack<uint16_t>(bytes, count, result, bfloatToFloat);
  case ElementType::S16:
    return unpack<int16_t>(bytes, count, result,
                           [](int16_t value) { return float(value); });
  case ElementType::U16:
    return unpack<uint16_t>(bytes, count, result,
                            [](uint16_t value) { return float(value); });
  case ElementType::S8:
    return unpack<int8_t>(bytes, count, result,
                          [](int8_t value) { return float(value); });
  case ElementType::U8:
    return unpack<uint8_t>(bytes, count, result,
                           [](uint8_t value) { return float(value); });
  case ElementType::E4M3:
    return unpackBytes<ElementType::E4M3>(bytes, count, result);
  case ElementType::E5M2:
    return unpackBytes<ElementType::E5M2>(bytes, count, result);
  case ElementType::UE8M0:
    return unpackBytes<ElementType::UE8M0>(bytes, count, result);
  case ElementType::UE4M3:
    // The sign bit is ignored.
    return unpack<uint8_t>(bytes, count, result, [](uint8_t value) {
      return getTable<ElementType::UE4M3>()[value & 0x7f];
    });
  case ElementType::E2M3:
    return unpackBits<ElementType::E2M3, 6>(bytes, count, result);
  case ElementType::E3M2:
    return unpackBits<ElementType::E3M2, 6>(bytes, count, result);
  case ElementType::E2M1:
    return unpackBits<ElementType::E2M1, 4>(bytes, count, result);
  case ElementType::F64:
  case ElementType::S64:
  case ElementType::U64:
  case ElementType::S32:
  case ElementType::U32:
    llvm_unreachable("a float does not hold all values of the type");
  }
}

void fovea::ptx::unpackContainersToFloats(const void *source, ElementType type,
                                          size_t count, float *result) {
  auto *bytes = static_cast<const uint8_t *>(source);
  switch (type) {
  case ElementType::E2M3:
    return unpack<uint8_t>(bytes, count, result, [](uint8_t value) {
      return getTable<ElementType::E2M3>()[value & 0x3f];
    });
  case ElementType::E3M2:
    return unpack<uint8_t>(bytes, count, result, [](uint8_t value) {
      return getTable<ElementType::E3M2>()[value & 0x3f];
    });
  case ElementType::E2M1:
    return unpack<uint8_t>(bytes, count, result, [](uint8_t value) {
      return getTable<ElementType::E2M1>()[(value >> 2) & 0xf];
    });
  default:
    return unpackToFloats(source, type, count, result);
  }
}
