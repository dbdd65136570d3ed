//===- FragmentTest.cpp - Fragments against the ISA's formulas --*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "fovea/PTX/Units/Fragments.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

using namespace fovea::ptx;
using namespace fovea::ptx::test;

//===----------------------------------------------------------------------===//
// mma.sync: the formulas of the ISA's pages "Matrix Fragments for mma.*", with
// g for groupID and t for threadID_in_group
//===----------------------------------------------------------------------===//

using Formula = Coordinate (*)(unsigned g, unsigned t, unsigned i);

namespace {
struct Page {
  MmaShape shape;
  std::vector<ElementType> types;
  Formula a, b, d;
};
} // namespace

static Coordinate accumulate16(unsigned g, unsigned t, unsigned i) {
  return {i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

static Coordinate accumulate8(unsigned g, unsigned t, unsigned i) {
  return {g, t * 2 + i};
}

static std::vector<Page> getPages() {
  using U = unsigned;
  using Type = ElementType;
  std::vector<Page> pages;
  pages.push_back({{16, 8, 8},
                   {Type::F16, Type::BF16},
                   [](U g, U t, U i) {
                     return Coordinate{i < 2 ? g : g + 8, t * 2 + (i & 1)};
                   },
                   [](U g, U t, U i) { return Coordinate{t * 2 + i, g}; },
                   accumulate16});
  pages.push_back({{16, 8, 16},
                   {Type::F16, Type::BF16},
                   [](U g, U t, U i) {
                     bool upper = i < 2 || (4 <= i && i < 6);
                     return Coordinate{upper ? g : g + 8,
                                       t * 2 + (i & 1) + (i < 4 ? 0 : 8)};
                   },
                   [](U g, U t, U i) {
                     return Coordinate{t * 2 + (i & 1) + (i < 2 ? 0 : 8), g};
                   },
                   accumulate16});
  pages.push_back(
      {{16, 8, 4},
       {Type::TF32, Type::F64},
       [](U g, U t, U i) { return Coordinate{i == 0 ? g : g + 8, t}; },
       [](U g, U t, U i) { return Coordinate{t, g}; },
       accumulate16});
  pages.push_back({{16, 8, 8},
                   {Type::TF32, Type::F64},
                   [](U g, U t, U i) {
                     return Coordinate{i == 0 || i == 2 ? g : g + 8,
                                       i < 2 ? t : t + 4};
                   },
                   [](U g, U t, U i) { return Coordinate{i ? t + 4 : t, g}; },
                   accumulate16});
  pages.push_back({{16, 8, 16},
                   {Type::F64},
                   [](U g, U t, U i) {
                     return Coordinate{i % 2 == 0 ? g : g + 8, i / 2 * 4 + t};
                   },
                   [](U g, U t, U i) { return Coordinate{i * 4 + t, g}; },
                   accumulate16});
  pages.push_back({{8, 8, 4},
                   {Type::F64},
                   [](U g, U t, U i) { return Coordinate{g, t}; },
                   [](U g, U t, U i) { return Coordinate{t, g}; },
                   accumulate8});
  pages.push_back({{8, 8, 16},
                   {Type::S8, Type::U8},
                   [](U g, U t, U i) { return Coordinate{g, t * 4 + i}; },
                   [](U g, U t, U i) { return Coordinate{t * 4 + i, g}; },
                   accumulate8});
  pages.push_back({{16, 8, 16},
                   {Type::S8, Type::U8, Type::E4M3, Type::E5M2},
                   [](U g, U t, U i) {
                     return Coordinate{i < 4 ? g : g + 8, t * 4 + (i & 3)};
                   },
                   [](U g, U t, U i) { return Coordinate{t * 4 + i, g}; },
                   accumulate16});
  pages.push_back({{16, 8, 32},
                   {Type::S8, Type::U8, Type::E4M3, Type::E5M2, Type::E2M3,
                    Type::E3M2, Type::E2M1},
                   [](U g, U t, U i) {
                     bool upper = i < 4 || (8 <= i && i < 12);
                     return Coordinate{upper ? g : g + 8,
                                       t * 4 + (i & 3) + (i < 8 ? 0 : 16)};
                   },
                   [](U g, U t, U i) {
                     return Coordinate{t * 4 + (i & 3) + (i < 4 ? 0 : 16), g};
                   },
                   accumulate16});
  pages.push_back({{16, 8, 64},
                   {Type::E2M1},
                   [](U g, U t, U i) {
                     bool upper = i < 8 || (16 <= i && i < 24);
                     return Coordinate{upper ? g : g + 8,
                                       t * 8 + (i & 7) + (i < 16 ? 0 : 32)};
                   },
                   [](U g, U t, U i) {
                     return Coordinate{t * 8 + (i & 7) + (i < 8 ? 0 : 32), g};
                   },
                   accumulate16});
  return pages;
}

/// Each of rows x columns places is taken once.
static void
checkBijection(unsigned rows, unsigned columns, unsigned lanes,
               unsigned elements,
               llvm::function_ref<Coordinate(unsigned, unsigned)> getPlace) {
  CHECK_EQUAL(rows * columns, lanes * elements);
  std::vector<unsigned> taken(rows * columns);
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned index = 0; index < elements; ++index) {
      Coordinate place = getPlace(lane, index);
      bool inside = place.row < rows && place.column < columns;
      CHECK_TRUE(inside);
      if (inside)
        CHECK_EQUAL(++taken[place.row * columns + place.column], 1u);
    }
}

static void testMmaSync() {
  for (const Page &page : getPages())
    for (ElementType type : page.types) {
      MmaShape shape = page.shape;
      CHECK_SUCCESS(checkMmaSync(shape, type));
      struct {
        MmaOperand operand;
        Formula formula;
        unsigned rows, columns;
      } operands[] = {{MmaOperand::A, page.a, shape.m, shape.k},
                      {MmaOperand::B, page.b, shape.k, shape.n},
                      {MmaOperand::D, page.d, shape.m, shape.n}};
      for (auto &o : operands) {
        unsigned elements = getMmaElements(shape, type, o.operand);
        checkBijection(
            o.rows, o.columns, 32, elements, [&](unsigned lane, unsigned i) {
              Coordinate place = getMmaElement(shape, type, o.operand, lane, i);
              CHECK_TRUE(place == o.formula(lane >> 2, lane % 4, i));
              return place;
            });
      }
    }
  CHECK_ERROR(checkMmaSync({16, 8, 32}, ElementType::F16),
              "mma of .f16 has the modelled shapes m16n8k8, m16n8k16, found "
              "m16n8k32");
  CHECK_ERROR(checkMmaSync({8, 8, 4}, ElementType::F16), "found m8n8k4");
}

//===----------------------------------------------------------------------===//
// ldmatrix, stmatrix
//===----------------------------------------------------------------------===//

static bool isElement(MatrixElement found, unsigned matrix, unsigned row,
                      unsigned column) {
  return found.matrix == matrix && found.row == row && found.column == column;
}

static void testMatrixLoads() {
  auto shape = LoadMatrixShape::M8N8B16;
  CHECK_EQUAL(getMatrixRows(shape), 8u);
  CHECK_EQUAL(getMatrixRowBytes(shape), 16u);
  // Figure of ldmatrix: thread 0 has elements 0 and 1 of row 0, thread 31 the
  // last two of row 7; register r comes from matrix r.
  CHECK_TRUE(isElement(getMatrixElement(shape, false, 0, 0, 1), 0, 0, 1));
  CHECK_TRUE(isElement(getMatrixElement(shape, false, 5, 2, 0), 2, 1, 2));
  CHECK_TRUE(isElement(getMatrixElement(shape, false, 31, 3, 1), 3, 7, 7));
  CHECK_TRUE(isElement(getMatrixElement(shape, true, 5, 2, 0), 2, 2, 1));
  for (bool transposed : {false, true})
    checkBijection(8, 8, 32, 2, [&](unsigned lane, unsigned i) {
      MatrixElement e = getMatrixElement(shape, transposed, lane, 0, i);
      return Coordinate{e.row, e.column};
    });
  // ldmatrix x4 of a 16x16 tile gives A of mma.m16n8k16 if matrices 1 and 2 are
  // the lower left and upper right; .trans of k-major rows gives B.
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 8; ++i) {
      MatrixElement e = getMatrixElement(shape, false, lane, i / 2, i % 2);
      Coordinate place = {e.row + 8 * (e.matrix & 1),
                          e.column + 8 * (e.matrix >> 1)};
      CHECK_TRUE(place == getMmaElement({16, 8, 16}, ElementType::F16,
                                        MmaOperand::A, lane, i));
      if (i >= 4)
        continue;
      MatrixElement b = getMatrixElement(shape, true, lane, i / 2, i % 2);
      Coordinate placeB = {b.row + 8 * b.matrix, b.column};
      CHECK_TRUE(placeB == getMmaElement({16, 8, 16}, ElementType::F16,
                                         MmaOperand::B, lane, i));
    }
  for (auto narrow : {LoadMatrixShape::M8N16B6, LoadMatrixShape::M8N16B4})
    checkBijection(8, 16, 32, 4, [&](unsigned lane, unsigned i) {
      MatrixElement e = getMatrixElement(narrow, false, lane, 0, i);
      CHECK_TRUE(e.row == lane / 4 && e.column == lane % 4 * 4 + i);
      return Coordinate{e.row, e.column};
    });
  checkBijection(8, 16, 32, 4, [&](unsigned lane, unsigned i) {
    MatrixElement e =
        getMatrixElement(LoadMatrixShape::M16N8B8, true, lane, 0, i);
    // An accumulator, stored by columns.
    CHECK_TRUE((
        Coordinate{e.column, e.row} ==
        getMmaElement({16, 8, 32}, ElementType::E4M3, MmaOperand::D, lane, i)));
    return Coordinate{e.row, e.column};
  });
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

static void testWgmma() {
  // Figure of D: thread 0 has (0, 0), (0, 1), (8, 0), (8, 1), (0, 8); warp 1
  // begins at row 16; thread 127 has (63, 7) in element 3.
  CHECK_TRUE((getWgmmaAccumulator(0, 1) == Coordinate{0, 1}));
  CHECK_TRUE((getWgmmaAccumulator(0, 2) == Coordinate{8, 0}));
  CHECK_TRUE((getWgmmaAccumulator(0, 4) == Coordinate{0, 8}));
  CHECK_TRUE((getWgmmaAccumulator(32, 0) == Coordinate{16, 0}));
  CHECK_TRUE((getWgmmaAccumulator(127, 3) == Coordinate{63, 7}));
  for (unsigned n = 8; n <= 256; n += 8)
    checkBijection(64, n, 128, n / 2, getWgmmaAccumulator);
  for (auto type : {ElementType::TF32, ElementType::F16, ElementType::BF16,
                    ElementType::E4M3, ElementType::S8}) {
    unsigned k = 256 / getBitWidth(type);
    checkBijection(64, k, 128, k / 2, [&](unsigned thread, unsigned i) {
      Coordinate place = getWgmmaOperandA(type, thread, i);
      // Each warp's 16 rows are as mma.sync has them.
      Coordinate warp =
          getMmaElement({16, 8, k}, type, MmaOperand::A, thread % 32, i);
      CHECK_TRUE(
          (place == Coordinate{thread / 32 * 16 + warp.row, warp.column}));
      return place;
    });
  }
}

//===----------------------------------------------------------------------===//
// tcgen05.ld, tcgen05.st
//===----------------------------------------------------------------------===//

static bool isCell(TensorMemoryCell cell, unsigned lane, unsigned column,
                   unsigned half = 0) {
  return cell.lane == lane && cell.column == column && cell.half == half;
}

static void testTensorMemoryShapes() {
  struct {
    TensorMemoryShape shape;
    const char *name;
    unsigned lanes, columns, mostNum;
  } shapes[] = {{TensorMemoryShape::L32x32b, "32x32b", 32, 1, 128},
                {TensorMemoryShape::L16x64b, "16x64b", 16, 2, 128},
                {TensorMemoryShape::L16x128b, "16x128b", 16, 4, 64},
                {TensorMemoryShape::L16x256b, "16x256b", 16, 8, 32}};
  for (auto &s : shapes) {
    auto parsed = parseTensorMemoryShape(s.name);
    CHECK_TRUE(bool(parsed) && *parsed == s.shape);
    for (unsigned num = 1; num <= s.mostNum; num *= 2) {
      auto registers = getTensorMemoryRegisters(s.shape, num);
      CHECK_TRUE(bool(registers));
      if (!registers)
        continue;
      checkBijection(s.lanes, s.columns * num, 32, *registers,
                     [&](unsigned lane, unsigned reg) {
                       auto cell = getTensorMemoryCell(s.shape, lane, reg);
                       return Coordinate{cell.lane, cell.column};
                     });
    }
    CHECK_ERROR(getTensorMemoryRegisters(s.shape, 2 * s.mostNum).takeError(),
                "power of two with at most 128 registers");
    CHECK_ERROR(getTensorMemoryRegisters(s.shape, 3).takeError(), "found .x3");
  }
  CHECK_ERROR(
      parseTensorMemoryShape("8x32b").takeError(),
      "shape of tensor memory accesses must be 32x32b, 16x64b, 16x128b, "
      "16x256b or 16x32bx2, found '8x32b'");
}

/// Some cells of the ISA's figures.
static void testTensorMemoryFigures() {
  using Shape = TensorMemoryShape;
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L32x32b, 7, 3), 7, 3));
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L16x64b, 0, 0), 0, 0));
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L16x64b, 1, 0), 8, 0));
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L16x64b, 2, 0), 0, 1));
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L16x64b, 4, 1), 1, 2));
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L16x128b, 3, 0), 0, 3));
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L16x128b, 4, 1), 9, 0));
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L16x128b, 0, 2), 0, 4));
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L16x256b, 1, 1), 0, 3));
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L16x256b, 4, 2), 9, 0));
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L16x256b, 0, 4), 0, 8));
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L16x32bx2, 5, 2), 5, 2, 0));
  CHECK_TRUE(isCell(getTensorMemoryCell(Shape::L16x32bx2, 21, 2), 5, 2, 1));
  // Two columns a register.
  CHECK_TRUE(isCell(getPackedTensorMemoryCell(Shape::L32x32b, 7, 3, 1), 7, 7));
}

void fovea::ptx::test::testFragments() {
  testMmaSync();
  testMatrixLoads();
  testWgmma();
  testTensorMemoryShapes();
  testTensorMemoryFigures();
}
