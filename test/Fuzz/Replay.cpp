//===- Replay.cpp - Runs a fuzzer on files --------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replaces libFuzzer in builds without it, so that every build tests earlier
// findings.
//
//===----------------------------------------------------------------------===//

#include "llvm/Support/MemoryBuffer.h"

#include <cstdio>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern "C" size_t LLVMFuzzerMutate(uint8_t *, size_t size, size_t) {
  return size;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    auto file = llvm::MemoryBuffer::getFile(argv[i]);
    if (!file) {
      fprintf(stderr, "%s: %s\n", argv[i], file.getError().message().c_str());
      return 1;
    }
    LLVMFuzzerTestOneInput(
        reinterpret_cast<const uint8_t *>((*file)->getBufferStart()),
        (*file)->getBufferSize());
    fprintf(stderr, "Executed %s\n", argv[i]);
  }
}
