//===- Backend.h - Interface of execution backends --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_BACKEND_H
#define FOVEA_TOOLS_FOVEA_RUN_BACKEND_H

#include "Workload.h"

#include <memory>

namespace fovea::run {

/// Executes a program. Inputs and outputs are those of the user's program, in
/// the order of its signature.
class Backend {
public:
  virtual ~Backend() = default;
  virtual ExitCode run(const Workload &workload,
                       llvm::SmallVectorImpl<interp::HostTensor> &outputs) = 0;
};

/// The interpreter, at the level that the options select.
std::unique_ptr<Backend> createInterpreterBackend(const Program &program,
                                                  const Options &options);

/// Evaluates an attn-level function. Results are arrays, in f64 if exact.
bool evaluate(const Program &program, const Workload &workload,
              interp::Precision precision, const Options &options,
              llvm::SmallVectorImpl<interp::RuntimeValue> &results);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_BACKEND_H
