//===- Untrusted.h - Checks on untrusted input ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks that run before a parser receives untrusted text. The upstream parsers
// of programs, pipelines and JSON are recursive, so deeply nested text
// overflows their stack. The library and all tools read input through these
// functions.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SUPPORT_UNTRUSTED_H
#define FOVEA_SUPPORT_UNTRUSTED_H

#include "fovea/Support/Nesting.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace fovea {

/// Maximum nesting depth of any text.
inline constexpr int64_t kMaxNesting = FOVEA_MAX_NESTING;

/// The syntax of a text, which determines the characters that are no brackets.
enum class TextSyntax {
  /// Every bracket counts.
  Plain,
  /// Brackets in strings do not count.
  JSON,
  /// Brackets in strings and comments, and arrowheads, do not count.
  MLIR
};

/// Returns the position in `text` where brackets, signs, or aliases within
/// aliases nest deeper than `kMaxNesting`, or npos.
size_t findDeepNesting(mlir::StringRef text, TextSyntax syntax);

/// Emits an error for programs that crash the upstream parser, and fails.
/// Bytecode is not checked.
mlir::LogicalResult checkProgramText(mlir::MLIRContext *context,
                                     mlir::StringRef text,
                                     mlir::StringRef file);

/// The same for a file that upstream drivers parse; prints the error.
mlir::LogicalResult checkProgramFile(const llvm::MemoryBuffer &file);

/// Checks and parses the main file of `sources`.
mlir::OwningOpRef<mlir::ModuleOp> parseProgram(const llvm::SourceMgr &sources,
                                               mlir::MLIRContext *context);

/// Checks the text of a pass pipeline. Returns an error message, or an empty
/// string.
std::string checkPipelineText(mlir::StringRef text);

llvm::Expected<llvm::json::Value> parseJSON(mlir::StringRef text);

/// Opens a program file, or standard input for "-". Rejects pipes and devices,
/// which may be endless. `message` receives the error.
std::unique_ptr<llvm::MemoryBuffer> openProgramFile(mlir::StringRef path,
                                                    std::string &message);

/// Checks the arguments of upstream drivers, which open their files themselves:
/// no argument except the one after "-o" may be a pipe or a device. Prints the
/// error.
mlir::LogicalResult checkFileArguments(llvm::ArrayRef<char *> arguments);

/// Reads a regular file. Rejects other files, which may be endless.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readRegularFile(mlir::StringRef path);

} // namespace fovea

#endif // FOVEA_SUPPORT_UNTRUSTED_H
