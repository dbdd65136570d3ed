//===- Guard.cpp - Keeps failures of LLVM from the host ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Guard.h"

#include "llvm/Support/ErrorHandling.h"

#include <exception>
#include <mutex>
#include <new>

// The only file with exceptions: they pass through code that was compiled
// without, whose frames the unwinder knows all the same on this platform.

namespace {
struct FatalError {
  std::string reason;
};
} // namespace

/// Guarded calls that this thread is in.
static thread_local unsigned depth = 0;

/// Threads that are in no guarded call go LLVM's own way.
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
