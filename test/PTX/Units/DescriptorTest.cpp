//===- DescriptorTest.cpp - Matrix descriptors against the ISA's examples -===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "fovea/PTX/Units/MatrixDescriptor.h"

#include <set>
#include <vector>

using namespace fovea::ptx;
using namespace fovea::ptx::test;

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static void testBits() {
  // From the ISA's table: start 0x1230, leading 0x100, stride 0x400, 128 bytes.
  uint64_t bits = 0x123 | uint64_t(0x10) << 16 | uint64_t(0x40) << 32 |
                  uint64_t(5) << 49 | uint64_t(1) << 62;
  auto wgmma = decodeMatrixDescriptor(bits, DescriptorFormat::Wgmma);
  CHECK_TRUE(bool(wgmma));
  if (wgmma) {
    CHECK_EQUAL(wgmma->startAddress, 0x1230u);
    CHECK_EQUAL(wgmma->leadingOffset, 0x100u);
    CHECK_EQUAL(wgmma->strideOffset, 0x400u);
    CHECK_EQUAL(wgmma->baseOffset, 5u);
    CHECK_TRUE(wgmma->swizzle == SwizzleMode::B128);
    CHECK_EQUAL(encodeMatrixDescriptor(*wgmma, DescriptorFormat::Wgmma), bits);
  }
  uint64_t other =
      0x123 | uint64_t(1) << 46 | uint64_t(1) << 52 | uint64_t(6) << 61;
  auto tcgen05 = decodeMatrixDescriptor(other, DescriptorFormat::Tcgen05);
  CHECK_TRUE(bool(tcgen05));
  if (tcgen05) {
    CHECK_TRUE(tcgen05->leadingIsAddress);
    CHECK_TRUE(tcgen05->swizzle == SwizzleMode::B32);
    CHECK_EQUAL(encodeMatrixDescriptor(*tcgen05, DescriptorFormat::Tcgen05),
                other);
  }
  auto fails = [](uint64_t bits, DescriptorFormat format) {
    return decodeMatrixDescriptor(bits, format).takeError();
  };
  auto wgmmaFormat = DescriptorFormat::Wgmma;
  auto tcgen05Format = DescriptorFormat::Tcgen05;
  CHECK_ERROR(fails(uint64_t(1) << 14, wgmmaFormat), "bits 14-15");
  CHECK_ERROR(fails(uint64_t(1) << 31, wgmmaFormat), "bits 30-31");
  CHECK_ERROR(fails(uint64_t(1) << 46, wgmmaFormat), "bits 46-48");
  CHECK_ERROR(fails(uint64_t(1) << 61, wgmmaFormat), "bits 52-61");
  CHECK_ERROR(fails(uint64_t(1) << 49, wgmmaFormat), "base offset");
  CHECK_ERROR(fails(0, tcgen05Format), "bits 46-48 of a matrix descriptor must "
                                       "be 1, found 0");
  CHECK_ERROR(fails(uint64_t(1) << 46 | uint64_t(1) << 60, tcgen05Format),
              "bits 53-60");
  for (uint64_t swizzle : {3, 5, 7})
    CHECK_ERROR(fails(uint64_t(1) << 46 | swizzle << 61, tcgen05Format),
                "bits 61-63");
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

namespace {
/// An example of the ISA: a CuTe layout ((m0, m1, m2), (k0, k1)) : strides, in
/// elements, and the strides in bytes that the descriptor has.
struct Example {
  ElementType type;
  MajorDim major;
  SwizzleMode swizzle;
  unsigned leading, stride;
  std::vector<unsigned> mnShape, mnStrides, kShape, kStrides;
};
} // namespace

static std::vector<Example> getExamples() {
  using Type = ElementType;
  using Mode = SwizzleMode;
  return {
      // Figures 166 to 170 of PTX ISA 9.
      {Type::TF32,
       MajorDim::K,
       Mode::None,
       64 * 4,
       32 * 4,
       {8, 2},
       {4, 32},
       {4, 4},
       {1, 64}},
      {Type::TF32,
       MajorDim::K,
       Mode::B32,
       16,
       64 * 4,
       {8, 2},
       {8, 64},
       {4, 4},
       {1, 4}},
      {Type::BF16,
       MajorDim::MN,
       Mode::None,
       128 * 2,
       64 * 2,
       {8, 1, 2},
       {1, 8, 64},
       {8, 2},
       {8, 128}},
      {Type::BF16,
       MajorDim::MN,
       Mode::B32,
       128 * 2,
       256 * 2,
       {8, 2, 2},
       {1, 8, 128},
       {8, 2},
       {16, 256}},
      {Type::BF16,
       MajorDim::MN,
       Mode::B64,
       256 * 2,
       512 * 2,
       {8, 4, 2},
       {1, 8, 256},
       {8, 2},
       {32, 512}},
      // The canonical layouts that have no figure.
      {Type::F16,
       MajorDim::K,
       Mode::B64,
       16,
       512,
       {8, 4},
       {32, 256},
       {8, 2},
       {1, 8}},
      {Type::F16,
       MajorDim::K,
       Mode::B128,
       16,
       1024,
       {8, 4},
       {64, 512},
       {8, 8},
       {1, 8}},
      {Type::E4M3,
       MajorDim::K,
       Mode::B128,
       16,
       1024,
       {8, 4},
       {128, 1024},
       {16, 2},
       {1, 16}},
      {Type::F16,
       MajorDim::MN,
       Mode::B128,
       2048,
       1024,
       {8, 8, 2},
       {1, 8, 1024},
       {8, 2},
       {64, 512}},
  };
}

static unsigned applyLayout(unsigned index, const std::vector<unsigned> &shape,
                            const std::vector<unsigned> &strides) {
  unsigned offset = 0;
  for (size_t mode = 0; mode < shape.size(); ++mode) {
    offset += index % shape[mode] * strides[mode];
    index /= shape[mode];
  }
  return offset;
}

static unsigned getSize(const std::vector<unsigned> &shape) {
  unsigned size = 1;
  for (unsigned extent : shape)
    size *= extent;
  return size;
}

/// CuTe's Swizzle<B, 4, 3> of a byte offset.
static uint32_t applyCuTeSwizzle(SwizzleMode mode, uint32_t offset) {
  unsigned bits = mode == SwizzleMode::B32    ? 1
                  : mode == SwizzleMode::B64  ? 2
                  : mode == SwizzleMode::B128 ? 3
                                              : 0;
  uint32_t mask = ((1u << bits) - 1) << 7;
  return offset ^ ((offset & mask) >> 3);
}

static void testExamples() {
  for (const Example &e : getExamples()) {
    MatrixDescriptor descriptor;
    descriptor.startAddress = 4096;
    descriptor.leadingOffset = e.leading;
    descriptor.strideOffset = e.stride;
    descriptor.swizzle = e.swizzle;
    OperandTile tile;
    tile.type = e.type;
    tile.major = e.major;
    tile.extent = getSize(e.mnShape);
    tile.k = getSize(e.kShape);
    CHECK_SUCCESS(checkOperandTile(descriptor, tile,
                                   e.major == MajorDim::K
                                       ? DescriptorFormat::Tcgen05
                                       : DescriptorFormat::Wgmma));
    unsigned bytes = getBitWidth(e.type) / 8;
    // Figure 167 shows more of k than a swizzled row has: its rows overlap.
    bool fits = e.major == MajorDim::MN || e.swizzle == SwizzleMode::None ||
                tile.k * bytes <= getSwizzleSpan(e.swizzle);
    std::set<uint32_t> taken;
    for (unsigned mn = 0; mn < tile.extent; ++mn)
      for (unsigned k = 0; k < tile.k; ++k) {
        uint32_t offset = (applyLayout(mn, e.mnShape, e.mnStrides) +
                           applyLayout(k, e.kShape, e.kStrides)) *
                          bytes;
        uint32_t address = getElementAddress(descriptor, tile, mn, k);
        CHECK_EQUAL(address, 4096 + applyCuTeSwizzle(e.swizzle, offset));
        CHECK_TRUE(taken.insert(address).second || !fits);
        CHECK_EQUAL(getUnitAddress(descriptor, tile, mn, k), address & ~15u);
      }
  }
}

/// Steps along k within a swizzled row are 32 bytes further on; whole rows
/// further down are a multiple of the stride further on.
static void testSteps() {
  MatrixDescriptor descriptor;
  descriptor.startAddress = 2048;
  descriptor.strideOffset = 1024;
  descriptor.leadingOffset = 16;
  descriptor.swizzle = SwizzleMode::B128;
  OperandTile whole = {ElementType::BF16, MajorDim::K, 64, 64, true};
  OperandTile step = {ElementType::BF16, MajorDim::K, 64, 16, true};
  for (unsigned first = 0; first < 64; first += 16) {
    MatrixDescriptor advanced = descriptor;
    advanced.startAddress += first * 2;
    for (unsigned mn = 0; mn < 64; ++mn)
      for (unsigned k = 0; k < 16; ++k)
        CHECK_EQUAL(getElementAddress(advanced, step, mn, k),
                    getElementAddress(descriptor, whole, mn, first + k));
  }
  // A pattern that begins at line 3 of 1024 bytes, with its base offset.
  MatrixDescriptor moved = descriptor;
  moved.startAddress += 3 * 128, moved.baseOffset = 3;
  for (unsigned mn = 0; mn < 64; ++mn)
    CHECK_EQUAL(getElementAddress(moved, whole, mn, 40),
                getElementAddress(descriptor, whole, mn, 40) + 3 * 128);
  // Sums wrap around after 18 bits.
  MatrixDescriptor last = descriptor;
  last.startAddress = 0x3fc00;
  CHECK_EQUAL(getElementAddress(last, whole, 8, 0), 0u);
}

/// tf32 along mn: atoms of 8 x 4 units, 32 bytes stay together.
static void testAtom32() {
  MatrixDescriptor descriptor;
  descriptor.leadingOffset = 1024, descriptor.strideOffset = 512;
  descriptor.swizzle = SwizzleMode::B128Atom32;
  OperandTile tile = {ElementType::TF32, MajorDim::MN, 64, 8, true};
  CHECK_SUCCESS(checkOperandTile(descriptor, tile, DescriptorFormat::Tcgen05));
  CHECK_EQUAL(getElementAddress(descriptor, tile, 1, 0), 4u);
  CHECK_EQUAL(getElementAddress(descriptor, tile, 8, 0), 32u);
  CHECK_EQUAL(getElementAddress(descriptor, tile, 0, 1), 128u + 32);
  CHECK_EQUAL(getElementAddress(descriptor, tile, 32, 0), 1024u);
  CHECK_EQUAL(getElementAddress(descriptor, tile, 0, 4), 512u);
}

static void testChecks() {
  MatrixDescriptor descriptor;
  descriptor.swizzle = SwizzleMode::B128;
  auto check = [&](OperandTile tile, DescriptorFormat format) {
    return checkOperandTile(descriptor, tile, format);
  };
  auto wgmma = DescriptorFormat::Wgmma;
  auto tcgen05 = DescriptorFormat::Tcgen05;
  CHECK_ERROR(check({ElementType::E4M3, MajorDim::MN, 64, 32, true}, wgmma),
              "must be f16 or bf16, found .e4m3");
  CHECK_SUCCESS(
      check({ElementType::E4M3, MajorDim::MN, 64, 32, true}, tcgen05));
  CHECK_ERROR(check({ElementType::TF32, MajorDim::MN, 64, 8, true}, tcgen05),
              "swizzle of 32-byte atoms");
  CHECK_ERROR(check({ElementType::E2M1, MajorDim::MN, 64, 64, false}, tcgen05),
              "operands of .e2m1 can't be transposed");
  CHECK_ERROR(check({ElementType::F16, MajorDim::K, 12, 16, true}, wgmma),
              "multiple of 8, found 12");
  CHECK_ERROR(check({ElementType::F16, MajorDim::K, 64, 12, true}, wgmma),
              "multiple of 8, found 12");
  descriptor.leadingIsAddress = true;
  CHECK_ERROR(check({ElementType::F16, MajorDim::K, 64, 16, true}, tcgen05),
              "matrix descriptors with an absolute leading dimension (bit 52) "
              "aren't modelled");
}

/// Data written by element addresses must be read by units.
static void testReading() {
  struct {
    ElementType type;
    MajorDim major;
    SwizzleMode swizzle;
    unsigned k;
    bool padded;
  } cases[] = {{ElementType::BF16, MajorDim::K, SwizzleMode::B128, 16, true},
               {ElementType::F16, MajorDim::MN, SwizzleMode::B64, 16, true},
               {ElementType::E4M3, MajorDim::K, SwizzleMode::B32, 32, true},
               {ElementType::E2M1, MajorDim::K, SwizzleMode::B128, 64, false},
               {ElementType::E2M1, MajorDim::K, SwizzleMode::B128, 32, true},
               {ElementType::E3M2, MajorDim::K, SwizzleMode::None, 32, true}};
  Random random(5);
  for (auto &c : cases) {
    MatrixDescriptor descriptor;
    descriptor.swizzle = c.swizzle;
    descriptor.strideOffset =
        c.swizzle == SwizzleMode::None ? 256 : 8 * getSwizzleSpan(c.swizzle);
    descriptor.leadingOffset = c.swizzle == SwizzleMode::None ? 128 : 4096;
    OperandTile tile = {c.type, c.major, 64, c.k, c.padded};
    std::vector<uint8_t> memory(1 << 15);
    std::vector<float> expected(64 * c.k), found(64 * c.k, -99);
    unsigned bits = getBitWidth(c.type);
    for (unsigned mn = 0; mn < 64; ++mn)
      for (unsigned k = 0; k < c.k; ++k) {
        double value = double(random.next(-2, 2));
        unsigned bit;
        uint32_t address = getElementAddress(descriptor, tile, mn, k, &bit);
        uint64_t encoded = convertFromDouble(value, c.type) << bit;
        for (unsigned byte = 0; byte * 8 < bit + bits; ++byte)
          memory[address + byte] |= uint8_t(encoded >> (8 * byte));
        expected[mn * c.k + k] = float(value);
      }
    unsigned units = 0;
    CHECK_TRUE(readOperandTile(
        descriptor, tile,
        [&](uint32_t address) {
          ++units;
          CHECK_EQUAL(address % 16, 0u);
          return &memory[address];
        },
        found.data(), c.k, 1));
    CHECK_EQUAL(units, 64 * c.k / getUnitElements(tile));
    for (size_t index = 0; index < found.size(); ++index)
      CHECK_EQUAL(found[index], expected[index]);
    CHECK_TRUE(!readOperandTile(
        descriptor, tile,
        [](uint32_t) { return static_cast<const uint8_t *>(nullptr); },
        found.data(), c.k, 1));
  }
}

void fovea::ptx::test::testDescriptor() {
  testBits();
  testExamples();
  testSteps();
  testAtom32();
  testChecks();
  testReading();
}
