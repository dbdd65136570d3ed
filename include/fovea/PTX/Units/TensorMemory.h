//===- TensorMemory.h - Where matrices lie in tensor memory -----*- C++ -*-===//
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

/// Addresses hold the lane in the upper, the column in the lower half.
inline unsigned getTensorMemoryLane(uint32_t address) { return address >> 16; }
inline unsigned getTensorMemoryColumn(uint32_t address) {
  return address & 0xffff;
}

/// tcgen05.alloc: columns must be a power of two in [32, 512].
llvm::Error checkAllocation(uint32_t columns);

/// A place relative to the address that the instruction names.
struct TensorMemoryPlace {
  /// 0 or 1: the CTA of the pair (0 is the one of even rank).
  unsigned cta;
  unsigned lane;
  unsigned column;
  /// Bits of the 32-bit cell, from `bit` on.
  unsigned bit;
};

/// The layouts of the ISA's table, by their letters there.
enum class DataPathLayout : uint8_t { A, B, C, D, E, F, G };

/// For a checked shape (see checkMmaShape).
DataPathLayout getDataPathLayout(const InstructionDescriptor &descriptor,
                                 unsigned ctaGroup, bool weightStationary);

/// What the lane of D's (and A's) address must be: layouts C and F may begin at
/// lane 0 or 16 of each warp's 32, the others at 0.
llvm::Error checkLaneAlignment(DataPathLayout layout, uint32_t address);

/// Element (row, column) of the m x n accumulator: one 32-bit cell each, f16 in
/// the low half.
TensorMemoryPlace getAccumulatorPlace(DataPathLayout layout, unsigned m,
                                      unsigned n, unsigned row,
                                      unsigned column);

/// Columns that the accumulator takes.
unsigned getAccumulatorColumns(DataPathLayout layout, unsigned n);

/// Element (row, k) of A in tensor memory: rows lie as the accumulator's do,
/// elements follow one another in a row, several to a cell (32-bit cells hold
/// two f16, four of 8 bits; of 4 and 6 bits four in 8-bit containers, or eight
/// for mxf4 kinds). Layout B's lanes of both halves hold the same (`copy`
/// 0 and 1): chips read both.
TensorMemoryPlace getOperandAPlace(DataPathLayout layout,
                                   const InstructionDescriptor &descriptor,
                                   unsigned row, unsigned k, unsigned copy = 0);
/// 2 for layout B (and E; 4 for G), else 1.
unsigned getOperandACopies(DataPathLayout layout);

/// The scale of chunk `chunk` of row `row` of A (for B: of column `row`), with
/// `chunks` scales a row and the id of the instruction descriptor. The same
/// byte must be in the lanes of all four warps, 32 apart: `copy` 0 to 3. With
/// .cta_group::2, `row` counts A's rows of one CTA, but all columns of B: each
/// CTA has all of B's scales.
TensorMemoryPlace getScalePlace(unsigned chunks, unsigned id, unsigned row,
                                unsigned chunk, unsigned copy = 0);

//===----------------------------------------------------------------------===//
// tcgen05.cp
//===----------------------------------------------------------------------===//

/// .4x256b isn't modelled: the ISA doesn't say which lanes it writes.
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

/// `shape` as "64x128b", `multicast` as "warpx2::02_13" or empty.
llvm::Expected<TensorCopyShape> parseTensorCopyShape(llvm::StringRef shape,
                                                     llvm::StringRef multicast);

/// Rows of the matrix in shared memory and 16-byte units of a row: the tile
/// that the descriptor is to be read as is K-major.
unsigned getCopyRows(TensorCopyShape shape);
unsigned getCopyUnits(TensorCopyShape shape);
/// Lanes that hold one row: 1, 2 or 4.
unsigned getCopyTargets(TensorCopyShape shape);
/// The lane of target `target` of row `row`. Unit u goes to the four columns
/// from 4 * u on.
unsigned getCopyLane(TensorCopyShape shape, unsigned row, unsigned target);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_TENSORMEMORY_H
