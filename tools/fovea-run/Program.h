//===- Program.h - What is run ----------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TOOLS_FOVEA_RUN_PROGRAM_H
#define FOVEA_TOOLS_FOVEA_RUN_PROGRAM_H

#include "Options.h"

#include "fovea/Interpreter/Signature.h"
#include "fovea/Pipelines/Pipelines.h"
#include "fovea/Support/Tool.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace fovea::run {

/// A function of attn ops, or a kernel with its ABI.
struct Program {
  /// Diagnostics show the program's text as long as it is there.
  std::unique_ptr<llvm::SourceMgr> sources;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> handler;
  std::unique_ptr<UnplacedDiagnosticHandler> unplaced;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function; // at level attn
  launch::AbiOp abi;           // at levels tile and warp
  interp::Signature signature;

  Level getLevel() const;
};

/// Reads a program and finds what to run in it. Problems are reported.
std::optional<Program> loadProgram(mlir::MLIRContext *context,
                                   llvm::StringRef path, llvm::StringRef entry);

/// What the command line calls a level.
llvm::StringRef getName(Level level);

/// Lowers an attn-level program to level tile or warp; the program itself
/// stays.
std::optional<Program> lowerTo(Level level, const Program &program,
                               const Options &options);

/// What the command line says about compiling.
void setCompileOptions(const Options &options, CompileOptions &compileOptions);

/// Where the inputs and outputs of `target` are found among those of `source`,
/// by name; -1 for an output that `source` does not have, and for an input that
/// it does not have and `target` does not read. Reports a missing input.
struct Correspondence {
  llvm::SmallVector<int64_t> inputs, outputs;
};
std::optional<Correspondence> matchByName(const Program &target,
                                          const Program &source);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_PROGRAM_H
