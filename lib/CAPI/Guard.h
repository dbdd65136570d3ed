//===- Guard.h - Contains failures of LLVM ----------------------*- C++ -*-===//
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

/// Calls `body`. A fatal error in LLVM (which ends the process by default) or
/// exhausted memory ends the call early without running destructors; objects
/// that it used must not be used again. Returns true if `body` returned,
/// otherwise sets `reason`.
bool runGuarded(const std::function<void()> &body, std::string &reason);

} // namespace fovea

#endif // FOVEA_LIB_CAPI_GUARD_H
