//===- fuzz-metadata.cpp - Fuzzes launch metadata -------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads metadata with the runtime, as from a host, and with the compiler's
// search for smaller schedules.
//
//===----------------------------------------------------------------------===//

#include "TextMutator.h"

#include "fovea/Schedule/SmallerSchedules.h"

extern "C" {
#include "Internal.h"
}

#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = reinterpret_cast<const char *>(data);
  fovea_metadata metadata;
  if (fovea_metadata_read(text, size, &metadata) == FOVEA_OK) {
    // Indices that a launch uses.
    for (int i = 0; i < metadata.num_all_parameters; ++i)
      if (metadata.parameters[i].kind == FOVEA_PARAMETER_POINTER &&
          metadata.parameters[i].index >= metadata.num_tensors)
        abort();
    fovea_metadata_free(&metadata);
  } else if (!*fovea_last_error()) {
    abort();
  }
  if (auto schedules = fovea::getSmallerSchedules({text, size}))
    for (const std::string &schedule : *schedules)
      if (schedule.empty())
        abort();
  return 0;
}
