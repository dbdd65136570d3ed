//===- ForwardResults.h - Forward results as gradient inputs ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_FORWARDRESULTS_H
#define FOVEA_TOOLS_FOVEA_RUN_FORWARDRESULTS_H

#include "Workload.h"

namespace fovea::run {

/// For a program with one attn.backward whose inputs include its forward's
/// results: the indices of these inputs.
struct ForwardInputs {
  unsigned output, lse;
};
std::optional<ForwardInputs> findForwardInputs(const Program &program);
/// The forward of such a program. Its inputs are a subset of the program's
/// inputs.
std::optional<Program> makeForwardProgram(const Program &program);

/// For a program with one attn.backward and random inputs: replaces the output
/// and log-sum-exp inputs by the results of the forward on the other inputs,
/// since the gradients are meaningful only for consistent values. Returns false
/// after an error.
bool fillForwardResults(const Program &program, const Options &options,
                        Workload &workload);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_FORWARDRESULTS_H
