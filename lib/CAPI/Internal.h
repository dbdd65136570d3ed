//===- Internal.h - Declarations shared by the C API's files ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CAPI_INTERNAL_H
#define FOVEA_LIB_CAPI_INTERNAL_H

#include "fovea-c/Fovea.h"

#include "fovea/Pipelines/Compile.h"
#include "fovea/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace fovea {

/// The diagnostics of one call in C form.
class DiagnosticList {
public:
  void clear();
  void add(mlir::Diagnostic &diagnostic);
  void add(FoveaSeverity severity, std::string message, std::string note = "");
  bool hasErrors() const;
  const std::vector<FoveaDiagnostic> &get() const { return list; }

private:
  FoveaString keep(std::string text);
  FoveaDiagnostic convert(mlir::Diagnostic &diagnostic);

  std::vector<FoveaDiagnostic> list;
  // Deques, since elements must keep their addresses.
  std::deque<std::string> strings;
  std::deque<std::vector<FoveaDiagnostic>> notes;
};

inline FoveaString toC(const std::string &text) {
  return {text.data(), text.size()};
}

} // namespace fovea

struct FoveaContext {
  FoveaContext();

  /// Runs a call of the API. Its diagnostics become those of the context; an
  /// early end of the call adds an error. Returns false on failure.
  bool call(llvm::function_ref<mlir::LogicalResult()> body);
  /// Adds an error without a location.
  mlir::LogicalResult error(const llvm::Twine &message);

  // Null after a call ended early: its objects can't even be destroyed.
  std::unique_ptr<mlir::MLIRContext> mlir;
  fovea::DiagnosticList diagnostics;
  std::string broken;
};

namespace fovea {
/// Reads options that begin with their size. Fields beyond the caller's size
/// are zero.
template <typename Options>
mlir::LogicalResult readVersioned(FoveaContext *context, const Options *given,
                                  llvm::StringRef name, Options &known) {
  known = {};
  if (!given)
    return mlir::success();
  // Rejects sizes that would split a field.
  if (given->size % alignof(Options) != 0)
    return context->error("'size' of " + name + " must be sizeof(" + name +
                          "), a multiple of " + llvm::Twine(alignof(Options)) +
                          ", found " + llvm::Twine(given->size));
  std::memcpy(&known, given, std::min(given->size, sizeof known));
  return mlir::success();
}
} // namespace fovea

struct FoveaModule {
  FoveaContext *context;
  mlir::OwningOpRef<mlir::ModuleOp> op;
};

struct FoveaBuffer {
  std::string text;
};

namespace fovea {

/// Converts compilation options from C and reports invalid ones.
mlir::LogicalResult readOptions(FoveaContext *context,
                                const FoveaOptions *options,
                                CompileOptions &result, std::string &kernel);

} // namespace fovea

#endif // FOVEA_LIB_CAPI_INTERNAL_H
