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

  static AccumulationModel getWide() { return {}; }
};

/// What is known of chips of one generation from published measurements:
/// compute capability 80, 89, 90, 100. None where nothing is known: then Wide.
AccumulationModel getChipModel(unsigned capability, ElementType operand);

/// The most that chips and the Wide model can differ in one element of one
/// instruction: `terms` products of magnitude at most `largest`, which also
/// bounds the accumulator's and the sum's magnitudes.
double getAccumulationBound(ElementType operand, unsigned capability,
                            unsigned terms, double largest);

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

/// f64 operands and accumulators: a chain of fused multiply-adds in order of k.
void multiplyDoubles(ProductShape shape, const double *a, const double *b,
                     double *d, bool accumulate,
                     Rounding rounding = Rounding::NearestEven);

/// 8-bit (or narrower) integers in s32: wraps around, or with `saturate` is
/// clamped once, from the exact sum.
void multiplyIntegers(ProductShape shape, const int32_t *a, const int32_t *b,
                      int32_t *d, bool accumulate, bool saturate);

/// Block scales of the mx kinds: multiplies a[i * k + x] in place by
/// scales[i * chunks + x / (k / chunks)]. Exact in f32 but for exponents out
/// of its range; k is a multiple of chunks.
void scaleRows(unsigned rows, unsigned k, unsigned chunks, const float *scales,
               float *a);
/// The same for columns: b[x * n + j] by scales[(x / (k / chunks)) * n + j].
void scaleColumns(unsigned n, unsigned k, unsigned chunks, const float *scales,
                  float *b);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_MATRIXARITHMETIC_H
