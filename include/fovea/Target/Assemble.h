//===- Assemble.h - PTX to machine code by ptxas ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs ptxas on PTX and finds performance faults in its log.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TARGET_ASSEMBLE_H
#define FOVEA_TARGET_ASSEMBLE_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace fovea {

/// The result of assembling a kernel.
struct Assembly {
  /// A cubin; none if `error` is set.
  std::optional<std::string> machineCode;
  /// The output of ptxas -v: registers, spills, warnings.
  std::string log;
  /// Lines which show that the kernel is slower than its schedule intends: more
  /// than a few spilled registers, ignored register budgets, serialised MMAs.
  std::vector<std::string> faults;
  std::string error;
};

/// Runs the program at the path `ptxas` on a kernel for the GPU `target`.
Assembly assemblePTX(llvm::StringRef ptx, llvm::StringRef target,
                     llvm::StringRef ptxas);

} // namespace fovea

#endif // FOVEA_TARGET_ASSEMBLE_H
