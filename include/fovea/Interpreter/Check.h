//===- Check.h - Are the numbers right? -------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_CHECK_H
#define FOVEA_INTERPRETER_CHECK_H

#include "fovea/Interpreter/HostTensor.h"

#include <string>

namespace fovea::interp {

/// What was found about one output tensor; docs/Running.md states the rule.
struct OutputCheck {
  bool passed = true;
  double maxAbsolute = 0;
  /// Relative to the row's largest magnitude.
  double maxRelative = 0;
  /// The worst row's error as a part of what it may be.
  double worstRatio = 0;
  int64_t worstRow = -1;
  /// The mean of rows' errors as a part of the straightforward evaluation's,
  /// and whether it is no larger than that one's but by chance.
  double meanRatio = 0;
  bool isMeanAcceptable = true;
  int64_t rows = 0;
  /// Rows whose straightforward evaluation overflows: nothing is expected.
  int64_t skippedRows = 0;
  /// Elements where one side is NaN or infinite and the other is not.
  int64_t misplaced = 0;
};

/// Says whether element `index` of the output may be NaN though it means a
/// number.
using MayBeNaN = llvm::function_ref<bool(int64_t index)>;

/// By how much the mean error may exceed the straightforward evaluation's.
inline constexpr double kMeanFactor = 1.1;

/// Checks rows (along the last dimension) of `found` against their meaning,
/// with the straightforward evaluation as the measure. Weights are rounded to
/// `weights`, which `found` may be finer than; `allowance` is an L2 norm that a
/// row's error may have however small the row is.
OutputCheck checkRows(const HostTensor &found, const Array &meaning,
                      const Array &straightforward, ElementKind weights,
                      double allowance, MayBeNaN mayBeNaN);

/// The least step of a type's numbers, a subnormal one.
double getLeastStep(ElementKind kind);

/// Checks log-sum-exps: 1e-3 absolute plus 1e-6 relative.
OutputCheck checkLogSumExp(const HostTensor &found, const Array &meaning);

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_CHECK_H
