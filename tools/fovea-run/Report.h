//===- Report.h - Checking and printing results -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_REPORT_H
#define FOVEA_TOOLS_FOVEA_RUN_REPORT_H

#include "Backend.h"
#include "Differences.h"

#include "fovea/Interpreter/Check.h"

namespace fovea::run {

/// The results of a run.
struct Report {
  double seconds = 0;
  std::vector<interp::HostTensor> outputs;
  /// One per output, if the outputs were checked.
  std::vector<interp::OutputCheck> checks;
  /// One per gradient, if gradients were checked against finite differences.
  std::vector<DifferenceCheck> differences;

  bool passed() const;
};

/// Compares the outputs of `program` with those of `reference`, an attn-level
/// program. Fills `report.checks`; reports errors.
bool checkOutputs(const Program &program, const Program &reference,
                  const Workload &workload, const Options &options,
                  Report &report);

void printReport(const Program &program, const Report &report,
                 const Options &options);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_REPORT_H
