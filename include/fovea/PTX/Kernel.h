//===- Kernel.h - Properties of a PTX kernel --------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_KERNEL_H
#define FOVEA_PTX_KERNEL_H

#include "fovea/PTX/Report.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fovea::ptx {

/// A kernel parameter in the host's parameter buffer.
struct Parameter {
  std::string name;
  uint64_t offset = 0, bytes = 0, alignment = 1;
};

/// Properties of an entry that the host needs.
struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  /// Total size of the parameters.
  uint64_t parameterBytes = 0;
  /// Shared memory declared with a size in the module, and local memory per
  /// thread.
  uint64_t staticSharedBytes = 0, localBytes = 0;
  /// `.reqntid` and `.reqnctapercluster`; zeros if absent.
  std::array<uint32_t, 3> requiredBlock = {}, requiredCluster = {};
  /// `.maxntid` (as a product), `.minnctapersm`, `.maxnreg`; 0 if absent.
  uint32_t maxThreads = 0, minBlocks = 0, maxRegisters = 0;
  /// `.explicitcluster`: the kernel must be launched with clusters.
  bool explicitCluster = false;
  Location loc;
};

} // namespace fovea::ptx

#endif // FOVEA_PTX_KERNEL_H
