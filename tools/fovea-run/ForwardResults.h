//===- ForwardResults.h - What a gradient's forward gave --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_FORWARDRESULTS_H
#define FOVEA_TOOLS_FOVEA_RUN_FORWARDRESULTS_H

#include "Inputs.h"

namespace fovea::run {

/// Where the program is one attn.backward, with the results of its forward as
/// inputs: the numbers of these inputs.
struct ForwardInputs {
  unsigned output, lse;
};
std::optional<ForwardInputs> findForwardInputs(const Program &program);
/// The forward of such a program: it takes what that takes.
std::optional<Program> makeForwardProgram(const Program &program);

/// Where the program is one attn.backward of drawn inputs, makes its output and
/// log-sum-exp what its forward gives for the others: those of other numbers
/// would be gradients of nothing. False, and a message, if that fails.
bool fillForwardResults(const Program &program, const Options &options,
                        Workload &workload);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_FORWARDRESULTS_H
