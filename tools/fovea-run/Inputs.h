//===- Inputs.h - Inputs and outputs of a run -------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_INPUTS_H
#define FOVEA_TOOLS_FOVEA_RUN_INPUTS_H

#include "Workload.h"

namespace fovea::run {

/// Reads or draws the program's inputs and checks them. Errors are reported.
std::optional<Workload> makeInputs(const Program &program,
                                   const Options &options);

/// Writes an output, or an input with --save-inputs.
bool writeTensor(llvm::StringRef path, const interp::HostTensor &tensor,
                 const Options &options);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_INPUTS_H
