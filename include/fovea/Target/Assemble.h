//===- Assemble.h - PTX to machine code, by ptxas ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_TARGET_ASSEMBLE_H
#define FOVEA_TARGET_ASSEMBLE_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace fovea {

/// What an assembler made of a kernel, and what it said.
struct Assembly {
  /// A cubin; none if `error` says why.
  std::optional<std::string> machineCode;
  /// Registers, spills, warnings: what ptxas says with -v.
  std::string log;
  /// What of it says that the kernel is slower than its schedule meant it to
  /// be: more than a few registers that are spilled, budgets that are ignored,
  /// dots that wait for each other.
  std::vector<std::string> faults;
  std::string error;
};

/// Runs `ptxas`, a path, on a kernel for the chip `target`.
Assembly assemblePTX(llvm::StringRef ptx, llvm::StringRef target,
                     llvm::StringRef ptxas);

} // namespace fovea

#endif // FOVEA_TARGET_ASSEMBLE_H
