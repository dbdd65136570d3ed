//===- Untrusted.h - Text and files from anybody ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is looked at before a parser gets text that anybody may have written.
// Upstream's parsers, of programs, pipelines and JSON, are recursive: text that
// nests deep ends the process. The library and all tools come through here.
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

/// How deep any text may nest.
inline constexpr int64_t kMaxNesting = FOVEA_MAX_NESTING;

/// What is no bracket although it looks like one.
enum class TextSyntax {
  /// Nothing: every bracket counts.
  Plain,
  /// Those in strings.
  JSON,
  /// Those in strings and comments, and the heads of arrows.
  MLIR
};

/// Where in `text` brackets, signs, or aliases in aliases nest deeper than
/// `kMaxNesting`; npos if they don't.
size_t findDeepNesting(mlir::StringRef text, TextSyntax syntax);

/// Refuses, with a diagnostic at the place, programs that upstream's parser
/// doesn't survive. Bytecode is no text, and not looked at.
mlir::LogicalResult checkProgramText(mlir::MLIRContext *context,
                                     mlir::StringRef text,
                                     mlir::StringRef file);

/// The same for a file that upstream's own drivers parse; prints the error.
mlir::LogicalResult checkProgramFile(const llvm::MemoryBuffer &file);

/// Checks and parses the main file of `sources`.
mlir::OwningOpRef<mlir::ModuleOp> parseProgram(const llvm::SourceMgr &sources,
                                               mlir::MLIRContext *context);

/// An error's text, or nothing.
std::string checkPipelineText(mlir::StringRef text);

llvm::Expected<llvm::json::Value> parseJSON(mlir::StringRef text);

/// A program's file, or the standard input for "-". Others than regular files
/// may have no end. `message` gets the error.
std::unique_ptr<llvm::MemoryBuffer> openProgramFile(mlir::StringRef path,
                                                    std::string &message);

/// The same question for arguments of upstream's drivers, which open their
/// files themselves: whether none but the one behind "-o" is a pipe or a
/// device; prints the error.
mlir::LogicalResult checkFileArguments(llvm::ArrayRef<char *> arguments);

/// A regular file's contents. Others may have no end, or no beginning.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readRegularFile(mlir::StringRef path);

} // namespace fovea

#endif // FOVEA_SUPPORT_UNTRUSTED_H
