//===- Report.h - Errors with locations -------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_REPORT_H
#define FOVEA_PTX_REPORT_H

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace fovea::ptx {

/// A location in a PTX text. Lines and columns count from 1; line 0 means
/// unknown.
struct Location {
  unsigned line = 0, column = 0;
  explicit operator bool() const { return line != 0; }
};

/// An error with its notes.
struct Diagnostic {
  /// The category, a stable identifier for tests: "syntax", "unsupported",
  /// "bounds", "race", "deadlock", ...
  std::string kind;
  std::string message;
  /// The PTX file, and the source location from `.loc`, if any.
  std::string file;
  Location loc;
  std::string source;
  struct Note {
    std::string message;
    std::string file;
    Location loc;
  };
  std::vector<Note> notes;
};

/// Prints `file:line:column: error: message [kind]` and the notes.
void print(const Diagnostic &diagnostic, llvm::raw_ostream &os);

/// An llvm::Error with diagnostics, the cause first.
class Report : public llvm::ErrorInfo<Report> {
public:
  static char ID;
  explicit Report(std::vector<Diagnostic> diagnostics)
      : diagnostics(std::move(diagnostics)) {}

  llvm::ArrayRef<Diagnostic> getDiagnostics() const { return diagnostics; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::vector<Diagnostic> diagnostics;
};

/// An error without a location, for calls of the host.
llvm::Error makeError(llvm::StringRef kind, const llvm::Twine &message);

} // namespace fovea::ptx

#endif // FOVEA_PTX_REPORT_H
