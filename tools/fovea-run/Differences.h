//===- Differences.h - Gradients against finite differences -----*- C++ -*-===//
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

/// The result of checking one gradient; docs/Guides/Debugging.md states the
/// rule.
struct DifferenceCheck {
  std::string output;
  /// The largest error of a directional derivative relative to its tolerance.
  double worstRatio = 0;

  bool passed() const { return worstRatio <= 1; }
};

/// Compares the program's gradients (one attn.backward), evaluated in f64, with
/// finite differences of its forward in f64, in several random directions per
/// gradient. Returns false after an error.
bool checkDifferences(const Program &program, const Workload &workload,
                      const Options &options,
                      std::vector<DifferenceCheck> &checks);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_DIFFERENCES_H
