//===- Report.cpp - Errors with locations ---------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints errors with their locations and notes.
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Report.h"

#include "llvm/Support/raw_ostream.h"

using namespace fovea::ptx;

char Report::ID = 0;

static void printPlace(llvm::StringRef file, Location loc,
                       llvm::raw_ostream &os) {
  if (file.empty() && !loc)
    return;
  os << file << ':';
  if (loc)
    os << loc.line << ':' << loc.column << ':';
  os << ' ';
}

void fovea::ptx::print(const Diagnostic &diagnostic, llvm::raw_ostream &os) {
  printPlace(diagnostic.file, diagnostic.loc, os);
  os << "error: " << diagnostic.message << " [" << diagnostic.kind << "]\n";
  if (!diagnostic.source.empty())
    os << diagnostic.source << ": note: compiled from here\n";
  for (const Diagnostic::Note &note : diagnostic.notes) {
    printPlace(note.file, note.loc, os);
    os << "note: " << note.message << '\n';
  }
}

void Report::log(llvm::raw_ostream &os) const {
  for (const Diagnostic &diagnostic : diagnostics)
    print(diagnostic, os);
}

llvm::Error fovea::ptx::makeError(llvm::StringRef kind,
                                  const llvm::Twine &message) {
  Diagnostic diagnostic;
  diagnostic.kind = kind.str();
  diagnostic.message = message.str();
  std::vector<Diagnostic> all;
  all.push_back(std::move(diagnostic));
  return llvm::make_error<Report>(std::move(all));
}
