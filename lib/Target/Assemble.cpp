//===- Assemble.cpp - PTX to machine code by ptxas --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs ptxas with temporary files and scans its log for spills and for warnings
// about the kernel's performance.
//
//===----------------------------------------------------------------------===//

#include "fovea/Target/Assemble.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

// Spills of a few registers, as at tile boundaries, have no measurable cost.
static constexpr int64_t kFewBytes = 64;

/// The quoted kernel name, if the line announces the next kernel.
static StringRef findKernel(StringRef line) {
  auto [before, after] = line.split("Compiling entry function '");
  return after.take_until([](char c) { return c == '\''; });
}

/// A line about spills follows the one with its kernel's name. Warnings with a
/// number such as (C7510) name their subject.
static std::vector<std::string> findFaults(StringRef log) {
  std::vector<std::string> faults;
  StringRef kernel;
  for (StringRef line : split(log, '\n')) {
    if (StringRef name = findKernel(line); !name.empty())
      kernel = name;
    if (line.contains("(C75")) {
      faults.push_back(line.substr(line.find("(C75")).trim().str());
      continue;
    }
    auto [before, after] = line.split(" bytes spill stores, ");
    StringRef stores = before.rsplit(' ').second,
              loads = after.take_while(isDigit);
    int64_t bytes = 0;
    if (!after.empty() && !stores.getAsInteger(10, bytes) && bytes > kFewBytes)
      faults.push_back(("kernel '" + kernel + "' spills: " + stores +
                        " bytes of stores, " + loads +
                        " of loads; a smaller tile_n, if the kernel supports "
                        "it, needs fewer registers")
                           .str());
  }
  return faults;
}

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
  if (auto output = MemoryBuffer::getFile(log))
    result.log = (*output)->getBuffer().str();
  result.faults = findFaults(result.log);
  if (code != 0) {
    result.error = ("'" + ptxas + "' failed").str();
    if (!message.empty())
      result.error += ": " + message;
    return result;
  }
  // With `--version` and the like ptxas succeeds without output.
  auto machineCode = MemoryBuffer::getFile(object);
  if (!machineCode || (*machineCode)->getBufferSize() == 0)
    result.error = ("cannot read the output of '" + ptxas + "'").str();
  else
    result.machineCode = (*machineCode)->getBuffer().str();
  return result;
}
