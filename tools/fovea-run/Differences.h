//===- Differences.h - Gradients beside finite differences ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_DIFFERENCES_H
#define FOVEA_TOOLS_FOVEA_RUN_DIFFERENCES_H

#include "Inputs.h"

namespace fovea::run {

/// What was found about one gradient; docs/Running.md states the rule.
struct DifferenceCheck {
  std::string output;
  /// The largest error of a direction as a part of what it may be.
  double worstRatio = 0;

  bool passed() const { return worstRatio <= 1; }
};

/// Holds what the program, one attn.backward, means to finite differences of
/// its forward, both in f64, in some random directions for each gradient.
/// False, and a message, if that can't be done.
bool checkDifferences(const Program &program, const Workload &workload,
                      const Options &options,
                      std::vector<DifferenceCheck> &checks);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_DIFFERENCES_H
