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
  /// 128 bytes with atoms of 32 bytes.
  B128Atom32,
  /// B128Atom32 with the 8-byte halves of 16 bytes exchanged in every other
  /// 128-byte line.
  B128Atom32Flip8,
  /// 128 bytes with atoms of 64 bytes.
  B128Atom64,
};

/// "no swizzle", "32-byte swizzle" and so on.
llvm::StringRef getName(SwizzleMode mode);

/// Bytes of a line that are permuted among themselves; 0 without a swizzle.
unsigned getSwizzleSpan(SwizzleMode mode);

/// Period of the pattern in bytes, 256, 512 or 1024, which is also its
/// alignment; 1 without a swizzle.
unsigned getSwizzlePeriod(SwizzleMode mode);

/// Bytes that stay contiguous: 16 (8 with the flip, 32, 64); 128 without a
/// swizzle.
unsigned getSwizzleAtom(SwizzleMode mode);

/// The swizzled address of the byte at `address`. `baseOffset` is the line of
/// the pattern (128 bytes each) at multiples of the period; it is 0 except for
/// descriptors with a base offset. The mapping is an involution.
uint32_t applySwizzle(SwizzleMode mode, uint32_t address,
                      unsigned baseOffset = 0);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_SWIZZLE_H
