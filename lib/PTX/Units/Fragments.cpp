//===- Fragments.cpp - Register fragments of matrices ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Units/Fragments.h"

#include "UnitError.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

using namespace fovea::ptx;

// Lanes form eight groups of four: a group holds a row of A and D, or a column
// of B.
static unsigned getGroup(unsigned lane) { return lane / 4; }
static unsigned getInGroup(unsigned lane) { return lane % 4; }

static constexpr unsigned kLanes = 32, kHalfRows = 8;

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

/// Elements of A and B per register (64 bits for f64).
static unsigned getPerRegister(MmaShape shape, ElementType type) {
  switch (getBitWidth(type)) {
  case 64:
  case 32:
    return 1;
  case 16:
    return 2;
  case 4:
    // Eight bits each, except for the kinds with k = 64.
    return shape.k == 64 ? 8 : 4;
  default:
    return 4;
  }
}

static llvm::ArrayRef<MmaShape> getMmaShapes(ElementType type) {
  static constexpr MmaShape f16[] = {{16, 8, 8}, {16, 8, 16}};
  static constexpr MmaShape tf32[] = {{16, 8, 4}, {16, 8, 8}};
  static constexpr MmaShape f64[] = {
      {8, 8, 4}, {16, 8, 4}, {16, 8, 8}, {16, 8, 16}};
  static constexpr MmaShape integer[] = {{8, 8, 16}, {16, 8, 16}, {16, 8, 32}};
  static constexpr MmaShape f8[] = {{16, 8, 16}, {16, 8, 32}};
  static constexpr MmaShape f6[] = {{16, 8, 32}};
  static constexpr MmaShape f4[] = {{16, 8, 32}, {16, 8, 64}};
  switch (type) {
  case ElementType::F16:
  case ElementType::BF16:
    return f16;
  case ElementType::TF32:
    return tf32;
  case ElementType::F64:
    return f64;
  case ElementType::S8:
  case ElementType::U8:
    return integer;
  case ElementType::E4M3:
  case ElementType::E5M2:
    return f8;
  case ElementType::E2M3:
  case ElementType::E3M2:
    return f6;
  case ElementType::E2M1:
    return f4;
  default:
    return {};
  }
}

llvm::Error fovea::ptx::checkMmaSync(MmaShape shape, ElementType type) {
  auto shapes = getMmaShapes(type);
  if (llvm::any_of(shapes, [&](MmaShape other) {
        return other.m == shape.m && other.n == shape.n && other.k == shape.k;
      }))
    return llvm::Error::success();
  std::string known;
  for (MmaShape other : shapes)
    known += (known.empty() ? "" : ", ") +
             ("m" + llvm::Twine(other.m) + "n" + llvm::Twine(other.n) + "k" +
              llvm::Twine(other.k))
                 .str();
  return makeError("mma of ." + getName(type) + " has the modelled shapes " +
                   (known.empty() ? "(none)" : known) + ", found m" +
                   llvm::Twine(shape.m) + "n" + llvm::Twine(shape.n) + "k" +
                   llvm::Twine(shape.k));
}

unsigned fovea::ptx::getMmaElements(MmaShape shape, ElementType type,
                                    MmaOperand operand) {
  switch (operand) {
  case MmaOperand::A:
    return shape.m * shape.k / kLanes;
  case MmaOperand::B:
    return shape.k * shape.n / kLanes;
  case MmaOperand::D:
    return shape.m * shape.n / kLanes;
  }
  llvm_unreachable("unknown operand");
}

/// A register of A: alternates between rows of the upper and lower half, then
/// advances along k.
static Coordinate getOperandA(bool halves, unsigned perRegister, unsigned lane,
                              unsigned index) {
  unsigned reg = index / perRegister, position = index % perRegister;
  unsigned row = getGroup(lane) + (halves ? kHalfRows * (reg % 2) : 0);
  unsigned chunk = halves ? reg / 2 : reg;
  return {row, (4 * chunk + getInGroup(lane)) * perRegister + position};
}

Coordinate fovea::ptx::getMmaElement(MmaShape shape, ElementType type,
                                     MmaOperand operand, unsigned lane,
                                     unsigned index) {
  bool halves = shape.m == 2 * kHalfRows;
  unsigned perRegister = getPerRegister(shape, type);
  switch (operand) {
  case MmaOperand::A:
    return getOperandA(halves, perRegister, lane, index);
  case MmaOperand::B: {
    // Like A with eight rows, transposed.
    Coordinate place = getOperandA(false, perRegister, lane, index);
    return {place.column, place.row};
  }
  case MmaOperand::D:
    return {getGroup(lane) + kHalfRows * (index / 2),
            2 * getInGroup(lane) + index % 2};
  }
  llvm_unreachable("unknown operand");
}

//===----------------------------------------------------------------------===//
// ldmatrix, stmatrix
//===----------------------------------------------------------------------===//

unsigned fovea::ptx::getMatrixRows(LoadMatrixShape shape) { return 8; }

unsigned fovea::ptx::getMatrixRowBytes(LoadMatrixShape shape) { return 16; }

unsigned fovea::ptx::getMatrixRegisters(LoadMatrixShape shape) { return 1; }

MatrixElement fovea::ptx::getMatrixElement(LoadMatrixShape shape,
                                           bool transposed, unsigned lane,
                                           unsigned reg, unsigned position) {
  unsigned group = getGroup(lane), inGroup = getInGroup(lane);
  switch (shape) {
  case LoadMatrixShape::M8N8B16: {
    unsigned along = 2 * inGroup + position;
    return transposed ? MatrixElement{reg, along, group}
                      : MatrixElement{reg, group, along};
  }
  case LoadMatrixShape::M8N16B6:
  case LoadMatrixShape::M8N16B4:
    return {reg, group, 4 * inGroup + position};
  case LoadMatrixShape::M16N8B8:
    // Registers hold it like an accumulator: two adjacent elements of a row of
    // the upper half, then of the lower one. Columns are rows in memory.
    return {reg, 2 * inGroup + position % 2,
            group + kHalfRows * (position / 2)};
  }
  llvm_unreachable("unknown shape");
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

static constexpr unsigned kWarpRows = 16;

Coordinate fovea::ptx::getWgmmaAccumulator(unsigned thread, unsigned index) {
  unsigned lane = thread % kLanes, warp = thread / kLanes;
  return {kWarpRows * warp + getGroup(lane) + kHalfRows * (index / 2 % 2),
          kHalfRows * (index / 4) + 2 * getInGroup(lane) + index % 2};
}

Coordinate fovea::ptx::getWgmmaOperandA(ElementType type, unsigned thread,
                                        unsigned index) {
  unsigned lane = thread % kLanes, warp = thread / kLanes;
  Coordinate place = getOperandA(true, 32 / getBitWidth(type), lane, index);
  return {kWarpRows * warp + place.row, place.column};
}

//===----------------------------------------------------------------------===//
// tcgen05.ld, tcgen05.st
//===----------------------------------------------------------------------===//

llvm::Expected<TensorMemoryShape>
fovea::ptx::parseTensorMemoryShape(llvm::StringRef name) {
  int shape = llvm::StringSwitch<int>(name)
                  .Case("32x32b", int(TensorMemoryShape::L32x32b))
                  .Case("16x64b", int(TensorMemoryShape::L16x64b))
                  .Case("16x128b", int(TensorMemoryShape::L16x128b))
                  .Case("16x256b", int(TensorMemoryShape::L16x256b))
                  .Case("16x32bx2", int(TensorMemoryShape::L16x32bx2))
                  .Default(-1);
  if (shape < 0)
    return makeError("shape of tensor memory accesses must be 32x32b, 16x64b, "
                     "16x128b, 16x256b or 16x32bx2, found '" +
                     name + "'");
  return TensorMemoryShape(shape);
}

/// Registers of .x1.
static unsigned getRepeatRegisters(TensorMemoryShape shape) {
  switch (shape) {
  case TensorMemoryShape::L32x32b:
  case TensorMemoryShape::L16x64b:
  case TensorMemoryShape::L16x32bx2:
    return 1;
  case TensorMemoryShape::L16x128b:
    return 2;
  case TensorMemoryShape::L16x256b:
    return 4;
  }
  llvm_unreachable("unknown shape");
}

llvm::Expected<unsigned>
fovea::ptx::getTensorMemoryRegisters(TensorMemoryShape shape, unsigned num) {
  constexpr unsigned kMostRegisters = 128;
  unsigned registers = num * getRepeatRegisters(shape);
  if (num == 0 || (num & (num - 1)) != 0 || num > kMostRegisters ||
      registers > kMostRegisters)
    return makeError("repetitions of tensor memory accesses must be a power of "
                     "two with at most 128 registers, found .x" +
                     llvm::Twine(num));
  return registers;
}

/// The cell of one access; a column is 32 bits wide.
static TensorMemoryCell getCell(TensorMemoryShape shape, unsigned lane,
                                unsigned reg) {
  switch (shape) {
  case TensorMemoryShape::L32x32b:
    return {lane, reg, 0};
  case TensorMemoryShape::L16x64b:
    // Even lanes hold the upper eight rows, odd lanes the lower eight.
    return {getGroup(lane) + kHalfRows * (lane % 2), 2 * reg + lane / 2 % 2, 0};
  case TensorMemoryShape::L16x128b:
    return {getGroup(lane) + kHalfRows * (reg % 2),
            4 * (reg / 2) + getInGroup(lane), 0};
  case TensorMemoryShape::L16x256b:
    // Like an accumulator of mma.sync.
    return {getGroup(lane) + kHalfRows * (reg / 2 % 2),
            8 * (reg / 4) + 2 * getInGroup(lane) + reg % 2, 0};
  case TensorMemoryShape::L16x32bx2:
    return {lane % 16, reg, lane / 16};
  }
  llvm_unreachable("unknown shape");
}

TensorMemoryCell fovea::ptx::getTensorMemoryCell(TensorMemoryShape shape,
                                                 unsigned lane, unsigned reg) {
  return getCell(shape, lane, reg);
}

TensorMemoryCell fovea::ptx::getPackedTensorMemoryCell(TensorMemoryShape shape,
                                                       unsigned lane,
                                                       unsigned reg,
                                                       unsigned part) {
  TensorMemoryCell cell = getCell(shape, lane, reg);
  cell.column = 2 * cell.column + part;
  return cell;
}
