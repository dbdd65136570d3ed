//===- MatrixDescriptor.cpp - Matrices in shared memory ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Units/MatrixDescriptor.h"

#include "UnitError.h"

#include "llvm/Support/ErrorHandling.h"

#include <cassert>

using namespace fovea::ptx;
using llvm::Twine;

// The layout unit is 16 bytes; patterns have groups of eight units.
static constexpr unsigned kUnitBytes = 16, kGroup = 8;
// Addresses and offsets in descriptors have 18 bits and wrap around.
static constexpr uint32_t kAddressMask = 0x3ffff;

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static uint64_t getBits(uint64_t bits, unsigned first, unsigned count) {
  return (bits >> first) & ((uint64_t(1) << count) - 1);
}

static llvm::Error checkFixed(uint64_t bits, unsigned first, unsigned last,
                              uint64_t expected) {
  uint64_t found = getBits(bits, first, last - first + 1);
  if (found == expected)
    return llvm::Error::success();
  return makeError("bits " + Twine(first) + "-" + Twine(last) +
                   " of a matrix descriptor must be " + Twine(expected) +
                   ", found " + Twine(found) + " in 0x" +
                   Twine::utohexstr(bits));
}

static llvm::Error checkReserved(uint64_t bits, DescriptorFormat format) {
  struct Field {
    unsigned first, last;
    uint64_t value;
  };
  static constexpr Field wgmma[] = {
      {14, 15, 0}, {30, 31, 0}, {46, 48, 0}, {52, 61, 0}};
  static constexpr Field tcgen05[] = {
      {14, 15, 0}, {30, 31, 0}, {46, 48, 1}, {53, 60, 0}};
  for (const Field &field : format == DescriptorFormat::Wgmma ? wgmma : tcgen05)
    if (llvm::Error error =
            checkFixed(bits, field.first, field.last, field.value))
      return error;
  return llvm::Error::success();
}

static llvm::Expected<SwizzleMode> decodeSwizzle(uint64_t bits,
                                                 DescriptorFormat format) {
  if (format == DescriptorFormat::Wgmma) {
    static constexpr SwizzleMode modes[] = {SwizzleMode::None,
                                            SwizzleMode::B128, SwizzleMode::B64,
                                            SwizzleMode::B32};
    return modes[getBits(bits, 62, 2)];
  }
  switch (getBits(bits, 61, 3)) {
  case 0:
    return SwizzleMode::None;
  case 1:
    return SwizzleMode::B128Atom32;
  case 2:
    return SwizzleMode::B128;
  case 4:
    return SwizzleMode::B64;
  case 6:
    return SwizzleMode::B32;
  default:
    return makeError("bits 61-63 of a matrix descriptor must be 0, 1, 2, 4 or "
                     "6, the swizzles, found " +
                     Twine(getBits(bits, 61, 3)));
  }
}

llvm::Expected<MatrixDescriptor>
fovea::ptx::decodeMatrixDescriptor(uint64_t bits, DescriptorFormat format) {
  if (llvm::Error error = checkReserved(bits, format))
    return error;
  auto swizzle = decodeSwizzle(bits, format);
  if (!swizzle)
    return swizzle.takeError();
  MatrixDescriptor descriptor;
  descriptor.startAddress = uint32_t(getBits(bits, 0, 14)) * kUnitBytes;
  descriptor.leadingOffset = uint32_t(getBits(bits, 16, 14)) * kUnitBytes;
  descriptor.strideOffset = uint32_t(getBits(bits, 32, 14)) * kUnitBytes;
  descriptor.baseOffset = unsigned(getBits(bits, 49, 3));
  descriptor.leadingIsAddress =
      format == DescriptorFormat::Tcgen05 && getBits(bits, 52, 1);
  descriptor.swizzle = *swizzle;
  if (descriptor.swizzle == SwizzleMode::None && descriptor.baseOffset)
    return makeError("the base offset of a matrix descriptor must be 0 without "
                     "a swizzle, found " +
                     Twine(descriptor.baseOffset));
  return descriptor;
}

uint64_t fovea::ptx::encodeMatrixDescriptor(const MatrixDescriptor &descriptor,
                                            DescriptorFormat format) {
  auto encode = [](uint32_t bytes) {
    return uint64_t(bytes & kAddressMask) / kUnitBytes;
  };
  uint64_t bits = encode(descriptor.startAddress) |
                  encode(descriptor.leadingOffset) << 16 |
                  encode(descriptor.strideOffset) << 32 |
                  uint64_t(descriptor.baseOffset) << 49;
  bool isWgmma = format == DescriptorFormat::Wgmma;
  if (!isWgmma)
    bits |= uint64_t(1) << 46 | uint64_t(descriptor.leadingIsAddress) << 52;
  switch (descriptor.swizzle) {
  case SwizzleMode::None:
    return bits;
  case SwizzleMode::B32:
    return bits | uint64_t(isWgmma ? 3 : 6) << (isWgmma ? 62 : 61);
  case SwizzleMode::B64:
    return bits | uint64_t(isWgmma ? 2 : 4) << (isWgmma ? 62 : 61);
  case SwizzleMode::B128:
    return bits | uint64_t(isWgmma ? 1 : 2) << (isWgmma ? 62 : 61);
  case SwizzleMode::B128Atom32:
    assert(!isWgmma && "wgmma has no such swizzle");
    return bits | uint64_t(1) << 61;
  default:
    llvm_unreachable("matrix descriptors have no such swizzle");
  }
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

unsigned fovea::ptx::getUnitElements(const OperandTile &tile) {
  unsigned bits = getBitWidth(tile.type);
  if (bits < 8 && tile.padded)
    return kUnitBytes;
  return kUnitBytes * 8 / bits;
}

static llvm::Error checkMajor(const MatrixDescriptor &descriptor,
                              const OperandTile &tile,
                              DescriptorFormat format) {
  unsigned bits = getBitWidth(tile.type);
  bool isAtom32 = descriptor.swizzle == SwizzleMode::B128Atom32;
  if (tile.major == MajorDim::K) {
    if (isAtom32)
      return makeError("a 128-byte swizzle of 32-byte atoms isn't modelled for "
                       "K-major matrices");
    return llvm::Error::success();
  }
  if (format == DescriptorFormat::Wgmma && bits != 16)
    return makeError(
        "transposed operands of wgmma must be f16 or bf16, found ." +
        getName(tile.type));
  if (bits < 8)
    return makeError("operands of ." + getName(tile.type) +
                     " can't be transposed");
  if (format == DescriptorFormat::Tcgen05 && (bits == 32) != isAtom32)
    return makeError(
        "transposed operands of tcgen05.mma must have the 128-byte "
        "swizzle of 32-byte atoms if they are tf32, another one "
        "otherwise, found ." +
        getName(tile.type) + " and " + getName(descriptor.swizzle));
  return llvm::Error::success();
}

llvm::Error fovea::ptx::checkOperandTile(const MatrixDescriptor &descriptor,
                                         const OperandTile &tile,
                                         DescriptorFormat format) {
  if (llvm::Error error = checkMajor(descriptor, tile, format))
    return error;
  if (descriptor.leadingIsAddress)
    return makeError("matrix descriptors with an absolute leading dimension "
                     "(bit 52) aren't modelled");
  unsigned unit = getUnitElements(tile);
  unsigned step = tile.major == MajorDim::K                       ? unit
                  : descriptor.swizzle == SwizzleMode::B128Atom32 ? 4
                                                                  : kGroup;
  if (tile.k == 0 || tile.k % step)
    return makeError("k of an operand in shared memory must be a multiple of " +
                     Twine(step) + ", found " + Twine(tile.k));
  unsigned rows = tile.major == MajorDim::K ? kGroup : unit;
  // Rows of A and columns of B are multiples of 8; n of 8-bit types is a
  // multiple of 16.
  if (tile.extent == 0 || tile.extent % rows)
    return makeError("rows of an operand in shared memory must be a multiple "
                     "of " +
                     Twine(rows) + ", found " + Twine(tile.extent));
  return llvm::Error::success();
}

/// Offset of the unit in bytes before swizzling.
static uint32_t getUnitOffset(const MatrixDescriptor &descriptor,
                              const OperandTile &tile, unsigned mn,
                              unsigned k) {
  uint32_t leading = descriptor.leadingOffset, stride = descriptor.strideOffset;
  unsigned span = getSwizzleSpan(descriptor.swizzle);
  unsigned unit = getUnitElements(tile);
  if (tile.major == MajorDim::K) {
    unsigned column = k / unit;
    uint32_t groups = mn / kGroup * stride;
    return span ? mn % kGroup * span + groups + column * kUnitBytes
                : mn % kGroup * kUnitBytes + groups + column * leading;
  }
  unsigned row = mn / unit;
  if (!span)
    return row * stride + k % kGroup * kUnitBytes + k / kGroup * leading;
  unsigned units = span / kUnitBytes;
  // Patterns with 32-byte atoms have four lines.
  unsigned lines = descriptor.swizzle == SwizzleMode::B128Atom32 ? 4 : kGroup;
  return row % units * kUnitBytes + row / units * leading + k % lines * span +
         k / lines * stride;
}

uint32_t fovea::ptx::getUnitAddress(const MatrixDescriptor &descriptor,
                                    const OperandTile &tile, unsigned mn,
                                    unsigned k) {
  uint32_t address =
      descriptor.startAddress + getUnitOffset(descriptor, tile, mn, k);
  return applySwizzle(descriptor.swizzle, address & kAddressMask,
                      descriptor.baseOffset);
}

uint32_t fovea::ptx::getElementAddress(const MatrixDescriptor &descriptor,
                                       const OperandTile &tile, unsigned mn,
                                       unsigned k, unsigned *bit) {
  unsigned position =
      (tile.major == MajorDim::K ? k : mn) % getUnitElements(tile);
  unsigned first = position * getBitWidth(tile.type);
  if (bit)
    *bit = first % 8;
  return getUnitAddress(descriptor, tile, mn, k) + first / 8;
}

void fovea::ptx::forEachUnit(
    const MatrixDescriptor &descriptor, const OperandTile &tile,
    llvm::function_ref<void(uint32_t, unsigned, unsigned)> visit) {
  unsigned unit = getUnitElements(tile);
  unsigned mnStep = tile.major == MajorDim::K ? 1 : unit;
  unsigned kStep = tile.major == MajorDim::K ? unit : 1;
  for (unsigned mn = 0; mn < tile.extent; mn += mnStep)
    for (unsigned k = 0; k < tile.k; k += kStep)
      visit(getUnitAddress(descriptor, tile, mn, k), mn, k);
}

bool fovea::ptx::readOperandTile(
    const MatrixDescriptor &descriptor, const OperandTile &tile,
    llvm::function_ref<const uint8_t *(uint32_t)> read, float *result,
    size_t mnStride, size_t kStride) {
  unsigned unit = getUnitElements(tile);
  size_t along = tile.major == MajorDim::K ? kStride : mnStride;
  float values[32];
  assert(unit <= 32 && "elements have at least four bits");
  bool complete = true;
  forEachUnit(descriptor, tile, [&](uint32_t address, unsigned mn, unsigned k) {
    if (!complete)
      return;
    const uint8_t *bytes = read(address);
    if (!bytes) {
      complete = false;
      return;
    }
    float *target = result + mn * mnStride + k * kStride;
    unpackToFloats(bytes, tile.type, unit, values);
    for (unsigned index = 0; index < unit; ++index)
      target[index * along] = values[index];
  });
  return complete;
}
