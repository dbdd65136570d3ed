//===- MatrixDescriptor.h - Matrices in shared memory -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_UNITS_MATRIXDESCRIPTOR_H
#define FOVEA_PTX_UNITS_MATRIXDESCRIPTOR_H

#include "fovea/PTX/Units/Numeric.h"
#include "fovea/PTX/Units/Swizzle.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace fovea::ptx {

/// Whose 64-bit descriptor it is: they differ in the upper bits.
enum class DescriptorFormat : uint8_t { Wgmma, Tcgen05 };

/// Whether k or the other dimension (m of A, n of B) is contiguous.
enum class MajorDim : uint8_t { K, MN };

/// A shared-memory matrix descriptor, decoded.
struct MatrixDescriptor {
  /// Bytes, multiples of 16 below 2^18.
  uint32_t startAddress = 0;
  uint32_t leadingOffset = 0;
  uint32_t strideOffset = 0;
  unsigned baseOffset = 0;
  /// tcgen05: `leadingOffset` is the address of the second chunk.
  bool leadingIsAddress = false;
  SwizzleMode swizzle = SwizzleMode::None;
};

/// Takes the bits apart. Reserved bits that aren't zero, constants that aren't
/// what the ISA fixes and undefined swizzles are errors that name the bits.
llvm::Expected<MatrixDescriptor>
decodeMatrixDescriptor(uint64_t bits, DescriptorFormat format);

/// The inverse, for tests and tools.
uint64_t encodeMatrixDescriptor(const MatrixDescriptor &descriptor,
                                DescriptorFormat format);

/// An operand of one instruction in shared memory.
struct OperandTile {
  ElementType type = ElementType::F16;
  MajorDim major = MajorDim::K;
  /// m of A or n of B, and k, in elements.
  unsigned extent = 0;
  unsigned k = 0;
  /// Types of 4 and 6 bits: 16 elements take 16 bytes, as f8f6f4 kinds have
  /// them (b4x16_p64, b6x16_p32). False for mxf4 kinds: 32 in 16 bytes.
  bool padded = true;
};

/// Elements that 16 bytes of the tile hold.
unsigned getUnitElements(const OperandTile &tile);

/// Whether the unit reads such a tile: type against major-ness and swizzle, the
/// extents against the pattern's, offsets' and base offset's alignment.
llvm::Error checkOperandTile(const MatrixDescriptor &descriptor,
                             const OperandTile &tile, DescriptorFormat format);

/// The address, in the 32-bit shared window of the CTA, of the 16 bytes that
/// hold element (mn, k) of the tile.
uint32_t getUnitAddress(const MatrixDescriptor &descriptor,
                        const OperandTile &tile, unsigned mn, unsigned k);

/// The address of the byte that holds the lowest bit of element (mn, k), and in
/// `bit` which bit of it that is (0 but for elements of 4 and 6 bits).
uint32_t getElementAddress(const MatrixDescriptor &descriptor,
                           const OperandTile &tile, unsigned mn, unsigned k,
                           unsigned *bit = nullptr);

/// All 16-byte units of the tile: `visit(address, mn, k)` with the first
/// element of each.
void forEachUnit(const MatrixDescriptor &descriptor, const OperandTile &tile,
                 llvm::function_ref<void(uint32_t, unsigned, unsigned)> visit);

/// Reads the tile: element (mn, k) goes to result[mn * mnStride + k * kStride],
/// widened. `read` gives the 16 bytes at an address, or null, which ends the
/// walk (the caller knows why). Float types of at most 32 bits and s8, u8.
bool readOperandTile(const MatrixDescriptor &descriptor,
                     const OperandTile &tile,
                     llvm::function_ref<const uint8_t *(uint32_t)> read,
                     float *result, size_t mnStride, size_t kStride);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_MATRIXDESCRIPTOR_H
