//===- NarrowFloats.h - Conversions between float formats -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between f64 and narrower floats, with PTX's rules for rounding,
// saturation and NaN. The interpreter and the PTX emulator share them. Does not
// use MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_NARROWFLOATS_H
#define FOVEA_SUPPORT_NARROWFLOATS_H

#include "llvm/ADT/bit.h"

#include <cstdint>

namespace fovea {

/// The float formats of PTX.
enum class FloatFormat : uint8_t {
  F64,
  F32,
  TF32,
  F16,
  BF16,
  E4M3,
  E5M2,
  E2M3,
  E3M2,
  E2M1,
  UE8M0,
  UE4M3,
};

/// Bits of the significand, including the hidden one.
unsigned getPrecisionBits(FloatFormat format);

/// Exponent of the smallest normal number.
int getMinExponent(FloatFormat format);

/// .rn, .rz, .rm, .rp, .rna, .rs.
enum class Rounding : uint8_t {
  NearestEven,
  Zero,
  Down,
  Up,
  NearestAway,
  Stochastic,
};

struct ConvertOptions {
  Rounding rounding = Rounding::NearestEven;
  /// .satfinite: values that are too large, including infinity, become the
  /// largest finite value. Formats without infinity always saturate, unless
  /// `overflowToNaN`.
  bool saturateFinite = false;
  /// MLIR's rule: values that are too large, including infinity, become NaN in
  /// formats that have NaN but no infinity.
  bool overflowToNaN = false;
  /// .relu: negative values, and -0, become +0. NaN stays NaN.
  bool relu = false;
  /// .ftz: subnormal f32 inputs become zero with the same sign.
  bool flushSubnormals = false;
  /// For .rs: the lowest `randomWidth` bits are added to the discarded bits of
  /// the fraction, aligned at the highest bit; a carry rounds away from zero.
  /// The ISA specifies 13 bits for f16, 8 for e2m1, 16 for the others.
  uint32_t randomBits = 0;
  unsigned randomWidth = 16;
};

/// Converts `value` to `format`; the result is in the lowest bits. f16, bf16
/// and f32 convert to double exactly, so this is the only rounding.
///
/// NaN becomes the format's canonical NaN: all exponent and fraction bits set,
/// positive (0x7fff for f16 and bf16, 0x7fffffff for tf32 and f32, 0x7f for
/// e4m3 and e5m2, 0xff for ue8m0). Formats without NaN take their largest
/// value.
uint64_t encodeFloat(double value, FloatFormat format,
                     const ConvertOptions &options = {});

/// The exact value of `bits` as `format`. Higher bits are ignored, and so are
/// the 13 low bits of a tf32.
double decodeFloat(uint64_t bits, FloatFormat format);

//===----------------------------------------------------------------------===//
// Fast forms
//===----------------------------------------------------------------------===//

inline float bitsToFloat(uint32_t bits) { return llvm::bit_cast<float>(bits); }
inline uint32_t floatToBits(float value) {
  return llvm::bit_cast<uint32_t>(value);
}

inline constexpr uint32_t kCanonicalNaN = 0x7fffffffu;

/// Exact. NaN keeps the high bits of its payload.
inline float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) // Infinity and NaN.
    return bitsToFloat(sign | 0x7f800000 | ((magnitude & 0x3ff) << 13));
  if (magnitude < 0x400) {
    float value = float(magnitude) * 0x1p-24f;
    return sign ? -value : value;
  }
  return bitsToFloat(sign | ((magnitude << 13) + (uint32_t(127 - 15) << 23)));
}
inline float bfloatToFloat(uint16_t bits) {
  return bitsToFloat(uint32_t(bits) << 16);
}

/// Rounds to nearest even; NaN becomes canonical; overflow gives infinity.
inline uint16_t floatToHalf(float value) {
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
inline uint16_t floatToBFloat(float value) {
  uint32_t bits = floatToBits(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded;
}

/// Rounds to odd, so that a second rounding to f16 or bf16 gives the result of
/// a single one: an inexact result gets an odd last bit.
float roundToOdd(double value);
inline float roundToOdd(float value) { return value; }

} // namespace fovea

#endif // FOVEA_SUPPORT_NARROWFLOATS_H
