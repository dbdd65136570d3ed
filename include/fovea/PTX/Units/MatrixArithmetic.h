//===- MatrixArithmetic.h - Products of small matrices ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The ISA leaves open how a matrix unit adds: order, and precision of what is
// in between. Two models are offered. Both are exact where every partial sum
// is a value of the accumulator's type (integers that are small enough), and
// hence agree with each other and with chips there.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_UNITS_MATRIXARITHMETIC_H
#define FOVEA_PTX_UNITS_MATRIXARITHMETIC_H

#include "fovea/PTX/Units/Numeric.h"

namespace fovea::ptx {

/// How one instruction adds its products and the accumulator.
struct AccumulationModel {
  enum class Kind : uint8_t {
    /// All products of the instruction and the accumulator in f64, in order of
    /// k, the accumulator last; then rounded once, by `rounding`.
    Wide,
    /// Products and accumulator of `stepK` elements are aligned to the largest
    /// exponent among them, cut off (towards zero) below `fractionBits` bits
    /// after that exponent's, added exactly, and the sum is rounded by
    /// `rounding`; steps follow one another. Chips behave like that.
    Aligned,
  };
  Kind kind = Kind::Wide;
  Rounding rounding = Rounding::Zero;
  unsigned stepK = 0;
  unsigned fractionBits = 0;
  /// Fraction bits that the sum keeps: 23 for all of an f32.
  unsigned resultBits = 23;
  /// Aligned: the smallest exponent of the operands' type. Subnormal operands
  /// count as having it.
  int minExponent = -126;

  static AccumulationModel getWide() { return {}; }
};

/// Which instruction multiplies: generations differ, and within them these do.
enum class MatrixUnit : uint8_t { MmaSync, Wgmma, Tcgen05 };

/// What published measurements say of chips: `capability` is 80, 89, 90, 100 or
/// 120, the operands' type that of A (both have the same precision). Wide where
/// nothing is known.
AccumulationModel getChipModel(MatrixUnit unit, unsigned capability,
                               ElementType operand);

/// The most by which two models can differ in one element of one instruction
/// that adds `terms` products, where `largest` bounds the magnitudes of
/// products, accumulator and all partial sums.
double getModelDistance(const AccumulationModel &first,
                        const AccumulationModel &second, unsigned terms,
                        double largest);

/// A matrix product of one instruction: M rows, N columns.
struct ProductShape {
  unsigned m, n, k;
};

/// d[i * n + j] = sum over x of a[i * k + x] * b[x * n + j], plus d[i * n + j]
/// if `accumulate`: f32 accumulators. The values of a and b are those of the
/// operands' narrow types, widened. Results are canonical NaNs or numbers;
/// subnormal numbers are kept.
void multiplyFloats(ProductShape shape, const float *a, const float *b,
                    float *d, bool accumulate,
                    const AccumulationModel &model = {});

/// As above with f16 accumulators, held as floats: each result is rounded to
/// f16, to nearest even.
void multiplyFloatsToHalf(ProductShape shape, const float *a, const float *b,
                          float *d, bool accumulate,
                          const AccumulationModel &model = {});

/// f64 operands and accumulators: a chain of fused multiply-adds in order of k,
/// rounded to nearest even.
void multiplyDoubles(ProductShape shape, const double *a, const double *b,
                     double *d, bool accumulate);

/// 8-bit (or narrower) integers in s32: wraps around, or with `saturate` is
/// clamped once, from the exact sum.
void multiplyIntegers(ProductShape shape, const int32_t *a, const int32_t *b,
                      int32_t *d, bool accumulate, bool saturate);

/// Block scales of the mx kinds: multiplies a[i * k + x] in place by
/// scales[i * chunks + x / (k / chunks)]; k is a multiple of chunks. Exact in
/// f32 but for exponents out of its range.
void scaleRows(unsigned rows, unsigned k, unsigned chunks, const float *scales,
               float *a);
/// The same for columns: b[x * n + j] by scales[(x / (k / chunks)) * n + j].
void scaleColumns(unsigned n, unsigned k, unsigned chunks, const float *scales,
                  float *b);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_MATRIXARITHMETIC_H
