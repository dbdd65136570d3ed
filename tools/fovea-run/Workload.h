//===- Workload.h - The tensors of a run ------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_WORKLOAD_H
#define FOVEA_TOOLS_FOVEA_RUN_WORKLOAD_H

#include "Program.h"

#include <vector>

namespace fovea::run {

/// The inputs of a run, one argument per input, and the resulting sizes.
struct Workload {
  std::vector<interp::Argument> inputs;
  interp::DimSizes sizes;
};

/// The element type of a parameter.
interp::ElementKind getKind(const interp::Parameter &parameter);

/// Reports a tensor that exceeds the maximum size.
bool fits(const interp::Parameter &parameter, llvm::ArrayRef<int64_t> shape);

/// Creates poisoned tensors for the outputs.
std::optional<std::vector<interp::HostTensor>>
makeOutputs(const interp::Signature &signature, const interp::DimSizes &sizes);

/// A placeholder for an input that is not read.
std::optional<interp::Argument>
makePlaceholder(const interp::Parameter &parameter);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_WORKLOAD_H
