//===- Compile.h - Attention IR to PTX, in one call -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// One kernel as its host needs it.
struct CompiledKernel {
  /// Name of the entry in the PTX.
  std::string name;
  std::string ptx;
  /// Launch metadata, JSON; docs/ABI.md.
  std::string metadata;
};

/// Compiles all attention in `module`, and kernels that it has, in place; what
/// is left of it are host functions and kernels in the NVVM dialect. Errors are
/// diagnostics.
mlir::FailureOr<std::vector<CompiledKernel>>
compileToPTX(mlir::ModuleOp module, const CompileOptions &options);

/// Fails, with a diagnostic, if the options ask for a schedule and the module
/// has no attention to choose it for: a kernel has its own.
mlir::LogicalResult checkHasOwnSchedule(mlir::ModuleOp module,
                                        const CompileOptions &options);

/// What a compilation can give as text.
enum class Artifact { Tile, Warp, NVVM, LLVM, PTX, Metadata };

/// The module as text, with locations where the options ask for lines.
std::string printModule(mlir::ModuleOp module, const CompileOptions &options);

/// Adds to a pass manager before it runs, for example instrumentation.
using PassManagerSetup =
    llvm::function_ref<llvm::LogicalResult(mlir::PassManager &)>;

/// Compiles as far as `artifact` needs it, in place, and returns the text: of
/// all kernels up to the NVVM dialect, of the one called `kernel` beyond.
mlir::FailureOr<std::string>
emitArtifact(mlir::ModuleOp module, Artifact artifact,
             const CompileOptions &options, llvm::StringRef kernel,
             mlir::TimingScope &timing, PassManagerSetup setup = nullptr);

/// As `compileToPTX`, one kernel: the one called `name`, or, if that is empty,
/// the only one. Times its parts if there is a place to.
mlir::FailureOr<CompiledKernel>
compileKernel(mlir::ModuleOp module, const CompileOptions &options,
              llvm::StringRef name = "", mlir::TimingScope *timing = nullptr,
              PassManagerSetup setup = nullptr);

} // namespace fovea

#endif // FOVEA_PIPELINES_COMPILE_H
