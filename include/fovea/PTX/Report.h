//===- Report.h - What is wrong, and where --------------------------*- C++
//-*-===//
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

/// A place in a PTX text. Lines and columns count from 1; line 0 is no place.
struct Location {
  unsigned line = 0, column = 0;
  explicit operator bool() const { return line != 0; }
};

/// One error with the places that explain it.
struct Diagnostic {
  /// What kind of mistake it is, a stable word for tests: "syntax",
  /// "unsupported", "bounds", "race", "deadlock", ...
  std::string kind;
  std::string message;
  /// The PTX file, and the source that `.loc` gives for the place if any.
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

/// Prints `file:line:column: error: message [kind]` and the notes below it.
void print(const Diagnostic &diagnostic, llvm::raw_ostream &os);

/// An llvm::Error that holds diagnostics, the first the cause.
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

/// An error without a place, for calls of the host.
llvm::Error makeError(llvm::StringRef kind, const llvm::Twine &message);

} // namespace fovea::ptx

#endif // FOVEA_PTX_REPORT_H
