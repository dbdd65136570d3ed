//===- Execution.h - Runs kernels and functions -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entry points of the interpreter: executes kernels at tile or warp level and
// functions with attn ops.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_EXECUTION_H
#define FOVEA_INTERPRETER_EXECUTION_H

#include "fovea/Interpreter/BlockMap.h"
#include "fovea/Interpreter/Handlers.h"
#include "fovea/Interpreter/Signature.h"
#include "fovea/Interpreter/Trace.h"

namespace fovea::interp {

/// Executes the kernels of a launch at tile or warp level, in order, all blocks
/// of their grids. `outputs` are tensors of the right shapes that the kernels
/// write. Blocks run on the context's threads; the result does not depend on
/// the number of threads. The interleaving of roles, copies, and the blocks of
/// a kernel with dynamic work follows from `seed`. With a `trace` a warp-level
/// kernel stops when the trace is full, and outputs are incomplete. Failures
/// are emitted as diagnostics.
llvm::LogicalResult
runKernel(launch::AbiOp abi, const InterpreterRegistry &registry,
          llvm::ArrayRef<Argument> inputs, llvm::ArrayRef<HostTensor> outputs,
          const DimSizes &sizes, Precision precision = Precision::Typed,
          uint64_t seed = 0, WarpTrace *trace = nullptr);

/// Executes a function. With exact precision results hold f64.
llvm::LogicalResult runFunction(mlir::func::FuncOp function,
                                const InterpreterRegistry &registry,
                                llvm::ArrayRef<Argument> inputs,
                                llvm::SmallVectorImpl<RuntimeValue> &results,
                                Precision precision,
                                const AttentionChecks &checks = {});

/// Maps the blocks of the attention in a function without computing it.
llvm::LogicalResult mapFunction(mlir::func::FuncOp function,
                                const InterpreterRegistry &registry,
                                llvm::ArrayRef<Argument> inputs,
                                const BlockMapRequest &request);

/// Evaluates the mask and score_mod of the attention in a function for pairs of
/// query and key, without computing the attention.
llvm::LogicalResult evaluateElements(mlir::func::FuncOp function,
                                     const InterpreterRegistry &registry,
                                     llvm::ArrayRef<Argument> inputs,
                                     const ElementRequest &request);

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_EXECUTION_H
