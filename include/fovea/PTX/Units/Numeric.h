//===- Numeric.h - Numeric formats of PTX -----------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_UNITS_NUMERIC_H
#define FOVEA_PTX_UNITS_NUMERIC_H

#include "fovea/Support/NarrowFloats.h"

#include "llvm/ADT/StringRef.h"

#include <cassert>
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
// Floats
//===----------------------------------------------------------------------===//

using fovea::bfloatToFloat;
using fovea::bitsToFloat;
using fovea::ConvertOptions;
using fovea::floatToBFloat;
using fovea::floatToBits;
using fovea::floatToHalf;
using fovea::halfToFloat;
using fovea::kCanonicalNaN;
using fovea::Rounding;
using fovea::roundToOdd;

static_assert(unsigned(ElementType::F64) == unsigned(FloatFormat::F64) &&
              unsigned(ElementType::UE4M3) == unsigned(FloatFormat::UE4M3));

/// The format of a float type.
inline FloatFormat getFloatFormat(ElementType type) {
  assert(isFloat(type) && "not a float");
  return FloatFormat(type);
}

/// encodeFloat and decodeFloat for element types.
inline uint64_t convertFromDouble(double value, ElementType type,
                                  const ConvertOptions &options = {}) {
  return encodeFloat(value, getFloatFormat(type), options);
}
inline double convertToDouble(uint64_t bits, ElementType type) {
  return decodeFloat(bits, getFloatFormat(type));
}

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
