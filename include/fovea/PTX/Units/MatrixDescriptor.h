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

/// The format of a 64-bit descriptor; formats differ in the upper bits.
enum class DescriptorFormat : uint8_t { Wgmma, Tcgen05 };

/// The contiguous dimension: k, or the other one (m of A, n of B).
enum class MajorDim : uint8_t { K, MN };

/// A decoded shared-memory matrix descriptor.
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

/// Decodes a descriptor. Nonzero reserved bits, wrong fixed values and
/// undefined swizzles are errors that name the bits.
llvm::Expected<MatrixDescriptor>
decodeMatrixDescriptor(uint64_t bits, DescriptorFormat format);

/// The inverse of decodeMatrixDescriptor, for tests and tools.
uint64_t encodeMatrixDescriptor(const MatrixDescriptor &descriptor,
                                DescriptorFormat format);

/// A shared-memory operand of one instruction.
struct OperandTile {
  ElementType type = ElementType::F16;
  MajorDim major = MajorDim::K;
  /// m of A or n of B, and k, in elements.
  unsigned extent = 0;
  unsigned k = 0;
  /// For 4-bit and 6-bit types: true if 16 elements occupy 16 bytes (b4x16_p64
  /// and b6x16_p32 of the f8f6f4 kinds), false for mxf4 kinds, with 32 elements
  /// in 16 bytes.
  bool padded = true;
};

/// Elements in 16 bytes of the tile.
unsigned getUnitElements(const OperandTile &tile);

/// Checks that the MMA unit can read the tile: the type against major-ness and
/// swizzle, the extents against the pattern, and the alignment of the offsets
/// and the base offset.
llvm::Error checkOperandTile(const MatrixDescriptor &descriptor,
                             const OperandTile &tile, DescriptorFormat format);

/// The address, in the CTA's 32-bit shared window, of the 16 bytes that contain
/// element (mn, k) of the tile.
uint32_t getUnitAddress(const MatrixDescriptor &descriptor,
                        const OperandTile &tile, unsigned mn, unsigned k);

/// The address of the byte that contains the lowest bit of element (mn, k).
/// `bit` is the bit within that byte, 0 except for 4-bit and 6-bit elements.
uint32_t getElementAddress(const MatrixDescriptor &descriptor,
                           const OperandTile &tile, unsigned mn, unsigned k,
                           unsigned *bit = nullptr);

/// Calls `visit(address, mn, k)` for each 16-byte unit of the tile, with its
/// first element.
void forEachUnit(const MatrixDescriptor &descriptor, const OperandTile &tile,
                 llvm::function_ref<void(uint32_t, unsigned, unsigned)> visit);

/// Reads the tile: element (mn, k) is converted and stored to result[mn *
/// mnStride + k * kStride]. `read` returns the 16 bytes at an address; null
/// ends the enumeration after an error. Supports float types of at most 32
/// bits, s8 and u8.
bool readOperandTile(const MatrixDescriptor &descriptor,
                     const OperandTile &tile,
                     llvm::function_ref<const uint8_t *(uint32_t)> read,
                     float *result, size_t mnStride, size_t kStride);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_MATRIXDESCRIPTOR_H
