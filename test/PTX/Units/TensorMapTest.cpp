//===- TensorMapTest.cpp - Tensor maps and boxes ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "fovea/PTX/Units/TensorMap.h"

#include <cstring>
#include <vector>

using namespace fovea::ptx;
using namespace fovea::ptx::test;

namespace {
struct alignas(64) MapBytes {
  uint8_t bytes[kTensorMapBytes];
};
} // namespace

/// 100 rows of 40 f16, 128 bytes apart; boxes of 64 x 8.
static TensorMap getMap() {
  TensorMap map;
  map.type = TensorDataType::Float16;
  map.rank = 2;
  map.address = 0x10000;
  map.sizes = {40, 100};
  map.strides = {2, 128};
  map.box = {64, 8};
  map.elementStrides = {1, 1};
  map.swizzle = SwizzleMode::B128;
  return map;
}

static void testEncoding() {
  MapBytes map;
  TensorMap five;
  five.type = TensorDataType::Int32;
  five.rank = 5;
  five.address = 0x123456789ab0;
  five.sizes = {uint64_t(1) << 32, 2, 3, 4, 5};
  five.strides = {4, 16, 32, (uint64_t(1) << 40) - 16, 64};
  five.box = {256, 1, 2, 3, 4};
  five.elementStrides = {1, 2, 8, 1, 1};
  five.l2Promotion = 2;
  CHECK_SUCCESS(encodeTensorMap(five, map.bytes));
  auto found = decodeTensorMap(map.bytes);
  CHECK_TRUE(bool(found));
  if (!found)
    return;
  CHECK_TRUE(found->type == five.type && found->rank == five.rank &&
             found->address == five.address && found->sizes == five.sizes &&
             found->strides == five.strides && found->box == five.box &&
             found->elementStrides == five.elementStrides &&
             found->l2Promotion == 2 && found->swizzle == five.swizzle);
  CHECK_SUCCESS(replaceTensorMapAddress(map.bytes, 0x500));
  found = decodeTensorMap(map.bytes);
  CHECK_TRUE(bool(found) && found->address == 0x500);
  CHECK_ERROR(replaceTensorMapAddress(map.bytes, 0x508), "multiple of 16");
  // Every byte counts.
  for (unsigned byte = 0; byte < kTensorMapBytes; ++byte) {
    MapBytes broken = map;
    broken.bytes[byte] ^= 1;
    CHECK_ERROR(decodeTensorMap(broken.bytes).takeError(),
                "no tensor map is there");
  }
  CHECK_ERROR(encodeTensorMap(five, map.bytes + 16), "multiple of 64");
}

/// The requirements of the driver's documentation.
static void testChecks() {
  CHECK_SUCCESS(checkTensorMap(getMap()));
  auto check = [](auto change) {
    TensorMap map = getMap();
    change(map);
    return checkTensorMap(map);
  };
  CHECK_ERROR(check([](TensorMap &m) { m.rank = 0; }),
              "rank of a tensor map must be in [1, 5], found 0");
  CHECK_ERROR(check([](TensorMap &m) { m.rank = 6; }), "in [1, 5], found 6");
  CHECK_ERROR(check([](TensorMap &m) { m.address = 8; }), "found 0x8");
  CHECK_ERROR(check([](TensorMap &m) { m.sizes[1] = 0; }),
              "size of dimension 1 of a tensor map must be in [1, 2^32], "
              "found 0");
  CHECK_ERROR(check([](TensorMap &m) { m.sizes[0] = (1ull << 32) + 1; }),
              "[1, 2^32]");
  CHECK_ERROR(check([](TensorMap &m) { m.strides[1] = 120; }),
              "stride of dimension 1 of a tensor map must be a multiple of 16 "
              "below 2^40, found 120");
  CHECK_ERROR(check([](TensorMap &m) { m.strides[1] = 1ull << 40; }),
              "below 2^40");
  CHECK_ERROR(check([](TensorMap &m) { m.box[1] = 257; }),
              "box of dimension 1 of a tensor map must be in [1, 256], found "
              "257");
  CHECK_ERROR(check([](TensorMap &m) { m.box[1] = 0; }), "[1, 256]");
  CHECK_ERROR(check([](TensorMap &m) { m.elementStrides[1] = 9; }),
              "element stride of dimension 1 of a tensor map must be in [1, "
              "8], found 9");
  CHECK_ERROR(check([](TensorMap &m) { m.box[0] = 60; }),
              "multiple of 16 bytes, found 120");
  CHECK_ERROR(check([](TensorMap &m) { m.box[0] = 72; }),
              "at most 128 bytes for a 128-byte swizzle, found 144");
  CHECK_ERROR(check([](TensorMap &m) { m.box[0] = 32; }),
              "narrower than its 128-byte swizzle aren't modelled");
  CHECK_ERROR(check([](TensorMap &m) { m.interleave = 3; }),
              "interleave of a tensor map must be in [0, 2], found 3");
  CHECK_ERROR(check([](TensorMap &m) { m.interleave = 1; }),
              "interleaved tensor maps aren't modelled");
  CHECK_ERROR(check([](TensorMap &m) { m.l2Promotion = 4; }),
              "L2 promotion of a tensor map must be in [0, 3], found 4");
  CHECK_ERROR(check([](TensorMap &m) { m.type = TensorDataType::TFloat32; }),
              "tensor maps of tf32 aren't modelled: copies change values");
  CHECK_ERROR(check([](TensorMap &m) {
                m.type = TensorDataType::UInt16, m.fillNaN = true;
              }),
              "tensor maps of u16 can't be filled with NaN");
  CHECK_SUCCESS(check([](TensorMap &m) { m.fillNaN = true; }));
  for (unsigned value = 0; value < 7; ++value)
    CHECK_TRUE(bool(getTensorMapSwizzle(value)));
  CHECK_ERROR(getTensorMapSwizzle(7).takeError(), "found 7");
  for (auto [mode, text] :
       {std::pair(SwizzleMode::B32, "32 bytes for a 32-byte swizzle"),
        {SwizzleMode::B64, "64 bytes for a 64-byte swizzle"},
        {SwizzleMode::B96, "96 bytes for a 96-byte swizzle"},
        {SwizzleMode::B128Atom32,
         "128 bytes for a 128-byte swizzle of 32-byte atoms"},
        {SwizzleMode::B128Atom64,
         "128 bytes for a 128-byte swizzle of 64-byte atoms"}})
    CHECK_ERROR(check([mode = mode](TensorMap &m) {
                  m.swizzle = mode, m.box[0] = 128;
                }),
                text);
  CHECK_ERROR(checkBoxCopy(getMap(), 3, 0),
              "a copy of 3 dimensions must have a tensor map of as many, found "
              "rank 2");
  CHECK_ERROR(checkBoxCopy(getMap(), 2, 64), "multiple of 128");
  CHECK_SUCCESS(checkBoxCopy(getMap(), 2, 128));
}

/// With the driver's numbers.
static void testDriverArguments() {
  uint64_t sizes[] = {40, 100}, strides[] = {128};
  uint32_t box[] = {64, 8}, steps[] = {1, 1};
  auto make = [&](unsigned type, unsigned rank, unsigned swizzle,
                  unsigned fill) {
    return makeTensorMap(type, rank, 0x10000, sizes, strides, box, steps, 0,
                         swizzle, 2, fill);
  };
  auto map = make(9, 2, 3, 1);
  CHECK_TRUE(bool(map));
  if (!map)
    return;
  CHECK_TRUE(map->type == TensorDataType::BFloat16 && map->fillNaN &&
             map->swizzle == SwizzleMode::B128 && map->strides[0] == 2 &&
             map->strides[1] == 128 && map->sizes[1] == 100 &&
             map->box[0] == 64 && map->l2Promotion == 2);
  CHECK_ERROR(make(16, 2, 3, 0).takeError(), "data type");
  CHECK_ERROR(make(9, 6, 3, 0).takeError(), "rank");
  CHECK_ERROR(make(9, 2, 7, 0).takeError(), "swizzle");
  CHECK_ERROR(make(9, 2, 3, 2).takeError(),
              "fill of a tensor map must be 0 or 1, found 2");
  CHECK_ERROR(make(9, 2, 2, 0).takeError(), "at most 64 bytes");
  CHECK_ERROR(make(2, 2, 3, 1).takeError(), "u32 can't be filled with NaN");
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
/// A tensor of 16-bit elements, each of its own value, and shared memory.
struct Copier {
  TensorMap map;
  std::vector<uint16_t> global, shared;

  explicit Copier(const TensorMap &map)
      : map(map), global(1 << 16), shared(1 << 14, 0xdead) {
    for (size_t index = 0; index < global.size(); ++index)
      global[index] = uint16_t(index + 1);
  }

  uint8_t *atGlobal(uint64_t address) {
    CHECK_TRUE(address >= map.address &&
               address - map.address < global.size() * 2);
    return reinterpret_cast<uint8_t *>(global.data()) + (address - map.address);
  }
  uint8_t *atShared(uint32_t address) {
    return reinterpret_cast<uint8_t *>(shared.data()) + address;
  }

  void load(llvm::ArrayRef<int32_t> coordinates, uint32_t address) {
    uint64_t bytes = 0;
    forEachRun(map, coordinates, address, BoxUse::Load, [&](const BoxRun &run) {
      bytes += run.bytes;
      if (run.inside)
        std::memcpy(atShared(run.shared), atGlobal(run.global), run.bytes);
      else
        writeFill(map, atShared(run.shared), run.bytes);
    });
    CHECK_EQUAL(bytes, getBoxBytes(map));
  }

  void store(llvm::ArrayRef<int32_t> coordinates, uint32_t address) {
    forEachRun(
        map, coordinates, address, BoxUse::Store, [&](const BoxRun &run) {
          if (run.inside)
            std::memcpy(atGlobal(run.global), atShared(run.shared), run.bytes);
        });
  }
};
} // namespace

/// The expected shared memory, element by element from the ISA's definition,
/// without runs.
static void checkLoaded(Copier &copier, llvm::ArrayRef<int32_t> coordinates,
                        uint32_t address) {
  const TensorMap &map = copier.map;
  uint64_t count = getBoxBytes(map) / 2;
  for (uint64_t linear = 0; linear < count; ++linear) {
    uint64_t rest = linear, offset = 0;
    bool inside = true;
    for (unsigned dim = 0; dim < map.rank; ++dim) {
      int64_t step = dim ? map.elementStrides[dim] : 1;
      int64_t place =
          coordinates[dim] + int64_t(rest % map.getCopied(dim)) * step;
      rest /= map.getCopied(dim);
      inside &= place >= 0 && place < int64_t(map.sizes[dim]);
      offset += uint64_t(place) * map.strides[dim];
    }
    uint16_t expected = map.fillNaN ? 0x7fff : 0;
    if (inside)
      expected = uint16_t(offset / 2 + 1);
    uint32_t at = applySwizzle(map.swizzle, address + uint32_t(linear) * 2);
    CHECK_EQUAL(copier.shared[at / 2], expected);
  }
}

static void testBoxes() {
  for (unsigned mode = 0; mode < 7; ++mode)
    for (bool fillNaN : {false, true}) {
      TensorMap map = getMap();
      map.swizzle = llvm::cantFail(getTensorMapSwizzle(mode));
      map.fillNaN = fillNaN;
      if (unsigned span = getSwizzleSpan(map.swizzle))
        map.box[0] = span / 2;
      CHECK_SUCCESS(checkTensorMap(map));
      for (auto [x, y] : {std::pair(0, 0),
                          {-5, -3},
                          {33, 96},
                          {3, 50},
                          {40, 0},
                          {0, 100},
                          {-64, 5},
                          {1000, -1000}})
        for (uint32_t address : {0u, 128u, 1024u}) {
          Copier copier(map);
          copier.load({x, y}, address);
          checkLoaded(copier, {x, y}, address);
        }
    }
}

/// A box of 8 rows reproduces the ISA's table of the 128-byte swizzle.
static void testSwizzledBox() {
  TensorMap map = getMap();
  map.sizes = {64, 100};
  Copier copier(map);
  copier.load({0, 0}, 1024);
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned place = 0; place < 8; ++place) {
      uint16_t first = copier.shared[512 + row * 64 + place * 8];
      CHECK_EQUAL(unsigned(first), row * 64 + (place ^ row) * 8 + 1);
    }
}

/// A store writes the last 16 bytes of a row entirely.
static void testStoreGranule() {
  TensorMap map = getMap();
  map.sizes = {9, 2};
  Copier copier(map);
  copier.store({0, 0}, 1024);
  uint64_t row = map.strides[1] / 2;
  for (uint64_t start : {uint64_t(0), row}) {
    CHECK_EQUAL(unsigned(copier.global[start + 15]), 0xdeadu);
    CHECK_EQUAL(unsigned(copier.global[start + 16]), unsigned(start) + 17);
  }
  CHECK_EQUAL(unsigned(copier.global[2 * row]), unsigned(2 * row) + 1);
}

/// Four dimensions, some with element strides; a store writes the elements that
/// a load read.
static void testSteps() {
  TensorMap map;
  map.type = TensorDataType::BFloat16;
  map.rank = 4;
  map.address = 0x4000;
  map.sizes = {24, 6, 5, 3};
  map.strides = {2, 48, 320, 1600};
  map.box = {16, 5, 4, 2};
  map.elementStrides = {2, 2, 1, 1};
  CHECK_SUCCESS(checkTensorMap(map));
  CHECK_EQUAL(map.getCopied(0), 16u);
  CHECK_EQUAL(map.getCopied(1), 3u);
  CHECK_EQUAL(getBoxBytes(map), uint64_t(16 * 3 * 4 * 2 * 2));
  Copier copier(map);
  copier.load({10, 1, -1, 2}, 256);
  checkLoaded(copier, {10, 1, -1, 2}, 256);
  // Nothing outside is written, all inside is.
  Copier other(map);
  std::vector<uint16_t> before = other.global;
  for (uint16_t &value : other.shared)
    value = 0xffff;
  other.store({10, 1, -1, 2}, 0);
  unsigned changed = 0;
  for (size_t index = 0; index < before.size(); ++index)
    changed += other.global[index] != before[index];
  // 14 of 16 columns, 3 rows, 3 of 4, 1 of 2 inside.
  CHECK_EQUAL(changed, 14u * 3 * 3);
  other.load({10, 1, -1, 2}, 0);
  for (uint16_t &value : other.global)
    if (value == 0xffff)
      value = 0;
  other.store({10, 1, -1, 2}, 0);
  unsigned restored = 0;
  for (uint16_t value : other.global)
    restored += value == 0xffff;
  CHECK_EQUAL(restored, changed);
}

static void testGather() {
  TensorMap map = getMap();
  map.sizes = {64, 100};
  CHECK_ERROR(checkGather(map, 5, 0), "boxes of one row, found rank 2 and 8");
  map.box[1] = 1;
  CHECK_SUCCESS(checkGather(map, 5, 0));
  CHECK_ERROR(checkGather(map, 4, 0),
              "gather4 and scatter4 must have five coordinates, found 4");
  Copier copier(map);
  forEachGatherRun(map, {0, 7, 99, 100, 2}, 0, BoxUse::Load,
                   [&](const BoxRun &run) {
                     if (run.inside)
                       std::memcpy(copier.atShared(run.shared),
                                   copier.atGlobal(run.global), run.bytes);
                     else
                       writeFill(map, copier.atShared(run.shared), run.bytes);
                   });
  const int rows[] = {7, 99, -1, 2};
  for (unsigned row = 0; row < 4; ++row)
    for (unsigned x = 0; x < 64; ++x) {
      uint32_t at = applySwizzle(SwizzleMode::B128, row * 128 + x * 2);
      unsigned expected = rows[row] < 0 ? 0 : rows[row] * 64 + x + 1;
      CHECK_EQUAL(unsigned(copier.shared[at / 2]), expected);
    }
}

void fovea::ptx::test::testTensorMap() {
  testEncoding();
  testChecks();
  testDriverArguments();
  testBoxes();
  testSwizzledBox();
  testStoreGranule();
  testSteps();
  testGather();
}
