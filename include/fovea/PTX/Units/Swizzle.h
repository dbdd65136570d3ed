//===- Swizzle.h - Swizzles of shared memory --------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_UNITS_SWIZZLE_H
#define FOVEA_PTX_UNITS_SWIZZLE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace fovea::ptx {

enum class SwizzleMode : uint8_t {
  None,
  B32,
  B64,
  B96,
  B128,
  /// 128 bytes, of which 32 stay together.
  B128Atom32,
  /// As B128Atom32, and 8-byte halves of 16 bytes are exchanged in every other
  /// line of 128 bytes.
  B128Atom32Flip8,
  /// 128 bytes, of which 64 stay together.
  B128Atom64,
};

/// "no swizzle", "32-byte swizzle" and so on.
llvm::StringRef getName(SwizzleMode mode);

/// Bytes of a line that are permuted among themselves; 0 without a swizzle.
unsigned getSwizzleSpan(SwizzleMode mode);

/// Bytes after which the pattern begins anew, from a multiple of which it
/// starts: 256, 512, 1024; 1 without a swizzle.
unsigned getSwizzlePeriod(SwizzleMode mode);

/// Bytes that stay neighbours: 16 (8 with the flip, 32, 64); for no swizzle
/// anything does, and this is 128.
unsigned getSwizzleAtom(SwizzleMode mode);

/// Where the byte that belongs at `address` lies. `baseOffset` is the line of
/// the pattern (128 bytes each) at which multiples of the period are: 0 but for
/// descriptors with a base offset. An involution.
uint32_t applySwizzle(SwizzleMode mode, uint32_t address,
                      unsigned baseOffset = 0);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_SWIZZLE_H
