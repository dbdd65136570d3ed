//===- ScratchFile.h - An input as an in-memory file ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TEST_FUZZ_SCRATCHFILE_H
#define FOVEA_TEST_FUZZ_SCRATCHFILE_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace fovea::fuzz {

/// A file in memory with a path, for readers that open files.
class ScratchFile {
public:
  ScratchFile(const uint8_t *data, size_t size)
      : descriptor(memfd_create("input", MFD_CLOEXEC)) {
    if (descriptor < 0 ||
        write(descriptor, data, size) != static_cast<ssize_t>(size)) {
      perror("scratch file");
      exit(1);
    }
    path = "/proc/self/fd/" + std::to_string(descriptor);
  }
  ~ScratchFile() { close(descriptor); }

  std::string path;

private:
  int descriptor;
};

} // namespace fovea::fuzz

#endif // FOVEA_TEST_FUZZ_SCRATCHFILE_H
