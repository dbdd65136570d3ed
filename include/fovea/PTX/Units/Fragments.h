//===- Fragments.h - Register fragments of matrices -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_UNITS_FRAGMENTS_H
#define FOVEA_PTX_UNITS_FRAGMENTS_H

#include "fovea/PTX/Units/Numeric.h"

#include "llvm/Support/Error.h"

namespace fovea::ptx {

/// The position of a matrix element.
struct Coordinate {
  unsigned row, column;
};
inline bool operator==(Coordinate a, Coordinate b) {
  return a.row == b.row && a.column == b.column;
}

/// A is m x k, B is k x n, C and D are m x n. Coordinates always use this
/// orientation.
enum class MmaOperand : uint8_t { A, B, D };

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

struct MmaShape {
  unsigned m, n, k;
};

/// Fails for shapes that mma.sync does not have for this type of A and B, or
/// that are not modelled (m8n8k4 of f16, sparse, sub-byte integers).
llvm::Error checkMmaSync(MmaShape shape, ElementType type);

/// Elements of the operand per lane. `type` is the type of A and B, also for
/// operand D.
unsigned getMmaElements(MmaShape shape, ElementType type, MmaOperand operand);

/// The position of element `index` of lane `lane`. Elements are counted as in
/// the ISA: over the registers, and within each from the low bits up. For a
/// 32-bit register r of A or B with e elements, `index` is r * e + position.
Coordinate getMmaElement(MmaShape shape, ElementType type, MmaOperand operand,
                         unsigned lane, unsigned index);

//===----------------------------------------------------------------------===//
// ldmatrix, stmatrix
//===----------------------------------------------------------------------===//

/// ldmatrix .m16n16 is not modelled: the ISA shows the order of its bytes only
/// in a figure, and other sources disagree.
enum class LoadMatrixShape : uint8_t {
  /// .m8n8 of .b16: rows of 16 bytes.
  M8N8B16,
  /// ldmatrix .m8n16 of .b8x16.b6x16_p32: 16 six-bit elements in 12 of a row's
  /// 16 bytes.
  M8N16B6,
  /// ldmatrix .m8n16 of .b8x16.b4x16_p64: 16 four-bit elements in 8 of a row's
  /// 16 bytes.
  M8N16B4,
  /// stmatrix .m16n8 of .b8, always .trans: columns of 16 bytes in registers
  /// become eight rows in memory.
  M16N8B8,
};

/// Rows per matrix. Lane `row + rows * matrix` supplies the address of row
/// `row` of matrix `matrix`.
unsigned getMatrixRows(LoadMatrixShape shape);
/// Bytes per row in shared memory.
unsigned getMatrixRowBytes(LoadMatrixShape shape);
/// 32-bit registers per lane and matrix.
unsigned getMatrixRegisters(LoadMatrixShape shape);

/// A matrix element in memory: element `column` of row `row` of matrix
/// `matrix`.
struct MatrixElement {
  unsigned matrix, row, column;
};

/// The element in register `reg` of lane `lane` at `position` (16-bit halves or
/// bytes, low first). `transposed` means .trans.
MatrixElement getMatrixElement(LoadMatrixShape shape, bool transposed,
                               unsigned lane, unsigned reg, unsigned position);

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

/// Accumulators m64nN: N / 2 per thread. `thread` is in [0, 128), relative to
/// the warp group. With f16 accumulators, element 2 * r is the low half of
/// register r.
Coordinate getWgmmaAccumulator(unsigned thread, unsigned index);

/// A in registers, m64kK with K * bits = 256: elements of the four 32-bit
/// registers, low bits first.
Coordinate getWgmmaOperandA(ElementType type, unsigned thread, unsigned index);

//===----------------------------------------------------------------------===//
// tcgen05.ld, tcgen05.st
//===----------------------------------------------------------------------===//

enum class TensorMemoryShape : uint8_t {
  L32x32b,
  L16x64b,
  L16x128b,
  L16x256b,
  L16x32bx2,
};

/// Parses "32x32b" and so on.
llvm::Expected<TensorMemoryShape> parseTensorMemoryShape(llvm::StringRef name);

/// Number of 32-bit registers of .xNUM; fails if the form does not exist.
llvm::Expected<unsigned> getTensorMemoryRegisters(TensorMemoryShape shape,
                                                  unsigned num);

/// A 32-bit cell relative to the instruction's address.
struct TensorMemoryCell {
  /// Lane offset, 0 to 31.
  unsigned lane;
  /// Column offset.
  unsigned column;
  /// 1 for the second access of .16x32bx2, to which the instruction's immediate
  /// offset is added.
  unsigned half;
};

/// The cell of register `reg` of lane `lane`. With .pack::16b and .unpack::16b,
/// a register holds the 16-bit cells of columns 2 * c and 2 * c + 1; see
/// getPackedTensorMemoryCell.
TensorMemoryCell getTensorMemoryCell(TensorMemoryShape shape, unsigned lane,
                                     unsigned reg);

/// With .pack::16b (ld) and .unpack::16b (st): the cell whose low 16 bits are
/// in the low (`part` 0) or high (`part` 1) half of register `reg`.
TensorMemoryCell getPackedTensorMemoryCell(TensorMemoryShape shape,
                                           unsigned lane, unsigned reg,
                                           unsigned part);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_FRAGMENTS_H
