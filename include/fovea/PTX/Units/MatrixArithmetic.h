//===- MatrixArithmetic.h - Products of small matrices ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The ISA does not specify the order of additions or the precision of
// intermediate results of a matrix instruction. Two models are provided. Both
// are exact if every partial sum is representable in the accumulator's type
// (small integers); they then agree with each other and with GPUs.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_UNITS_MATRIXARITHMETIC_H
#define FOVEA_PTX_UNITS_MATRIXARITHMETIC_H

#include "fovea/PTX/Units/Numeric.h"

namespace fovea::ptx {

/// Determines how an instruction adds its products and the accumulator.
struct AccumulationModel {
  enum class Kind : uint8_t {
    /// Adds all products of the instruction in f64 in order of k, then the
    /// accumulator, and rounds once by `rounding`.
    Wide,
    /// Aligns the products of `stepK` elements and the accumulator to the
    /// largest exponent among them, truncates them to `fractionBits` fraction
    /// bits, adds them exactly, and rounds the sum by `rounding`; steps follow
    /// in order of k. GPUs behave like this.
    Aligned,
  };
  Kind kind = Kind::Wide;
  Rounding rounding = Rounding::Zero;
  unsigned stepK = 0;
  unsigned fractionBits = 0;
  /// Fraction bits of the sum: 23 for f32.
  unsigned resultBits = 23;
  /// Aligned: the smallest exponent of the operands' type, also used for
  /// subnormal operands.
  int minExponent = -126;

  static AccumulationModel getWide() { return {}; }
};

/// The instruction that multiplies; precision depends on it and on the GPU
/// generation.
enum class MmaUnit : uint8_t { MmaSync, Wgmma, Tcgen05 };

/// The model that published measurements of a GPU support. `capability` is 80,
/// 89, 90, 100 or 120; `operand` is the type of A (B has the same precision).
/// Wide if nothing is known.
AccumulationModel getGPUModel(MmaUnit unit, unsigned capability,
                              ElementType operand);

/// An upper bound of the difference between two models in one element of one
/// instruction with `terms` products, if `largest` bounds the magnitudes of the
/// products, the accumulator and all partial sums.
double getModelDistance(const AccumulationModel &first,
                        const AccumulationModel &second, unsigned terms,
                        double largest);

/// The shape of one instruction: M rows, N columns.
struct ProductShape {
  unsigned m, n, k;
};

/// d[i * n + j] = sum over x of a[i * k + x] * b[x * n + j], plus d[i * n + j]
/// if `accumulate`, with f32 accumulators. a and b hold the narrow operands
/// converted to f32. NaN results are canonical; subnormal results are kept.
void multiplyFloats(ProductShape shape, const float *a, const float *b,
                    float *d, bool accumulate,
                    const AccumulationModel &model = {});

/// multiplyFloats with f16 accumulators, stored as f32: each result is rounded
/// to f16, to nearest even.
void multiplyFloatsToHalf(ProductShape shape, const float *a, const float *b,
                          float *d, bool accumulate,
                          const AccumulationModel &model = {});

/// f64 operands and accumulators: a chain of fused multiply-adds in order of k,
/// rounded to nearest even.
void multiplyDoubles(ProductShape shape, const double *a, const double *b,
                     double *d, bool accumulate);

/// Integers of at most 8 bits with s32 accumulators: wraps around or, with
/// `saturate`, clamps the exact sum once.
void multiplyIntegers(ProductShape shape, const int32_t *a, const int32_t *b,
                      int32_t *d, bool accumulate, bool saturate);

/// Applies the block scales of the mx kinds: multiplies a[i * k + x] in place
/// by scales[i * chunks + x / (k / chunks)]; k is a multiple of chunks. Exact
/// in f32 unless an exponent is out of range.
void scaleRows(unsigned rows, unsigned k, unsigned chunks, const float *scales,
               float *a);
/// scaleRows for columns: b[x * n + j] by scales[(x / (k / chunks)) * n + j].
void scaleColumns(unsigned n, unsigned k, unsigned chunks, const float *scales,
                  float *b);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_MATRIXARITHMETIC_H
