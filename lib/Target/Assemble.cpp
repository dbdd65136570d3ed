//===- Assemble.cpp - PTX to machine code, by ptxas -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Target/Assemble.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

fovea::Assembly fovea::assemblePTX(StringRef ptx, StringRef target,
                                   StringRef ptxas) {
  Assembly result;
  SmallString<128> source, object, log;
  if (sys::fs::createTemporaryFile("fovea", "ptx", source) ||
      sys::fs::createTemporaryFile("fovea", "cubin", object) ||
      sys::fs::createTemporaryFile("fovea", "log", log)) {
    result.error = "cannot create a temporary file";
    return result;
  }
  FileRemover removeSource(source), removeObject(object), removeLog(log);
  {
    std::error_code error;
    raw_fd_ostream stream(source, error);
    stream << ptx;
    stream.close();
    if (stream.has_error()) {
      result.error =
          "cannot write a temporary file: " + stream.error().message();
      stream.clear_error();
      return result;
    }
  }
  std::string arch = ("-arch=" + target).str();
  SmallVector<StringRef> arguments = {ptxas, arch, "-v", source, "-o", object};
  std::string message;
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log),
                                          StringRef(log)};
  int code = sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects, 0,
                                 0, &message);
  if (auto said = MemoryBuffer::getFile(log))
    result.log = (*said)->getBuffer().str();
  if (code != 0) {
    result.error = ("'" + ptxas + "' failed").str();
    if (!message.empty())
      result.error += ": " + message;
    return result;
  }
  // ptxas answers `--version` and the like with success, and no output.
  auto machineCode = MemoryBuffer::getFile(object);
  if (!machineCode || (*machineCode)->getBufferSize() == 0)
    result.error = ("cannot read what '" + ptxas + "' wrote").str();
  else
    result.machineCode = (*machineCode)->getBuffer().str();
  return result;
}
