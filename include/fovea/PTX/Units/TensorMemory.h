//===- TensorMemory.h - Matrix layouts in tensor memory ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_UNITS_TENSORMEMORY_H
#define FOVEA_PTX_UNITS_TENSORMEMORY_H

#include "fovea/PTX/Units/InstructionDescriptor.h"

namespace fovea::ptx {

inline constexpr unsigned kTensorMemoryLanes = 128;
inline constexpr unsigned kTensorMemoryColumns = 512;

/// An address has the lane in the upper half and the column in the lower half.
inline unsigned getTensorMemoryLane(uint32_t address) { return address >> 16; }
inline unsigned getTensorMemoryColumn(uint32_t address) {
  return address & 0xffff;
}

/// tcgen05.alloc: columns must be a power of two in [32, 512].
llvm::Error checkAllocation(uint32_t columns);

/// A position relative to the instruction's address.
struct TensorMemoryPlace {
  /// 0 or 1: the CTA of the pair (0 has the even rank).
  unsigned cta;
  unsigned lane;
  unsigned column;
  /// The lowest bit within the 32-bit cell.
  unsigned bit;
};

/// The data path layouts of the ISA's table, by their letters.
enum class DataPathLayout : uint8_t { A, B, C, D, E, F, G };

/// The layout of a checked shape (see checkMmaShape).
DataPathLayout getDataPathLayout(const InstructionDescriptor &descriptor,
                                 unsigned ctaGroup, bool weightStationary);

/// Checks the lane of D's (and A's) address: layouts C and F may begin at lane
/// 0 or 16 of each warp's 32 lanes, the others at 0.
llvm::Error checkLaneAlignment(DataPathLayout layout, uint32_t address);

/// The position of element (row, column) of the m x n accumulator: one 32-bit
/// cell per element, f16 in the low half.
TensorMemoryPlace getAccumulatorPlace(DataPathLayout layout, unsigned m,
                                      unsigned n, unsigned row,
                                      unsigned column);

/// Columns of the accumulator.
unsigned getAccumulatorColumns(DataPathLayout layout, unsigned n);

/// The position of element (row, k) of A in tensor memory. Rows are in the
/// accumulator's lanes. Elements of a row are contiguous and packed into 32-bit
/// cells: two of f16 or four of 8 bits; 4-bit and 6-bit elements have four
/// 8-bit containers per cell, or for mxf4 kinds eight. A 6-bit element is in
/// the low bits of its container, e2m1 in bits 2 to 5. In layout B both halves
/// of the lanes must hold the same data (`copy` 0 and 1).
TensorMemoryPlace getOperandAPlace(DataPathLayout layout,
                                   const InstructionDescriptor &descriptor,
                                   unsigned row, unsigned k, unsigned copy = 0);
/// 2 for layouts B and E, 4 for G, else 1.
unsigned getOperandACopies(DataPathLayout layout);

/// The position of the scale of chunk `chunk` of row `row` of A, relative to
/// the rows of one CTA, with `chunks` scales per row and the id of the
/// instruction descriptor. The lanes of all four warps, 32 apart, must hold the
/// same byte: `copy` 0 to 3.
TensorMemoryPlace getScalePlace(unsigned chunks, unsigned id, unsigned row,
                                unsigned chunk, unsigned copy = 0);

/// The same for column `column` of the n columns of B. With .cta_group::2, each
/// CTA holds the scales of all columns and applies them to its rows. In layout
/// B lanes 0 to 63 hold the lower half of the columns, the others the upper
/// half: `copy` 0 and 1.
TensorMemoryPlace getScaleBPlace(DataPathLayout layout, unsigned n,
                                 unsigned chunks, unsigned id, unsigned column,
                                 unsigned chunk, unsigned copy = 0);
unsigned getScaleBCopies(DataPathLayout layout);
inline constexpr unsigned kScaleACopies = 4;

//===----------------------------------------------------------------------===//
// tcgen05.cp
//===----------------------------------------------------------------------===//

/// .4x256b is not modelled: the ISA does not say which lanes it writes.
enum class TensorCopyShape : uint8_t {
  /// .128x256b, .128x128b
  L128x256b,
  L128x128b,
  /// .64x128b with .warpx2::02_13 or .warpx2::01_23
  L64x128b0213,
  L64x128b0123,
  /// .32x128b with .warpx4
  L32x128bx4,
};

/// Parses `shape`, such as "64x128b", and `multicast`, such as "warpx2::02_13"
/// or empty.
llvm::Expected<TensorCopyShape> parseTensorCopyShape(llvm::StringRef shape,
                                                     llvm::StringRef multicast);

/// Rows of the matrix in shared memory and 16-byte units per row. The
/// descriptor must describe a K-major tile.
unsigned getCopyRows(TensorCopyShape shape);
unsigned getCopyUnits(TensorCopyShape shape);
/// Lanes that receive one row: 1, 2 or 4.
unsigned getCopyTargets(TensorCopyShape shape);
/// Lane of target `target` of row `row`. Unit u is written to the four columns
/// from 4 * u on.
unsigned getCopyLane(TensorCopyShape shape, unsigned row, unsigned target);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_TENSORMEMORY_H
