//===- Check.h - Checks of outputs ------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares outputs with an evaluation in f64, relative to the error of a
// straightforward evaluation in the program's types.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_CHECK_H
#define FOVEA_INTERPRETER_CHECK_H

#include "fovea/Interpreter/HostTensor.h"

#include <string>

namespace fovea::interp {

/// The result for one output tensor; docs/Guides/Debugging.md states the rule.
struct OutputCheck {
  bool passed = true;
  double maxAbsolute = 0;
  /// Relative to the row's largest magnitude.
  double maxRelative = 0;
  /// The worst row's error relative to its bound.
  double worstRatio = 0;
  int64_t worstRow = -1;
  /// The mean error of rows relative to the straightforward evaluation's, and
  /// whether the excess, if any, is within chance.
  double meanRatio = 0;
  bool isMeanAcceptable = true;
  int64_t rows = 0;
  /// Rows whose straightforward evaluation overflows: they are not checked.
  int64_t skippedRows = 0;
  /// Elements where only one side is NaN or infinite.
  int64_t misplaced = 0;
};

/// Returns true if element `index` of the output may be NaN although the
/// expected value is a number.
using MayBeNaN = llvm::function_ref<bool(int64_t index)>;

/// Maximum ratio of the mean error to the straightforward evaluation's.
inline constexpr double kMeanFactor = 1.1;

/// Checks rows (along the last dimension) of `found` against the exact result
/// `meaning`, with the straightforward evaluation as the measure. Probabilities
/// are rounded to `weights`, which may be coarser than the type of `found`;
/// `allowance` is an L2 norm that a row's error may have regardless of the
/// row's magnitude.
OutputCheck checkRows(const HostTensor &found, const Array &meaning,
                      const Array &straightforward, ElementKind weights,
                      double allowance, MayBeNaN mayBeNaN);

/// The smallest difference of two numbers of a type, that of subnormal ones.
double getLeastStep(ElementKind kind);

/// Checks log-sum-exps: 1e-3 absolute plus 1e-6 relative.
OutputCheck checkLogSumExp(const HostTensor &found, const Array &meaning);

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_CHECK_H
