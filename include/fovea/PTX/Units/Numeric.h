//===- Numeric.h - Numeric formats of PTX -----------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_UNITS_NUMERIC_H
#define FOVEA_PTX_UNITS_NUMERIC_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/bit.h"

#include <cstddef>
#include <cstdint>

namespace fovea::ptx {

/// Element types of operands, results and scales of matrix and tensor
/// instructions.
enum class ElementType : uint8_t {
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
  S64,
  U64,
  S32,
  U32,
  S16,
  U16,
  S8,
  U8,
};

/// Width of a value in bits: 32 for tf32 (19 are significant), 6 for e2m3.
unsigned getBitWidth(ElementType type);

/// The name without the '.': "f16", "e4m3", "ue8m0", "s8".
llvm::StringRef getName(ElementType type);
bool isFloat(ElementType type);

//===----------------------------------------------------------------------===//
// Conversions to narrow floats
//===----------------------------------------------------------------------===//

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
  /// largest finite value. Types without infinity always saturate.
  bool saturateFinite = false;
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

/// Converts `value` to the float type `type`; the result is in the lowest
/// getBitWidth(type) bits. f16, bf16 and f32 convert to double exactly, so this
/// is the only rounding.
///
/// NaN becomes the type's canonical NaN: all exponent and fraction bits set,
/// positive (0x7fff for f16 and bf16, 0x7fffffff for tf32 and f32, 0x7f for
/// e4m3 and e5m2, 0xff for ue8m0). Types without NaN take their largest value.
uint64_t convertFromDouble(double value, ElementType type,
                           const ConvertOptions &options = {});

/// The exact value of `bits` as `type`. Higher bits are ignored, and so are the
/// 13 low bits of a tf32.
double convertToDouble(uint64_t bits, ElementType type);

//===----------------------------------------------------------------------===//
// Fast forms
//===----------------------------------------------------------------------===//

inline float bitsToFloat(uint32_t bits) { return llvm::bit_cast<float>(bits); }
inline uint32_t floatToBits(float value) {
  return llvm::bit_cast<uint32_t>(value);
}

inline constexpr uint32_t kCanonicalNaN = 0x7fffffffu;

/// Replaces NaN by the canonical NaN.
inline float canonicalize(float value) {
  return value == value ? value : bitsToFloat(kCanonicalNaN);
}

/// .ftz: subnormal values become zero with the same sign.
inline float flushSubnormal(float value) {
  uint32_t bits = floatToBits(value);
  return (bits & 0x7f800000u) ? value : bitsToFloat(bits & 0x80000000u);
}

/// The smaller or the larger one; -0 is less than +0. A number is preferred to
/// a NaN, except with `nan`; the result is canonical.
template <bool largest, bool nan>
inline float pickFloat(float a, float b) {
  uint32_t x = floatToBits(a), y = floatToBits(b);
  // Compares the bits in the total order of signed integers.
  int32_t i = int32_t(x ^ (uint32_t(int32_t(x) >> 31) >> 1));
  int32_t j = int32_t(y ^ (uint32_t(int32_t(y) >> 31) >> 1));
  float best = (i < j) != largest ? a : b;
  bool aNaN = a != a, bNaN = b != b;
  if (nan)
    return (aNaN | bNaN) ? bitsToFloat(kCanonicalNaN) : best;
  best = aNaN ? b : bNaN ? a : best;
  return canonicalize(best);
}

/// The value of a .tf32 register in a matrix instruction: 13 bits are ignored.
inline float truncateToTF32(float value) {
  return bitsToFloat(floatToBits(value) & 0xffffe000u);
}

/// Exact. NaN keeps the high bits of its payload.
float halfToFloat(uint16_t bits);
inline float bfloatToFloat(uint16_t bits) {
  return bitsToFloat(uint32_t(bits) << 16);
}

/// Rounds to nearest even; NaN becomes canonical; overflow gives infinity.
uint16_t floatToHalf(float value);
uint16_t floatToBFloat(float value);

/// Converts `count` elements of `type` at `source`, packed without gaps from
/// the lowest bits of the first byte, to f32: exact for all types of at most 16
/// bits. The low 13 bits of tf32 are dropped. s32, u32 and f64 are not
/// supported (asserted).
void unpackToFloats(const void *source, ElementType type, size_t count,
                    float *result);

/// unpackToFloats for 4-bit and 6-bit elements in one byte each, as in
/// registers of mma.sync and in tensor memory for the f8f6f4 kinds: 6-bit
/// elements in the low bits, 4-bit elements shifted by two (0b00SEEM00).
void unpackContainersToFloats(const void *source, ElementType type,
                              size_t count, float *result);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_NUMERIC_H
