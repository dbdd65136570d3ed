//===- Backend.h - What runs it ---------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_BACKEND_H
#define FOVEA_TOOLS_FOVEA_RUN_BACKEND_H

#include "Inputs.h"

#include <memory>

namespace fovea::run {

/// Something that can execute a program. The inputs are those of the program
/// that the user gave, and so are the outputs, in the order of its signature.
class Backend {
public:
  virtual ~Backend() = default;
  virtual ExitCode run(const Workload &workload,
                       llvm::SmallVectorImpl<interp::HostTensor> &outputs) = 0;
};

/// The interpreter, at the level that the options ask for.
std::unique_ptr<Backend> createInterpreterBackend(const Program &program,
                                                  const Options &options);

/// Evaluates an attn-level function; results as arrays, in f64 if exact.
bool evaluate(const Program &program, const Workload &workload,
              interp::Precision precision, const Options &options,
              llvm::SmallVectorImpl<interp::RuntimeValue> &results);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_BACKEND_H
