//===- fuzz-npy.cpp - Fuzzes the reader of .npy files ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScratchFile.h"
#include "TextMutator.h"

#include "fovea/Interpreter/Npy.h"

using namespace fovea::interp;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fovea::fuzz::ScratchFile file(data, size);
  // The kind that most of these bytes would be, and every other.
  for (unsigned kind = 0; kind <= unsigned(ElementKind::F64); ++kind) {
    std::string error;
    auto tensor =
        readNpy(file.path, ElementKind(kind), ElementKind::BF16, error);
    // A refusal has a reason, and a tensor is whole.
    if (failed(tensor) == error.empty())
      abort();
    if (succeeded(tensor) && tensor->getNumBytes() > int64_t(size))
      abort();
  }
  return 0;
}
