//===- ExactSum.h - Order-independent f32 sums ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Represents a sum of f32 as integers, one per 8 exponents (a bin). A summand
// is added to the bin of its exponent, as a multiple of the smallest value of
// the bin; integer sums do not depend on the order. This is a variant of
// Kulisch's long accumulator; see Collange, Defour, Graillat and Iakymchuk,
// "Numerical reproducibility for the parallel reduction on multi- and many-core
// architectures" (2015).
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_EXACTSUM_H
#define FOVEA_SUPPORT_EXACTSUM_H

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cstdint>

namespace fovea::exactsum {

/// Fraction bits of an f32.
inline constexpr int kFractionBits = 23;
/// The biased exponent of infinities and NaN.
inline constexpr int kSpecialExponent = 255;
/// A bin covers 2^3 exponents.
inline constexpr int kBinBits = 3;
/// Bins of finite summands. A bin is a signed 64-bit integer and a summand has
/// at most 31 bits, so a bin holds 2^32 summands without overflow.
inline constexpr int kFiniteBins = 256 >> kBinBits;
/// The bin of infinities and NaN: positive ones count 1, negative ones
/// `kNegative`, NaN both.
inline constexpr int kSpecialBin = kFiniteBins;
inline constexpr int kBins = kFiniteBins + 1;
inline constexpr int64_t kNegative = int64_t(1) << 32;

/// Returns e such that the integer 1 of finite bin `bin` represents 2^e.
constexpr int getUnitExponent(int bin) {
  constexpr int kBias = 127;
  return (bin << kBinBits) - kBias - kFractionBits;
}

struct Summand {
  int bin;
  int64_t value;
};

/// Returns the bin and the integer that represent `x`.
inline Summand split(float x) {
  uint32_t bits = llvm::bit_cast<uint32_t>(x);
  uint32_t fraction = bits & ((1u << kFractionBits) - 1);
  int exponent = bits >> kFractionBits & 255;
  bool isNegative = bits >> 31;
  if (exponent == kSpecialExponent)
    return {kSpecialBin, fraction ? 1 + kNegative : isNegative ? kNegative : 1};
  int64_t mantissa = exponent ? fraction | 1u << kFractionBits : fraction;
  exponent = std::max(exponent, 1);
  int64_t value = mantissa << (exponent & ((1 << kBinBits) - 1));
  return {exponent >> kBinBits, isNegative ? -value : value};
}

} // namespace fovea::exactsum

#endif // FOVEA_SUPPORT_EXACTSUM_H
