//===- Inputs.h - What it is run on -----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_INPUTS_H
#define FOVEA_TOOLS_FOVEA_RUN_INPUTS_H

#include "Program.h"

#include <vector>

namespace fovea::run {

/// What a program is run on: one argument for each input, and the sizes that
/// follow.
struct Workload {
  std::vector<interp::Argument> inputs;
  interp::DimSizes sizes;
};

/// Reads or draws the program's inputs and checks them. Problems are reported.
std::optional<Workload> makeInputs(const Program &program,
                                   const Options &options);

/// Fresh tensors for the outputs, poisoned.
std::optional<std::vector<interp::HostTensor>>
makeOutputs(const interp::Signature &signature, const interp::DimSizes &sizes);

/// Stands for an input that is not read.
std::optional<interp::Argument>
makePlaceholder(const interp::Parameter &parameter);

/// Writes outputs, or inputs with --save-inputs.
bool writeTensor(llvm::StringRef path, const interp::HostTensor &tensor,
                 const Options &options);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_INPUTS_H
