//===- SwizzleTest.cpp - Swizzles against the ISA's tables ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "fovea/PTX/Units/Swizzle.h"

#include <vector>

using namespace fovea::ptx;
using namespace fovea::ptx::test;

namespace {
/// "Swizzling Modes" of the ISA: the 16-byte chunk of a 128-byte line at each
/// position.
struct Table {
  SwizzleMode mode;
  std::vector<std::vector<unsigned>> lines;
};
} // namespace

static std::vector<Table> getTables() {
  return {
      {SwizzleMode::None, {{0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}}},
      {SwizzleMode::B32, {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}}},
      {SwizzleMode::B96, {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}}},
      {SwizzleMode::B64,
       {{0, 1, 2, 3, 4, 5, 6, 7},
        {1, 0, 3, 2, 5, 4, 7, 6},
        {2, 3, 0, 1, 6, 7, 4, 5},
        {3, 2, 1, 0, 7, 6, 5, 4}}},
      {SwizzleMode::B128,
       {{0, 1, 2, 3, 4, 5, 6, 7},
        {1, 0, 3, 2, 5, 4, 7, 6},
        {2, 3, 0, 1, 6, 7, 4, 5},
        {3, 2, 1, 0, 7, 6, 5, 4},
        {4, 5, 6, 7, 0, 1, 2, 3},
        {5, 4, 7, 6, 1, 0, 3, 2},
        {6, 7, 4, 5, 2, 3, 0, 1},
        {7, 6, 5, 4, 3, 2, 1, 0}}},
      {SwizzleMode::B128Atom32,
       {{0, 1, 2, 3, 4, 5, 6, 7},
        {2, 3, 0, 1, 6, 7, 4, 5},
        {4, 5, 6, 7, 0, 1, 2, 3},
        {6, 7, 4, 5, 2, 3, 0, 1}}},
      {SwizzleMode::B128Atom64,
       {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}}},
  };
}

static void testTables() {
  for (const Table &table : getTables())
    for (uint32_t line = 0; line < 16; ++line)
      for (uint32_t place = 0; place < 8; ++place) {
        unsigned chunk = table.lines[line % table.lines.size()][place];
        for (uint32_t byte : {0u, 5u, 15u})
          CHECK_EQUAL(applySwizzle(table.mode, line * 128 + chunk * 16 + byte),
                      line * 128 + place * 16 + byte);
      }
}

/// "A flip of adjacent 8-bytes within the 16-byte data at every alternate
/// line".
static void testFlip() {
  for (uint32_t address = 0; address < 2048; ++address) {
    uint32_t expected = applySwizzle(SwizzleMode::B128Atom32, address);
    if (address / 128 % 2)
      expected ^= 8;
    CHECK_EQUAL(applySwizzle(SwizzleMode::B128Atom32Flip8, address), expected);
  }
}

static void testProperties() {
  for (unsigned index = 0; index <= unsigned(SwizzleMode::B128Atom64);
       ++index) {
    auto mode = SwizzleMode(index);
    unsigned period = getSwizzlePeriod(mode), span = getSwizzleSpan(mode);
    for (uint32_t address = 0; address < 4096; ++address) {
      uint32_t moved = applySwizzle(mode, address);
      CHECK_EQUAL(applySwizzle(mode, moved), address);
      CHECK_EQUAL(applySwizzle(mode, address + period), moved + period);
      // No byte leaves its line; atoms stay contiguous.
      CHECK_EQUAL(moved / 128, address / 128);
      uint32_t atom = getSwizzleAtom(mode);
      CHECK_EQUAL(moved % atom, address % atom);
      if (span && mode != SwizzleMode::B96)
        CHECK_EQUAL(moved / span, address / span);
      // With a base offset the pattern begins at another line.
      for (unsigned base : {1u, 3u})
        CHECK_EQUAL(applySwizzle(mode, address + base * 128, base),
                    moved + base * 128);
    }
  }
}

void fovea::ptx::test::testSwizzle() {
  testTables();
  testFlip();
  testProperties();
}
