//===- Swizzle.cpp - Swizzles of shared memory ------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Units/Swizzle.h"

#include "llvm/Support/ErrorHandling.h"

using namespace fovea::ptx;

// A line of shared memory in the ISA's tables: eight 16-byte chunks.
static constexpr unsigned kLineBytes = 128;

llvm::StringRef fovea::ptx::getName(SwizzleMode mode) {
  switch (mode) {
  case SwizzleMode::None:
    return "no swizzle";
  case SwizzleMode::B32:
    return "32-byte swizzle";
  case SwizzleMode::B64:
    return "64-byte swizzle";
  case SwizzleMode::B96:
    return "96-byte swizzle";
  case SwizzleMode::B128:
    return "128-byte swizzle";
  case SwizzleMode::B128Atom32:
    return "128-byte swizzle of 32-byte atoms";
  case SwizzleMode::B128Atom32Flip8:
    return "128-byte swizzle of 32-byte atoms with 8-byte flips";
  case SwizzleMode::B128Atom64:
    return "128-byte swizzle of 64-byte atoms";
  }
  llvm_unreachable("unknown swizzle");
}

unsigned fovea::ptx::getSwizzleSpan(SwizzleMode mode) {
  switch (mode) {
  case SwizzleMode::None:
    return 0;
  case SwizzleMode::B32:
    return 32;
  case SwizzleMode::B64:
    return 64;
  case SwizzleMode::B96:
    return 96;
  default:
    return 128;
  }
}

unsigned fovea::ptx::getSwizzlePeriod(SwizzleMode mode) {
  switch (mode) {
  case SwizzleMode::None:
    return 1;
  case SwizzleMode::B32:
  case SwizzleMode::B96:
    return 256;
  case SwizzleMode::B64:
    return 512;
  default:
    return 1024;
  }
}

unsigned fovea::ptx::getSwizzleAtom(SwizzleMode mode) {
  switch (mode) {
  case SwizzleMode::None:
    return kLineBytes;
  case SwizzleMode::B128Atom32:
    return 32;
  case SwizzleMode::B128Atom32Flip8:
    return 8;
  case SwizzleMode::B128Atom64:
    return 64;
  default:
    return 16;
  }
}

uint32_t fovea::ptx::applySwizzle(SwizzleMode mode, uint32_t address,
                                  unsigned baseOffset) {
  // The index of the line in the pattern; atoms are permuted by xor with it.
  uint32_t line = address / kLineBytes - baseOffset;
  switch (mode) {
  case SwizzleMode::None:
    return address;
  case SwizzleMode::B32:
  case SwizzleMode::B96:
    return address ^ (line % 2) * 16;
  case SwizzleMode::B64:
    return address ^ (line % 4) * 16;
  case SwizzleMode::B128:
    return address ^ (line % 8) * 16;
  case SwizzleMode::B128Atom32:
    return address ^ (line % 4) * 32;
  case SwizzleMode::B128Atom32Flip8:
    return address ^ (line % 4) * 32 ^ (line % 2) * 8;
  case SwizzleMode::B128Atom64:
    return address ^ (line % 2) * 64;
  }
  llvm_unreachable("unknown swizzle");
}
