//===- TensorMemory.cpp - Matrix layouts in tensor memory -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Units/TensorMemory.h"

#include "UnitError.h"

#include "llvm/Support/ErrorHandling.h"

using namespace fovea::ptx;
using llvm::Twine;

// A warp accesses 32 lanes; some layouts use only every other 16.
static constexpr unsigned kWarpLanes = 32, kHalfLanes = 16;

llvm::Error fovea::ptx::checkAllocation(uint32_t columns) {
  constexpr unsigned kLeastColumns = 32;
  if (columns >= kLeastColumns && columns <= kTensorMemoryColumns &&
      (columns & (columns - 1)) == 0)
    return llvm::Error::success();
  return makeError("columns of tensor memory must be a power of two in [32, "
                   "512], found " +
                   Twine(columns));
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

DataPathLayout
fovea::ptx::getDataPathLayout(const InstructionDescriptor &descriptor,
                              unsigned ctaGroup, bool weightStationary) {
  if (ctaGroup == 2)
    return descriptor.m == 256 ? DataPathLayout::A
           : descriptor.sparse ? DataPathLayout::C
                               : DataPathLayout::B;
  if (descriptor.m == 128)
    return DataPathLayout::D;
  if (descriptor.m == 32)
    return DataPathLayout::G;
  return weightStationary ? DataPathLayout::E : DataPathLayout::F;
}

llvm::Error fovea::ptx::checkLaneAlignment(DataPathLayout layout,
                                           uint32_t address) {
  unsigned lane = getTensorMemoryLane(address);
  bool isHalf = layout == DataPathLayout::C || layout == DataPathLayout::F;
  if (lane == 0 || (isHalf && lane == kHalfLanes))
    return llvm::Error::success();
  return makeError("the lane of a matrix in tensor memory must be " +
                   Twine(isHalf ? "0 or 16" : "0") + ", found " + Twine(lane));
}

/// Parts of n that are in different lanes.
static unsigned getColumnParts(DataPathLayout layout) {
  switch (layout) {
  case DataPathLayout::B:
  case DataPathLayout::E:
    return 2;
  case DataPathLayout::G:
    return 4;
  default:
    return 1;
  }
}

/// Rows per CTA.
static unsigned getRows(DataPathLayout layout) {
  switch (layout) {
  case DataPathLayout::A:
  case DataPathLayout::D:
    return 128;
  case DataPathLayout::G:
    return 32;
  default:
    return 64;
  }
}

/// The lane of a CTA's row in the lowest part.
static unsigned getLane(DataPathLayout layout, unsigned row) {
  if (layout == DataPathLayout::C || layout == DataPathLayout::F)
    return row / kHalfLanes * kWarpLanes + row % kHalfLanes;
  return row;
}

TensorMemoryPlace fovea::ptx::getAccumulatorPlace(DataPathLayout layout,
                                                  unsigned m, unsigned n,
                                                  unsigned row,
                                                  unsigned column) {
  unsigned rows = getRows(layout), width = getAccumulatorColumns(layout, n);
  return {row / rows, getLane(layout, row % rows) + column / width * rows,
          column % width, 0};
}

unsigned fovea::ptx::getAccumulatorColumns(DataPathLayout layout, unsigned n) {
  return n / getColumnParts(layout);
}

/// Bits per element of A: narrow elements have one byte, except for the 4-bit
/// kinds.
static unsigned getContainerBits(const InstructionDescriptor &descriptor) {
  unsigned bits = getBitWidth(descriptor.aType);
  bool isPacked =
      descriptor.kind == MmaKind::MXF4 || descriptor.kind == MmaKind::MXF4NVF4;
  return bits < 8 && !isPacked ? 8 : bits;
}

TensorMemoryPlace
fovea::ptx::getOperandAPlace(DataPathLayout layout,
                             const InstructionDescriptor &descriptor,
                             unsigned row, unsigned k, unsigned copy) {
  constexpr unsigned kCellBits = 32;
  unsigned rows = getRows(layout), container = getContainerBits(descriptor);
  unsigned bit = k * container;
  // The container is 0b00SEEM00.
  if (descriptor.aType == ElementType::E2M1 && container == 8)
    bit += 2;
  return {row / rows, getLane(layout, row % rows) + copy * rows,
          bit / kCellBits, bit % kCellBits};
}

unsigned fovea::ptx::getOperandACopies(DataPathLayout layout) {
  return getColumnParts(layout);
}

TensorMemoryPlace fovea::ptx::getScalePlace(unsigned chunks, unsigned id,
                                            unsigned row, unsigned chunk,
                                            unsigned copy) {
  constexpr unsigned kByteBits = 8;
  return {0, row % kWarpLanes + copy * kWarpLanes, row / kWarpLanes,
          (id + chunk) * kByteBits};
}

unsigned fovea::ptx::getScaleBCopies(DataPathLayout layout) {
  return kScaleACopies / getColumnParts(layout);
}

TensorMemoryPlace fovea::ptx::getScaleBPlace(DataPathLayout layout, unsigned n,
                                             unsigned chunks, unsigned id,
                                             unsigned column, unsigned chunk,
                                             unsigned copy) {
  unsigned width = getAccumulatorColumns(layout, n);
  unsigned part = column / width;
  return getScalePlace(chunks, id, column % width, chunk,
                       part * getScaleBCopies(layout) + copy);
}

//===----------------------------------------------------------------------===//
// tcgen05.cp
//===----------------------------------------------------------------------===//

llvm::Expected<TensorCopyShape>
fovea::ptx::parseTensorCopyShape(llvm::StringRef shape,
                                 llvm::StringRef multicast) {
  if (multicast.empty()) {
    if (shape == "128x256b")
      return TensorCopyShape::L128x256b;
    if (shape == "128x128b")
      return TensorCopyShape::L128x128b;
    if (shape == "4x256b")
      return makeError("tcgen05.cp of shape 4x256b isn't modelled");
  }
  if (shape == "64x128b" && multicast == "warpx2::02_13")
    return TensorCopyShape::L64x128b0213;
  if (shape == "64x128b" && multicast == "warpx2::01_23")
    return TensorCopyShape::L64x128b0123;
  if (shape == "32x128b" && multicast == "warpx4")
    return TensorCopyShape::L32x128bx4;
  return makeError(
      "tcgen05.cp must have shape 128x256b, 128x128b, 64x128b with "
      "warpx2::02_13 or warpx2::01_23, or 32x128b with warpx4, "
      "found '" +
      shape + "' with '" + multicast + "'");
}

unsigned fovea::ptx::getCopyRows(TensorCopyShape shape) {
  return kTensorMemoryLanes / getCopyTargets(shape);
}

unsigned fovea::ptx::getCopyUnits(TensorCopyShape shape) {
  return shape == TensorCopyShape::L128x256b ? 2 : 1;
}

unsigned fovea::ptx::getCopyTargets(TensorCopyShape shape) {
  switch (shape) {
  case TensorCopyShape::L128x256b:
  case TensorCopyShape::L128x128b:
    return 1;
  case TensorCopyShape::L64x128b0213:
  case TensorCopyShape::L64x128b0123:
    return 2;
  case TensorCopyShape::L32x128bx4:
    return 4;
  }
  llvm_unreachable("unknown shape");
}

unsigned fovea::ptx::getCopyLane(TensorCopyShape shape, unsigned row,
                                 unsigned target) {
  unsigned half = row / kWarpLanes, lane = row % kWarpLanes;
  switch (shape) {
  case TensorCopyShape::L128x256b:
  case TensorCopyShape::L128x128b:
    return row;
  case TensorCopyShape::L64x128b0213:
    // Warps 0 and 2 receive the first half, 1 and 3 the second.
    return (half + 2 * target) * kWarpLanes + lane;
  case TensorCopyShape::L64x128b0123:
    return (2 * half + target) * kWarpLanes + lane;
  case TensorCopyShape::L32x128bx4:
    return target * kWarpLanes + lane;
  }
  llvm_unreachable("unknown shape");
}
