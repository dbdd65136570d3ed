//===- Compile.h - Attention IR to PTX, in one call -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler as functions: from a module of attention ops to PTX and launch
// metadata, or to the text of any intermediate level. The C API, the Python
// package and `fovea-compile` call these functions.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PIPELINES_COMPILE_H
#define FOVEA_PIPELINES_COMPILE_H

#include "fovea/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/Timing.h"

#include <string>
#include <vector>

namespace fovea {

/// A compiled kernel.
struct CompiledKernel {
  /// Name of the entry in the PTX.
  std::string name;
  std::string ptx;
  /// Launch metadata in JSON (docs/Specification/ABI.md).
  std::string metadata;
};

/// Compiles all attention ops and kernels in `module`, in place; it then
/// contains host functions and kernels in the NVVM dialect. Errors are
/// diagnostics.
mlir::FailureOr<std::vector<CompiledKernel>>
compileToPTX(mlir::ModuleOp module, const CompileOptions &options);

/// Emits an error and fails if the options set a schedule but the module has
/// only kernels, which have their own schedules, and no attention ops.
mlir::LogicalResult checkScheduleApplies(mlir::ModuleOp module,
                                         const CompileOptions &options);

/// The forms of a compiled module that can be emitted as text.
enum class Artifact { Tile, Warp, NVVM, LLVM, PTX, Metadata };

/// Prints the module, with locations if the options request source lines.
std::string printModule(mlir::ModuleOp module, const CompileOptions &options);

/// Configures a pass manager before it runs, for example with instrumentation.
using PassManagerSetup =
    llvm::function_ref<llvm::LogicalResult(mlir::PassManager &)>;

/// Compiles up to the level of `artifact`, in place, and returns its text: all
/// kernels up to the NVVM dialect, only the kernel named `kernel` for later
/// levels.
mlir::FailureOr<std::string>
emitArtifact(mlir::ModuleOp module, Artifact artifact,
             const CompileOptions &options, llvm::StringRef kernel,
             mlir::TimingScope &timing, PassManagerSetup setup = nullptr);

/// Like `compileToPTX` for one kernel: the one named `name`, or the only one if
/// `name` is empty. Records times in `timing` if it is not null.
mlir::FailureOr<CompiledKernel>
compileKernel(mlir::ModuleOp module, const CompileOptions &options,
              llvm::StringRef name = "", mlir::TimingScope *timing = nullptr,
              PassManagerSetup setup = nullptr);

} // namespace fovea

#endif // FOVEA_PIPELINES_COMPILE_H
