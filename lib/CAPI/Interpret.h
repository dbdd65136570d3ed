//===- Interpret.h - Interpreting programs with the C API -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CAPI_INTERPRET_H
#define FOVEA_LIB_CAPI_INTERPRET_H

#include "Internal.h"

#include "fovea/Interpreter/Execution.h"

struct FoveaTensors {
  struct Entry {
    std::string name, dtype;
    fovea::interp::HostTensor tensor;
    llvm::SmallVector<int64_t, 4> sizes;
  };
  std::vector<Entry> entries;
};

namespace fovea {

const interp::InterpreterRegistry &getHandlers();

/// The function with that name, or the only one with a body.
mlir::FailureOr<mlir::func::FuncOp> findFunction(FoveaModule *module,
                                                 llvm::StringRef name);

/// Reads the contents of one parameter, found by its name or one of `aliases`.
mlir::LogicalResult readInput(FoveaContext *context,
                              const interp::Parameter &parameter,
                              llvm::ArrayRef<FoveaTensor> inputs,
                              interp::Argument &result);

/// Checks that the sizes are consistent, and returns them by name.
mlir::LogicalResult checkSizes(FoveaContext *context,
                               const interp::Signature &signature,
                               llvm::ArrayRef<interp::Argument> arguments,
                               interp::DimSizes &sizes);

/// The arguments of a program in order, and the sizes by name.
mlir::LogicalResult readInputs(FoveaContext *context,
                               const interp::Signature &signature,
                               llvm::ArrayRef<FoveaTensor> inputs,
                               std::vector<interp::Argument> &arguments,
                               interp::DimSizes &sizes);

/// Tensors for a kernel's outputs, filled with NaN.
mlir::LogicalResult makeOutputs(FoveaContext *context,
                                const interp::Signature &signature,
                                const interp::DimSizes &sizes,
                                std::vector<interp::HostTensor> &outputs);

/// Lowers a function to a kernel at level tile or warp. `copy` owns the
/// kernel's module.
mlir::FailureOr<launch::AbiOp>
lowerTo(FoveaContext *context, mlir::func::FuncOp function, FoveaArtifact level,
        const CompileOptions &options, mlir::ModuleOp copy);

} // namespace fovea

#endif // FOVEA_LIB_CAPI_INTERPRET_H
