//===- Program.h - Loading and lowering programs ----------------*- C++ -*-===//
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

/// A function with attn ops, or a kernel with its ABI.
struct Program {
  /// Kept for diagnostics, which show the program's text.
  std::unique_ptr<llvm::SourceMgr> sources;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> handler;
  std::unique_ptr<UnplacedDiagnosticHandler> unplaced;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function; // at level attn
  launch::AbiOp abi;           // at levels tile and warp
  interp::Signature signature;

  Level getLevel() const;
};

/// Parses a program and selects the op to run. Errors are reported.
std::optional<Program> loadProgram(mlir::MLIRContext *context,
                                   llvm::StringRef path, llvm::StringRef entry);

/// The command line's name of a level.
llvm::StringRef getName(Level level);

/// Lowers an attn-level program to level tile or warp. The program is not
/// modified.
std::optional<Program> lowerTo(Level level, const Program &program,
                               const Options &options);

/// Sets the compilation options of the command line.
void setCompileOptions(const Options &options, CompileOptions &compileOptions);

/// For each input and output of `target`, its index among those of `source`, by
/// name. The index is -1 for an output that `source` lacks, and for an input
/// that it lacks and `target` does not read. Reports other missing inputs.
struct Correspondence {
  llvm::SmallVector<int64_t> inputs, outputs;
};
std::optional<Correspondence> matchByName(const Program &target,
                                          const Program &source);

} // namespace fovea::run

#endif // FOVEA_TOOLS_FOVEA_RUN_PROGRAM_H
