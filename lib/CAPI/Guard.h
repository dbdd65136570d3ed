//===- Guard.h - Keeps failures of LLVM from the host -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CAPI_GUARD_H
#define FOVEA_LIB_CAPI_GUARD_H

#include <functional>
#include <string>

namespace fovea {

/// Calls `body`. Where LLVM gives up (its fatal errors, which end the process
/// by default) or memory is exhausted, the call ends early, without
/// destructors: what it worked on can't be used again. Says whether it ended by
/// itself, and else why not.
bool runGuarded(const std::function<void()> &body, std::string &reason);

} // namespace fovea

#endif // FOVEA_LIB_CAPI_GUARD_H
