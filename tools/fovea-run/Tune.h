//===- Tune.h - Schedule search ---------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_TUNE_H
#define FOVEA_TOOLS_FOVEA_RUN_TUNE_H

#include "Inputs.h"
#include "Program.h"

namespace fovea::run {

/// Times candidates on the inputs and writes the best one to the schedule
/// table; with `tuneDryRun`, only lists them.
ExitCode tune(const Program &program, const Options &options,
              const Workload &workload);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_TUNE_H
