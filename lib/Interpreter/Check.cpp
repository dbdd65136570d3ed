//===- Check.cpp - Checks of outputs ----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares outputs with the exact evaluation row by row, and the mean error
// with that of an evaluation in the program's types.
//
//===----------------------------------------------------------------------===//

#include "fovea/Interpreter/Check.h"

#include "TileSupport.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace fovea::interp;

static SmallVector<double, 0> toDoubles(const Array &array) {
  SmallVector<double, 0> result(array.getNumElements());
  withStorage(array.getStorage(), [&](auto like) {
    std::copy_n(array.data<decltype(like)>(), result.size(), result.begin());
  });
  return result;
}

static SmallVector<double, 0> toDoubles(const HostTensor &tensor) {
  SmallVector<double, 0> result(tensor.getNumElements());
  readElements(tensor.getKind(), tensor.data(), 1, result.size(),
               result.data());
  return result;
}

/// True if both are numbers, both are NaN, or both are the same infinity.
static bool agreeInPlace(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b))
    return a == b;
  return true;
}

/// The resolution of the coarser of two types at `magnitude`. Kernels flush
/// numbers below the smallest normal f32 to 0.
static double getResolution(ElementKind output, ElementKind weights,
                            double magnitude) {
  double least = std::ldexp(1.0, getMinExponent(ElementKind::F32));
  double relative = std::ldexp(1.0, 1 - int(getPrecisionBits(weights)));
  return std::max({ulpAt(output, magnitude), magnitude * relative, least});
}

namespace {
/// Compares the mean error with the straightforward evaluation's, which reveals
/// errors that are small in each row but systematic.
class MeanError {
public:
  explicit MeanError(double factor) : factor(factor) {}

  /// Adds a row, whose errors are in units of its resolution. Rows with equal
  /// errors, for example due to equal probabilities, count as one observation.
  void add(double error, double straightforward) {
    if (!seen.insert({error, straightforward}).second)
      return;
    ++rows;
    errors += error;
    plainErrors += straightforward;
    double excess = error - factor * straightforward;
    sum += excess;
    squares += excess * excess;
  }
  /// The ratio of the mean error to the straightforward one.
  double getRatio() const {
    return plainErrors > 0 ? errors / plainErrors : 0.0;
  }
  /// Few rows are inconclusive. For more rows the mean may exceed the factor by
  /// as much as chance explains.
  bool isAcceptable() const {
    if (rows < kLeastRows)
      return true;
    double mean = sum / rows;
    double variance = std::max(0.0, squares / rows - mean * mean);
    return mean <= kDeviations * std::sqrt(variance / rows) + kAbsolute;
  }

private:
  static constexpr int64_t kLeastRows = 64;
  static constexpr double kDeviations = 4, kAbsolute = 0.01;

  double factor;

  std::set<std::pair<double, double>> seen;
  int64_t rows = 0;
  double errors = 0, plainErrors = 0, sum = 0, squares = 0;
};
} // namespace

double fovea::interp::getLeastStep(ElementKind kind) {
  return std::ldexp(1.0,
                    getMinExponent(kind) + 1 - int(getPrecisionBits(kind)));
}

OutputCheck fovea::interp::checkRows(const HostTensor &found,
                                     const Array &meaning,
                                     const Array &straightforward,
                                     ElementKind weights, double allowance,
                                     MayBeNaN mayBeNaN) {
  OutputCheck check;
  MeanError average(kMeanFactor);
  auto got = toDoubles(found), means = toDoubles(meaning),
       plain = toDoubles(straightforward);
  int64_t columns = found.getShape().empty() ? 1 : found.getShape().back();
  check.rows = columns ? int64_t(got.size()) / columns : 0;
  for (int64_t row = 0; row < check.rows; ++row) {
    double error = 0, plainError = 0, magnitude = 0, worst = 0;
    int64_t misplaced = 0;
    bool overflows = false;
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i) {
      // The exact result in the output's type: infinite if too large.
      double expected = roundTo(found.getKind(), means[i]);
      if (!std::isfinite(expected) || !std::isfinite(got[i])) {
        bool allowed = std::isnan(got[i]) && mayBeNaN(i);
        misplaced += !agreeInPlace(got[i], expected) && !allowed;
        overflows |= !agreeInPlace(plain[i], expected);
        continue;
      }
      overflows |= !std::isfinite(plain[i]);
      double difference = got[i] - means[i],
             plainDifference = plain[i] - means[i];
      error += difference * difference;
      plainError += plainDifference * plainDifference;
      magnitude = std::max(magnitude, std::fabs(means[i]));
      worst = std::max(worst, std::fabs(difference));
    }
    if (overflows) {
      ++check.skippedRows;
      continue;
    }
    double unit = getResolution(found.getKind(), weights, magnitude) *
                  std::sqrt(double(columns));
    double bound = 3 * std::sqrt(plainError) + 2 * unit + allowance;
    double least = unit + allowance;
    average.add(std::sqrt(error) / least, std::sqrt(plainError) / least);
    double ratio = std::sqrt(error) / bound;
    check.misplaced += misplaced;
    check.maxAbsolute = std::max(check.maxAbsolute, worst);
    if (magnitude > 0)
      check.maxRelative = std::max(check.maxRelative, worst / magnitude);
    if (ratio > check.worstRatio || check.worstRow < 0) {
      check.worstRatio = ratio;
      check.worstRow = row;
    }
  }
  check.meanRatio = average.getRatio();
  check.isMeanAcceptable = average.isAcceptable();
  check.passed =
      check.worstRatio <= 1 && check.misplaced == 0 && check.isMeanAcceptable;
  return check;
}

OutputCheck fovea::interp::checkLogSumExp(const HostTensor &found,
                                          const Array &meaning) {
  OutputCheck check;
  auto got = toDoubles(found), means = toDoubles(meaning);
  check.rows = got.size();
  for (int64_t row = 0; row < check.rows; ++row) {
    double expected = roundTo(found.getKind(), means[row]);
    if (!std::isfinite(expected) || !std::isfinite(got[row])) {
      check.misplaced += !agreeInPlace(got[row], expected);
      continue;
    }
    double error = std::fabs(got[row] - means[row]);
    double ratio = error / (1e-3 + 1e-6 * std::fabs(means[row]));
    check.maxAbsolute = std::max(check.maxAbsolute, error);
    if (means[row] != 0)
      check.maxRelative =
          std::max(check.maxRelative, error / std::fabs(means[row]));
    if (ratio > check.worstRatio || check.worstRow < 0) {
      check.worstRatio = ratio;
      check.worstRow = row;
    }
  }
  check.passed = check.worstRatio <= 1 && check.misplaced == 0;
  return check;
}
