//===- Execution.h - Runs kernels and functions -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_EXECUTION_H
#define FOVEA_INTERPRETER_EXECUTION_H

#include "fovea/Interpreter/BlockMap.h"
#include "fovea/Interpreter/Handlers.h"
#include "fovea/Interpreter/Signature.h"
#include "fovea/Interpreter/Trace.h"

namespace fovea::interp {

/// Executes a kernel at tile or warp level, every block of its grid, and before
/// it those of its prologue. `outputs`
/// are tensors of the right shapes that the kernel writes. Blocks run on all
/// threads of the context; the result does not depend on how many there are.
/// Roles of warps, copies and the blocks of a kernel that draws its work are
/// interleaved in an order that follows from `seed`. With a `trace` a kernel of
/// warp level runs as far as that goes, and outputs are not complete. Failures
/// are emitted as diagnostics.
llvm::LogicalResult
runKernel(launch::AbiOp abi, const InterpreterRegistry &registry,
          llvm::ArrayRef<Argument> inputs, llvm::ArrayRef<HostTensor> outputs,
          const DimSizes &sizes, Precision precision = Precision::Typed,
          uint64_t seed = 0, WarpTrace *trace = nullptr);

/// Executes a function. Results hold f64 where everything is exact.
llvm::LogicalResult runFunction(mlir::func::FuncOp function,
                                const InterpreterRegistry &registry,
                                llvm::ArrayRef<Argument> inputs,
                                llvm::SmallVectorImpl<RuntimeValue> &results,
                                Precision precision,
                                const AttentionChecks &checks = {});

/// Maps the blocks of the attention in a function, which is not computed.
llvm::LogicalResult mapFunction(mlir::func::FuncOp function,
                                const InterpreterRegistry &registry,
                                llvm::ArrayRef<Argument> inputs,
                                const BlockMapRequest &request);

/// Says of pairs of a query and a key what the attention in a function makes of
/// them. It is not computed.
llvm::LogicalResult evaluateElements(mlir::func::FuncOp function,
                                     const InterpreterRegistry &registry,
                                     llvm::ArrayRef<Argument> inputs,
                                     const ElementRequest &request);

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_EXECUTION_H
