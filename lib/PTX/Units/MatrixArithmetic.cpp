//===- MatrixArithmetic.cpp - Products of small matrices --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Units/MatrixArithmetic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace fovea::ptx;
using Kind = AccumulationModel::Kind;

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static bool isEightBitFloat(ElementType type) {
  return type == ElementType::E4M3 || type == ElementType::E5M2;
}

AccumulationModel fovea::ptx::getGPUModel(MmaUnit unit, unsigned capability,
                                          ElementType operand) {
  AccumulationModel model;
  if (!isFloat(operand) || operand == ElementType::F64 || capability < 80)
    return model;
  model.kind = Kind::Aligned;
  model.minExponent = getMinExponent(getFloatFormat(operand));
  model.fractionBits = capability >= 90 ? 25 : 24;
  // Elements along k per step, as 256 bits: the whole instruction from Hopper
  // on, half of it before.
  unsigned whole = 256 / getBitWidth(operand);
  model.stepK = capability >= 90 ? 0 : whole / 2;
  bool coarse =
      isEightBitFloat(operand) && (capability == 89 || unit == MmaUnit::Wgmma);
  if (coarse)
    model.fractionBits = model.resultBits = 13;
  return model;
}

/// Upper bound of a model's error below the exact sum, in units of `largest`.
static double getModelError(const AccumulationModel &model, unsigned terms) {
  double result =
      std::ldexp(1.0, -int(model.resultBits) -
                          (model.rounding == Rounding::NearestEven ? 1 : 0));
  if (model.kind == Kind::Wide)
    return result + (terms + 1) * 0x1p-53;
  unsigned step = model.stepK ? model.stepK : terms;
  unsigned steps = (terms + step - 1) / step;
  return steps * result +
         (terms + steps) * std::ldexp(1.0, -int(model.fractionBits));
}

double fovea::ptx::getModelDistance(const AccumulationModel &first,
                                    const AccumulationModel &second,
                                    unsigned terms, double largest) {
  return largest * (getModelError(first, terms) + getModelError(second, terms));
}

//===----------------------------------------------------------------------===//
// Rounding of sums
//===----------------------------------------------------------------------===//

/// Rounds `value` to an f32 with `fractionBits` fraction bits.
static float roundSum(double value, Rounding rounding, unsigned fractionBits) {
  if (!(std::fabs(value) < 0x1p128)) {
    if (std::isnan(value))
      return bitsToFloat(kCanonicalNaN);
    return value > 0 ? std::numeric_limits<float>::infinity()
                     : -std::numeric_limits<float>::infinity();
  }
  if (rounding != Rounding::Zero)
    return float(value);
  auto rounded = float(value);
  uint32_t bits = floatToBits(rounded);
  // Rounding to nearest went too far: take the next value towards zero (the
  // largest finite value for infinity).
  if (std::fabs(double(rounded)) > std::fabs(value))
    --bits;
  return bitsToFloat(bits & ~((1u << (23 - fractionBits)) - 1));
}

static float roundToHalf(double value) {
  return halfToFloat(floatToHalf(roundToOdd(value)));
}

//===----------------------------------------------------------------------===//
// The wide model
//===----------------------------------------------------------------------===//

/// Adds the products of one row: sums[j] += a[x] * b[x * n + j] in order of x.
static void addProducts(unsigned n, unsigned k, const float *a, const double *b,
                        double *sums) {
  for (unsigned x = 0; x < k; ++x) {
    double factor = a[x];
    const double *row = b + size_t(x) * n;
    for (unsigned j = 0; j < n; ++j)
      sums[j] += factor * row[j];
  }
}

template <typename Function>
static void multiplyWide(ProductShape shape, const float *a, const float *b,
                         float *d, bool accumulate, Function round) {
  llvm::SmallVector<double, 0> wide(b, b + size_t(shape.k) * shape.n);
  llvm::SmallVector<double, 256> sums(shape.n);
  for (unsigned i = 0; i < shape.m; ++i) {
    llvm::fill(sums, 0.0);
    addProducts(shape.n, shape.k, a + size_t(i) * shape.k, wide.data(),
                sums.data());
    float *row = d + size_t(i) * shape.n;
    for (unsigned j = 0; j < shape.n; ++j)
      row[j] = round(accumulate ? sums[j] + double(row[j]) : sums[j]);
  }
}

//===----------------------------------------------------------------------===//
// The aligned model
//===----------------------------------------------------------------------===//

namespace {
/// significand * 2^(exponent - 23); the significand is below 2^24.
struct Split {
  int32_t significand;
  int32_t exponent;
};
} // namespace

static Split split(float value, int minExponent) {
  // Zeros do not affect the alignment of other products.
  constexpr int32_t kZeroExponent = -1000;
  if (value == 0)
    return {0, kZeroExponent};
  int exponent;
  double fraction = std::frexp(double(value), &exponent);
  int shown = std::max(exponent - 1, minExponent);
  auto significand = int32_t(std::ldexp(fraction, exponent - shown + 23));
  return {significand, shown};
}

/// value * 2^places, truncated towards zero.
static int64_t shiftTowardsZero(int64_t value, int places) {
  if (places >= 0)
    return value * (int64_t(1) << places);
  if (places <= -63)
    return 0;
  // An arithmetic shift rounds down; negative values need a correction.
  int64_t below = (int64_t(1) << -places) - 1;
  return (value + ((value >> 63) & below)) >> -places;
}

/// The sum of `start` and `count` products in the aligned model.
static double addAligned(const Split *a, const Split *b, size_t bStride,
                         unsigned count, float start,
                         const AccumulationModel &model) {
  constexpr int32_t kMinExponent = -126;
  Split first = split(start, kMinExponent);
  int32_t largest = std::max(first.exponent, kMinExponent);
  for (unsigned x = 0; x < count; ++x)
    largest = std::max(largest, a[x].exponent + b[x * bStride].exponent);
  int fraction = int(model.fractionBits);
  int64_t sum = shiftTowardsZero(first.significand,
                                 fraction - 23 + first.exponent - largest);
  for (unsigned x = 0; x < count; ++x) {
    const Split &left = a[x], &right = b[x * bStride];
    int64_t product = int64_t(left.significand) * right.significand;
    sum += shiftTowardsZero(product, fraction - 46 + left.exponent +
                                         right.exponent - largest);
  }
  return std::ldexp(double(sum), largest - fraction);
}

/// Infinities and NaNs follow a sum of doubles.
static bool isSpecial(const float *a, const float *b, size_t bStride,
                      unsigned count, float start, double *sum) {
  *sum = start;
  bool special = !std::isfinite(start);
  for (unsigned x = 0; x < count; ++x) {
    special |= !std::isfinite(a[x]) || !std::isfinite(b[x * bStride]);
    *sum += double(a[x]) * double(b[x * bStride]);
  }
  return special;
}

template <typename Function>
static void multiplyAligned(ProductShape shape, const float *a, const float *b,
                            float *d, bool accumulate,
                            const AccumulationModel &model, Function round) {
  size_t n = shape.n, k = shape.k;
  llvm::SmallVector<Split, 0> left(size_t(shape.m) * k), right(k * n);
  for (size_t index = 0; index < left.size(); ++index)
    left[index] =
        split(std::isfinite(a[index]) ? a[index] : 0, model.minExponent);
  for (size_t index = 0; index < right.size(); ++index)
    right[index] =
        split(std::isfinite(b[index]) ? b[index] : 0, model.minExponent);
  bool finite = std::all_of(a, a + left.size(),
                            [](float v) { return std::isfinite(v); }) &&
                std::all_of(b, b + right.size(),
                            [](float v) { return std::isfinite(v); });
  size_t step = model.stepK ? model.stepK : k;
  for (size_t i = 0; i < shape.m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      float sum = accumulate ? d[i * n + j] : 0;
      for (size_t x = 0; x < k; x += step) {
        auto count = unsigned(std::min(step, k - x));
        double exact;
        if ((!finite || !std::isfinite(sum)) &&
            isSpecial(a + i * k + x, b + x * n + j, n, count, sum, &exact))
          sum = round(exact);
        else
          sum = round(addAligned(&left[i * k + x], &right[x * n + j], n, count,
                                 sum, model));
      }
      d[i * n + j] = sum;
    }
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

template <typename Function>
static void multiply(ProductShape shape, const float *a, const float *b,
                     float *d, bool accumulate, const AccumulationModel &model,
                     Function round) {
  if (model.kind == Kind::Wide)
    multiplyWide(shape, a, b, d, accumulate, round);
  else
    multiplyAligned(shape, a, b, d, accumulate, model, round);
}

void fovea::ptx::multiplyFloats(ProductShape shape, const float *a,
                                const float *b, float *d, bool accumulate,
                                const AccumulationModel &model) {
  multiply(shape, a, b, d, accumulate, model, [&](double sum) {
    return roundSum(sum, model.rounding, model.resultBits);
  });
}

void fovea::ptx::multiplyFloatsToHalf(ProductShape shape, const float *a,
                                      const float *b, float *d, bool accumulate,
                                      const AccumulationModel &model) {
  multiply(shape, a, b, d, accumulate, model, roundToHalf);
}

void fovea::ptx::multiplyDoubles(ProductShape shape, const double *a,
                                 const double *b, double *d, bool accumulate) {
  for (size_t i = 0; i < shape.m; ++i)
    for (size_t j = 0; j < shape.n; ++j) {
      double sum = accumulate ? d[i * shape.n + j] : 0;
      for (size_t x = 0; x < shape.k; ++x)
        sum = std::fma(a[i * shape.k + x], b[x * shape.n + j], sum);
      d[i * shape.n + j] = sum;
    }
}

void fovea::ptx::multiplyIntegers(ProductShape shape, const int32_t *a,
                                  const int32_t *b, int32_t *d, bool accumulate,
                                  bool saturate) {
  llvm::SmallVector<int64_t, 256> sums(shape.n);
  for (size_t i = 0; i < shape.m; ++i) {
    int32_t *row = d + i * shape.n;
    for (size_t j = 0; j < shape.n; ++j)
      sums[j] = accumulate ? row[j] : 0;
    for (size_t x = 0; x < shape.k; ++x) {
      int64_t factor = a[i * shape.k + x];
      for (size_t j = 0; j < shape.n; ++j)
        sums[j] += factor * b[x * shape.n + j];
    }
    for (size_t j = 0; j < shape.n; ++j) {
      int64_t sum = sums[j];
      if (saturate)
        sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      row[j] = int32_t(uint32_t(uint64_t(sum)));
    }
  }
}

void fovea::ptx::scaleRows(unsigned rows, unsigned k, unsigned chunks,
                           const float *scales, float *a) {
  unsigned length = k / chunks;
  for (size_t i = 0; i < rows; ++i)
    for (size_t x = 0; x < k; ++x)
      a[i * k + x] *= scales[i * chunks + x / length];
}

void fovea::ptx::scaleColumns(unsigned n, unsigned k, unsigned chunks,
                              const float *scales, float *b) {
  unsigned length = k / chunks;
  for (size_t x = 0; x < k; ++x)
    for (size_t j = 0; j < n; ++j)
      b[x * n + j] *= scales[(x / length) * n + j];
}
