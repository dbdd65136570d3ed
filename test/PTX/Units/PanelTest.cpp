//===- PanelTest.cpp - Boxes that tensor cores read -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The ISA states the swizzles of tensor copies and the layouts of matrix
// operands in different chapters. What one writes the other must read.
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "fovea/PTX/Units/MatrixDescriptor.h"
#include "fovea/PTX/Units/TensorMap.h"

#include <cstring>
#include <vector>

using namespace fovea::ptx;
using namespace fovea::ptx::test;

static constexpr unsigned kRows = 64, kColumns = 128;

namespace {
/// kRows x kColumns of bf16 in shared memory, as boxes of one swizzled row's
/// columns and all rows: panels, one after another.
struct Panels {
  SwizzleMode swizzle;
  unsigned columns = getSwizzleSpan(swizzle) / 2;
  unsigned bytes = kRows * getSwizzleSpan(swizzle);
  std::vector<uint8_t> shared = std::vector<uint8_t>(1 << 16);

  explicit Panels(SwizzleMode swizzle) : swizzle(swizzle) {
    std::vector<uint16_t> global(kRows * kColumns);
    for (unsigned index = 0; index < global.size(); ++index)
      global[index] = uint16_t(convertFromDouble(
          getValue(index / kColumns, index % kColumns), ElementType::BF16));
    TensorMap map;
    map.type = TensorDataType::BFloat16;
    map.rank = 2;
    map.sizes = {kColumns, kRows};
    map.strides = {2, kColumns * 2};
    map.box = {columns, kRows};
    map.elementStrides = {1, 1};
    map.swizzle = swizzle;
    CHECK_SUCCESS(checkTensorMap(map));
    for (unsigned column = 0; column < kColumns; column += columns)
      forEachRun(map, {int32_t(column), 0}, kStart + column / columns * bytes,
                 BoxUse::Load, [&](const BoxRun &run) {
                   CHECK_TRUE(run.inside);
                   std::memcpy(&shared[run.shared],
                               reinterpret_cast<uint8_t *>(global.data()) +
                                   run.global,
                               run.bytes);
                 });
  }

  static constexpr uint32_t kStart = 1024;
  /// Different for all of 15 rows and 17 columns around, exact in bf16.
  static float getValue(unsigned row, unsigned column) {
    return float(row % 15 * 17 + column % 17);
  }

  std::vector<float> read(const MatrixDescriptor &descriptor,
                          const OperandTile &tile) const {
    CHECK_SUCCESS(checkOperandTile(descriptor, tile, DescriptorFormat::Wgmma));
    std::vector<float> values(tile.extent * tile.k);
    CHECK_TRUE(readOperandTile(
        descriptor, tile, [&](uint32_t at) { return &shared[at]; },
        values.data(), tile.k, 1));
    return values;
  }
};
} // namespace

/// Sums along columns: k-major, 16 columns an instruction.
static void testAlongColumns(const Panels &panels) {
  OperandTile tile = {ElementType::BF16, MajorDim::K, kRows, 16, true};
  MatrixDescriptor descriptor;
  descriptor.swizzle = panels.swizzle;
  descriptor.leadingOffset = 16;
  descriptor.strideOffset = 8 * getSwizzleSpan(panels.swizzle);
  for (unsigned first = 0; first < kColumns; first += 16) {
    descriptor.startAddress = Panels::kStart +
                              first / panels.columns * panels.bytes +
                              first % panels.columns * 2;
    std::vector<float> values = panels.read(descriptor, tile);
    for (unsigned row = 0; row < kRows; ++row)
      for (unsigned k = 0; k < 16; ++k)
        CHECK_EQUAL(values[row * 16 + k], Panels::getValue(row, first + k));
  }
}

/// Sums along rows: mn-major, 16 rows an instruction, all panels at once.
static void testAlongRows(const Panels &panels) {
  OperandTile tile = {ElementType::BF16, MajorDim::MN, kColumns, 16, true};
  MatrixDescriptor descriptor;
  descriptor.swizzle = panels.swizzle;
  descriptor.leadingOffset = panels.bytes;
  descriptor.strideOffset = 8 * getSwizzleSpan(panels.swizzle);
  for (unsigned first = 0; first < kRows; first += 16) {
    descriptor.startAddress =
        Panels::kStart + first * getSwizzleSpan(panels.swizzle);
    std::vector<float> values = panels.read(descriptor, tile);
    for (unsigned column = 0; column < kColumns; ++column)
      for (unsigned k = 0; k < 16; ++k)
        CHECK_EQUAL(values[column * 16 + k],
                    Panels::getValue(first + k, column));
  }
}

void fovea::ptx::test::testPanels() {
  for (auto swizzle : {SwizzleMode::B32, SwizzleMode::B64, SwizzleMode::B128}) {
    Panels panels(swizzle);
    testAlongColumns(panels);
    testAlongRows(panels);
  }
}
