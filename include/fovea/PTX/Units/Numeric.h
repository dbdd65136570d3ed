//===- Numeric.h - Numbers as PTX's types hold them -------------*- C++ -*-===//
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

/// Types of elements that matrix and tensor units take, give or scale by.
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

/// Bits that hold a value: 32 for tf32 (19 of them count), 6 for e2m3.
unsigned getBitWidth(ElementType type);

/// Without the '.': "f16", "e4m3", "ue8m0", "s8".
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
  /// .satfinite: what is too large, infinity too, becomes the largest finite
  /// value. Types without infinity always do that.
  bool saturateFinite = false;
  /// .relu: negative values, and -0, become +0. NaN stays NaN.
  bool relu = false;
  /// .ftz: subnormal f32 inputs count as zero of their sign.
  bool flushSubnormals = false;
  /// For .rs: the lowest `randomWidth` bits are added to the discarded bits of
  /// the fraction, both with their highest bits at the same place; a carry
  /// rounds away from zero. The ISA gives 13 bits for f16, 8 for e2m1, 16 for
  /// the others.
  uint32_t randomBits = 0;
  unsigned randomWidth = 16;
};

/// The bits of `value` as `type`, which must be a float type, in the lowest
/// getBitWidth(type) bits. Every f16, bf16 and f32 is a double without
/// rounding: there is one rounding, this one.
///
/// NaN becomes the type's canonical NaN: all exponent and fraction bits set,
/// positive (0x7fff for f16 and bf16, 0x7fffffff for tf32 and f32, 0x7f for
/// e4m3 and e5m2, 0xff for ue8m0); types without NaN take their largest value.
uint64_t convertFromDouble(double value, ElementType type,
                           const ConvertOptions &options = {});

/// The value of `bits` as `type`, exactly. Higher bits are ignored, and so are
/// the 13 low bits of a tf32.
double convertToDouble(uint64_t bits, ElementType type);

//===----------------------------------------------------------------------===//
// Fast forms
//===----------------------------------------------------------------------===//

inline float bitsToFloat(uint32_t bits) { return llvm::bit_cast<float>(bits); }
inline uint32_t floatToBits(float value) {
  return llvm::bit_cast<uint32_t>(value);
}

inline constexpr uint32_t kCanonicalNaN = 0x7fffffffu;

/// NaN becomes the canonical NaN; all else stays.
inline float canonicalize(float value) {
  return value == value ? value : bitsToFloat(kCanonicalNaN);
}

/// .ftz: subnormal numbers become zero of their sign.
inline float flushSubnormal(float value) {
  uint32_t bits = floatToBits(value);
  return (bits & 0x7f800000u) ? value : bitsToFloat(bits & 0x80000000u);
}

/// The value that matrix units read of a .tf32 register: 13 bits are ignored.
inline float truncateToTF32(float value) {
  return bitsToFloat(floatToBits(value) & 0xffffe000u);
}

/// Exact. NaN keeps its payload's high bits.
float halfToFloat(uint16_t bits);
inline float bfloatToFloat(uint16_t bits) {
  return bitsToFloat(uint32_t(bits) << 16);
}

/// Rounded to nearest even, NaN canonical, too large is infinity.
uint16_t floatToHalf(float value);
uint16_t floatToBFloat(float value);

/// `count` elements of `type` at `source`, packed without gaps from the lowest
/// bits of the first byte on, as floats: exact for all types of at most 16
/// bits. Of tf32 the low 13 bits are dropped; s32, u32 and f64 are not taken
/// (asserted).
void unpackToFloats(const void *source, ElementType type, size_t count,
                    float *result);

/// As above, but elements of 4 and 6 bits have a byte each, as in the registers
/// of mma.sync and in tensor memory for the f8f6f4 kinds: 6 bits in the low
/// bits, 4 bits two places up (0b00SEEM00).
void unpackContainersToFloats(const void *source, ElementType type,
                              size_t count, float *result);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_NUMERIC_H
