//===- TensorMemoryTest.cpp - Layouts of tensor memory ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "fovea/PTX/Units/TensorMemory.h"

#include <set>
#include <tuple>

using namespace fovea::ptx;
using namespace fovea::ptx::test;

static bool isPlace(TensorMemoryPlace place, unsigned cta, unsigned lane,
                    unsigned column, unsigned bit = 0) {
  return place.cta == cta && place.lane == lane && place.column == column &&
         place.bit == bit;
}

static void testLayoutChoice() {
  auto get = [](unsigned m, unsigned group, bool ws, bool sparse) {
    InstructionDescriptor d;
    d.m = m, d.sparse = sparse;
    return getDataPathLayout(d, group, ws);
  };
  // The ISA's table of data path organizations.
  CHECK_TRUE(get(32, 1, true, false) == DataPathLayout::G);
  CHECK_TRUE(get(64, 1, true, false) == DataPathLayout::E);
  CHECK_TRUE(get(64, 1, false, false) == DataPathLayout::F);
  CHECK_TRUE(get(128, 1, false, false) == DataPathLayout::D);
  CHECK_TRUE(get(128, 1, true, false) == DataPathLayout::D);
  CHECK_TRUE(get(128, 2, false, false) == DataPathLayout::B);
  CHECK_TRUE(get(128, 2, false, true) == DataPathLayout::C);
  CHECK_TRUE(get(256, 2, false, false) == DataPathLayout::A);
  for (auto layout : {DataPathLayout::A, DataPathLayout::B, DataPathLayout::D,
                      DataPathLayout::E, DataPathLayout::G})
    CHECK_ERROR(checkLaneAlignment(layout, 16u << 16), "must be 0, found 16");
  for (auto layout : {DataPathLayout::C, DataPathLayout::F}) {
    CHECK_SUCCESS(checkLaneAlignment(layout, 16u << 16 | 5));
    CHECK_ERROR(checkLaneAlignment(layout, 32u << 16), "0 or 16, found 32");
  }
}

/// Cells by the ISA's figures, and no cell twice.
static void testAccumulators() {
  CHECK_TRUE(isPlace(getAccumulatorPlace(DataPathLayout::D, 128, 64, 77, 5), 0,
                     77, 5));
  CHECK_TRUE(isPlace(getAccumulatorPlace(DataPathLayout::A, 256, 64, 200, 5), 1,
                     72, 5));
  CHECK_TRUE(isPlace(getAccumulatorPlace(DataPathLayout::B, 128, 64, 10, 5), 0,
                     10, 5));
  CHECK_TRUE(isPlace(getAccumulatorPlace(DataPathLayout::B, 128, 64, 74, 37), 1,
                     74, 5));
  CHECK_TRUE(
      isPlace(getAccumulatorPlace(DataPathLayout::E, 64, 64, 3, 32), 0, 67, 0));
  CHECK_TRUE(
      isPlace(getAccumulatorPlace(DataPathLayout::F, 64, 64, 20, 5), 0, 36, 5));
  CHECK_TRUE(isPlace(getAccumulatorPlace(DataPathLayout::F, 64, 64, 63, 5), 0,
                     111, 5));
  CHECK_TRUE(
      isPlace(getAccumulatorPlace(DataPathLayout::G, 32, 64, 3, 17), 0, 35, 1));
  struct {
    DataPathLayout layout;
    unsigned m, columns;
  } cases[] = {{DataPathLayout::A, 256, 64}, {DataPathLayout::B, 128, 32},
               {DataPathLayout::C, 128, 64}, {DataPathLayout::D, 128, 64},
               {DataPathLayout::E, 64, 32},  {DataPathLayout::F, 64, 64},
               {DataPathLayout::G, 32, 16}};
  for (auto &c : cases) {
    std::set<std::tuple<unsigned, unsigned, unsigned>> taken;
    CHECK_EQUAL(getAccumulatorColumns(c.layout, 64), c.columns);
    for (unsigned row = 0; row < c.m; ++row)
      for (unsigned column = 0; column < 64; ++column) {
        auto place = getAccumulatorPlace(c.layout, c.m, 64, row, column);
        CHECK_TRUE(place.cta < 2 && place.lane < kTensorMemoryLanes &&
                   place.column < c.columns);
        CHECK_TRUE(taken.insert({place.cta, place.lane, place.column}).second);
      }
  }
}

static void testOperandA() {
  InstructionDescriptor d;
  // Two f16 in a cell.
  CHECK_TRUE(
      isPlace(getOperandAPlace(DataPathLayout::D, d, 9, 5), 0, 9, 2, 16));
  CHECK_TRUE(isPlace(getOperandAPlace(DataPathLayout::F, d, 20, 4), 0, 36, 2));
  CHECK_TRUE(
      isPlace(getOperandAPlace(DataPathLayout::B, d, 70, 0, 1), 1, 70, 0));
  CHECK_EQUAL(getOperandACopies(DataPathLayout::B), 2u);
  CHECK_EQUAL(getOperandACopies(DataPathLayout::D), 1u);
  d.kind = MmaKind::F8F6F4, d.aType = ElementType::E3M2;
  CHECK_TRUE(isPlace(getOperandAPlace(DataPathLayout::D, d, 0, 5), 0, 0, 1, 8));
  // e2m1 in bits 2 to 5 of a byte (PTX ISA 9.7.17.10.4.3), or two in a byte.
  d.aType = ElementType::E2M1;
  CHECK_TRUE(isPlace(getOperandAPlace(DataPathLayout::D, d, 0, 0), 0, 0, 0, 2));
  CHECK_TRUE(
      isPlace(getOperandAPlace(DataPathLayout::D, d, 0, 7), 0, 0, 1, 26));
  d.kind = MmaKind::MXF4, d.aType = ElementType::E2M1;
  CHECK_TRUE(isPlace(getOperandAPlace(DataPathLayout::D, d, 0, 9), 0, 0, 1, 4));
}

static void testScales() {
  // Row 70 is in column 2, lane 6 of each warp; the id is the first byte.
  CHECK_TRUE(isPlace(getScalePlace(1, 3, 70, 0), 0, 6, 2, 24));
  CHECK_TRUE(isPlace(getScalePlace(2, 2, 70, 1, 3), 0, 102, 2, 24));
  CHECK_TRUE(isPlace(getScalePlace(4, 0, 255, 2), 0, 31, 7, 16));
  // B's scales: all columns in all warps, except that in layout B each half of
  // the columns is in half of the lanes.
  CHECK_EQUAL(getScaleBCopies(DataPathLayout::A), 4u);
  CHECK_TRUE(isPlace(getScaleBPlace(DataPathLayout::A, 256, 1, 0, 200, 0, 3), 0,
                     104, 6, 0));
  CHECK_EQUAL(getScaleBCopies(DataPathLayout::B), 2u);
  CHECK_TRUE(isPlace(getScaleBPlace(DataPathLayout::B, 256, 1, 0, 100, 0, 1), 0,
                     36, 3, 0));
  CHECK_TRUE(isPlace(getScaleBPlace(DataPathLayout::B, 256, 2, 2, 200, 1, 0), 0,
                     72, 2, 24));
  CHECK_TRUE(isPlace(getScaleBPlace(DataPathLayout::B, 32, 1, 0, 31, 0, 1), 0,
                     111, 0, 0));
  CHECK_SUCCESS(checkAllocation(32));
  CHECK_SUCCESS(checkAllocation(512));
  for (uint32_t columns : {0, 16, 48, 1024})
    CHECK_ERROR(checkAllocation(columns), "power of two in [32, 512]");
}

static void testCopies() {
  auto getShape = [](llvm::StringRef shape, llvm::StringRef multicast) {
    return llvm::cantFail(parseTensorCopyShape(shape, multicast));
  };
  auto whole = getShape("128x256b", ""), half = getShape("128x128b", "");
  auto pairs02 = getShape("64x128b", "warpx2::02_13");
  auto pairs01 = getShape("64x128b", "warpx2::01_23");
  auto all = getShape("32x128b", "warpx4");
  CHECK_EQUAL(getCopyUnits(whole), 2u);
  CHECK_EQUAL(getCopyUnits(half), 1u);
  CHECK_EQUAL(getCopyRows(pairs02), 64u);
  // Warps 0 and 2 (0 and 1) have the first 32 rows.
  CHECK_EQUAL(getCopyLane(pairs02, 5, 1), 64u + 5);
  CHECK_EQUAL(getCopyLane(pairs02, 37, 0), 32u + 5);
  CHECK_EQUAL(getCopyLane(pairs01, 5, 1), 32u + 5);
  CHECK_EQUAL(getCopyLane(pairs01, 37, 0), 64u + 5);
  for (auto shape : {whole, half, pairs02, pairs01, all}) {
    std::set<unsigned> lanes;
    for (unsigned row = 0; row < getCopyRows(shape); ++row)
      for (unsigned t = 0; t < getCopyTargets(shape); ++t)
        CHECK_TRUE(lanes.insert(getCopyLane(shape, row, t)).second);
    CHECK_EQUAL(lanes.size(), size_t(kTensorMemoryLanes));
  }
  CHECK_ERROR(parseTensorCopyShape("4x256b", "").takeError(),
              "tcgen05.cp of shape 4x256b isn't modelled");
  CHECK_ERROR(parseTensorCopyShape("64x128b", "").takeError(),
              "found '64x128b' with ''");
}

/// Scales copied by tcgen05.cp.32x128b.warpx4 are where .mma expects them: byte
/// 16 * (row % 32) + 4 * (row / 32) + chunk of shared memory.
static void testScalesAreCopied() {
  auto shape = llvm::cantFail(parseTensorCopyShape("32x128b", "warpx4"));
  for (unsigned row = 0; row < 128; ++row)
    for (unsigned chunk = 0; chunk < 4; ++chunk)
      for (unsigned copy = 0; copy < 4; ++copy) {
        auto place = getScalePlace(4, 0, row, chunk, copy);
        unsigned byte = 16 * (row % 32) + 4 * (row / 32) + chunk;
        CHECK_EQUAL(place.lane, getCopyLane(shape, byte / 16, copy));
        CHECK_EQUAL(place.column * 4 + place.bit / 8, byte % 16);
      }
}

/// The same of B in layout B and .64x128b.warpx2::01_23, whose first 32 rows
/// are for the lower half of the columns.
static void testHalvesOfScalesAreCopied() {
  auto shape = llvm::cantFail(parseTensorCopyShape("64x128b", "warpx2::01_23"));
  unsigned n = 256;
  for (unsigned column = 0; column < n; ++column)
    for (unsigned copy = 0; copy < 2; ++copy) {
      auto place = getScaleBPlace(DataPathLayout::B, n, 4, 0, column, 1, copy);
      unsigned half = column / 128, row = 32 * half + column % 32;
      CHECK_EQUAL(place.lane, getCopyLane(shape, row, copy));
      CHECK_EQUAL(place.column, column % 128 / 32);
      CHECK_EQUAL(place.bit, 8u);
    }
}

void fovea::ptx::test::testTensorMemory() {
  testLayoutChoice();
  testAccumulators();
  testOperandA();
  testScales();
  testCopies();
  testScalesAreCopied();
  testHalvesOfScalesAreCopied();
}
