//===- ExactSum.h - Sums that no order of summands changes ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of f32 as integers, one for every 8 exponents (a bin). A summand is
// added to the bin of its exponent, as a multiple of the smallest number that
// the bin has; integers have the same sum in any order. The idea is Kulisch's
// long accumulator; see Collange, Defour, Graillat and Iakymchuk, "Numerical
// reproducibility for the parallel reduction on multi- and many-core
// architectures" (2015).
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_EXACTSUM_H
#define FOVEA_SUPPORT_EXACTSUM_H

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <cstdint>

namespace fovea::exactsum {

/// An f32 has so many bits below its exponent.
inline constexpr int kFractionBits = 23;
/// The exponent, as f32 stores it, of infinities and NaN.
inline constexpr int kSpecialExponent = 255;
/// A bin has 2^3 exponents.
inline constexpr int kBinBits = 3;
/// Bins of finite summands. A bin's integer is 63 bits and a sign, a summand
/// at most 31 bits: 2^32 of them fit.
inline constexpr int kFiniteBins = 256 >> kBinBits;
/// The bin of infinities and NaN: positive ones count 1, negative ones
/// `kNegative`, NaN both.
inline constexpr int kSpecialBin = kFiniteBins;
inline constexpr int kBins = kFiniteBins + 1;
inline constexpr int64_t kNegative = int64_t(1) << 32;

/// What the integer 1 of finite bin `bin` stands for is 2 to the power of this.
constexpr int getUnitExponent(int bin) {
  constexpr int kBias = 127;
  return (bin << kBinBits) - kBias - kFractionBits;
}

struct Summand {
  int bin;
  int64_t value;
};

/// Where `x` is added, and what.
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
