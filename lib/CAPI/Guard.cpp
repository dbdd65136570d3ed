//===- Guard.cpp - Contains failures of LLVM ------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns fatal errors of LLVM inside a guarded call into an exception that ends
// the call.
//
//===----------------------------------------------------------------------===//

#include "Guard.h"

#include "llvm/Support/ErrorHandling.h"

#include <exception>
#include <mutex>
#include <new>

// The only file compiled with exceptions. They unwind through frames compiled
// without exceptions, which works on this platform because unwind tables exist.

namespace {
struct FatalError {
  std::string reason;
};
} // namespace

/// Nesting depth of guarded calls in this thread.
static thread_local unsigned depth = 0;

/// Outside of guarded calls, LLVM's default handling applies.
static void throwFatalError(void *, const char *reason, bool) {
  if (depth > 0)
    throw FatalError{reason};
}

bool fovea::runGuarded(const std::function<void()> &body, std::string &reason) {
  static std::once_flag installed;
  std::call_once(installed, [] {
    llvm::install_fatal_error_handler(throwFatalError);
    llvm::install_bad_alloc_error_handler(throwFatalError);
  });
  struct Depth {
    Depth() { ++depth; }
    ~Depth() { --depth; }
  } inside;
  try {
    body();
    return true;
  } catch (const FatalError &error) {
    reason = error.reason;
  } catch (const std::bad_alloc &) {
    reason = "out of memory";
  } catch (const std::exception &error) {
    reason = error.what();
  }
  return false;
}
