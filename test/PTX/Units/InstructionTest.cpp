//===- InstructionTest.cpp - Instruction descriptors and shapes -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "fovea/PTX/Units/InstructionDescriptor.h"

#include <vector>

using namespace fovea::ptx;
using namespace fovea::ptx::test;

static llvm::Error decodeError(uint32_t bits, MmaKind kind) {
  return decodeInstructionDescriptor(bits, kind).takeError();
}

/// bf16 into f32, 128 x 256, by the ISA's table.
static void testKnownBits() {
  uint32_t bits =
      1u << 4 | 1u << 7 | 1u << 10 | (256u >> 3) << 17 | (128u >> 4) << 24;
  CHECK_EQUAL(bits, 0x08400490u);
  auto d = decodeInstructionDescriptor(bits, MmaKind::F16);
  CHECK_TRUE(bool(d));
  if (!d)
    return;
  CHECK_TRUE(d->aType == ElementType::BF16 && d->bType == ElementType::BF16);
  CHECK_TRUE(d->dType == ElementType::F32);
  CHECK_EQUAL(d->m, 128u);
  CHECK_EQUAL(d->n, 256u);
  CHECK_EQUAL(d->k, 16u);
  CHECK_TRUE(d->aMajor == MajorDim::K && d->bMajor == MajorDim::K);
  CHECK_SUCCESS(checkMmaShape(*d, 1));
  CHECK_EQUAL(encodeInstructionDescriptor(*d), bits);
  // B along n, A negated; mxf8f6f4 e5m2 x e2m1, 128 x 64, ids 3 and 1.
  auto transposed =
      decodeInstructionDescriptor(bits | 1u << 16 | 1u << 13, MmaKind::F16);
  CHECK_TRUE(bool(transposed) && transposed->bMajor == MajorDim::MN &&
             transposed->negateA && !transposed->negateB);
  uint32_t scaled = 1u << 4 | 1u << 7 | 5u << 10 | (64u >> 3) << 17 | 1u << 23 |
                    1u << 27 | 3u << 29;
  auto mx = decodeInstructionDescriptor(scaled, MmaKind::MXF8F6F4);
  CHECK_TRUE(bool(mx));
  if (!mx)
    return;
  CHECK_TRUE(mx->aType == ElementType::E5M2 && mx->bType == ElementType::E2M1);
  CHECK_EQUAL(mx->m, 128u);
  CHECK_EQUAL(mx->n, 64u);
  CHECK_EQUAL(mx->k, 32u);
  CHECK_EQUAL(mx->scaleAId, 3u);
  CHECK_EQUAL(mx->scaleBId, 1u);
  CHECK_TRUE(mx->scaleType == ElementType::UE8M0);
  CHECK_EQUAL(encodeInstructionDescriptor(*mx), scaled);
}

/// Every reserved bit and every undefined type is refused.
static void testReserved() {
  uint32_t f16 = 0x08400490, tf32 = 1u << 4 | 2u << 7 | 2u << 10, f8 = 1u << 4,
           i8 = 2u << 4, mx = 1u << 23, mxf4 = 1u << 23 | 1u << 7 | 1u << 10;
  struct {
    MmaKind kind;
    uint32_t bits;
    std::vector<unsigned> reserved;
  } cases[] = {{MmaKind::F16, f16, {3, 6, 23, 29}},
               {MmaKind::TF32, tf32, {3, 6, 23, 29}},
               {MmaKind::F8F6F4, f8, {3, 6, 23, 29}},
               {MmaKind::I8, i8, {6, 13, 14, 23, 29}},
               {MmaKind::MXF8F6F4, mx, {0, 1, 3, 6, 24, 25, 26, 31}},
               {MmaKind::MXF4, mxf4, {0, 1, 3, 6, 12, 15, 16, 24, 25, 26}},
               {MmaKind::MXF4NVF4, mxf4, {0, 1, 3, 6, 12, 15, 16, 24, 25, 26}}};
  for (auto &c : cases) {
    CHECK_SUCCESS(decodeError(c.bits, c.kind));
    for (unsigned bit : c.reserved)
      CHECK_ERROR(decodeError(c.bits ^ 1u << bit, c.kind),
                  "a reserved field (bits");
    CHECK_ERROR(decodeError(c.bits | 4, c.kind),
                "sparsity (bits 2-2) of an instruction descriptor of kind");
    CHECK_ERROR(decodeError(c.bits | 4, c.kind), "0 for tcgen05.mma, found 1");
    CHECK_ERROR(decodeInstructionDescriptor(c.bits, c.kind, true).takeError(),
                "1 for tcgen05.mma.sp, found 0");
  }
  CHECK_ERROR(decodeError(f16 ^ 2u << 7, MmaKind::F16),
              "the type of A (bits 7-9) of an instruction descriptor of kind "
              "f16 must be one of the kind, found 3");
  CHECK_ERROR(decodeError(f16 ^ 2u << 10, MmaKind::F16), "the type of B");
  CHECK_ERROR(decodeError(f16 ^ 3u << 4, MmaKind::F16), "the type of D");
  CHECK_ERROR(decodeError(f8 | 2u << 7, MmaKind::F8F6F4), "the type of A");
  CHECK_ERROR(decodeError(1u << 4, MmaKind::I8), "the type of D");
  CHECK_ERROR(decodeError(0, MmaKind::MXF8F6F4), "1 (ue8m0)");
  CHECK_ERROR(decodeError(mxf4 | 1u << 29, MmaKind::MXF4), "id of A's scales");
  CHECK_ERROR(decodeError(mxf4 | 1u << 4, MmaKind::MXF4), "id of B's scales");
  auto k96 = decodeInstructionDescriptor(mxf4 | 1u << 31, MmaKind::MXF4);
  CHECK_TRUE(bool(k96) && k96->k == 96);
  if (k96)
    CHECK_ERROR(checkMmaShape(*k96, 1), "k = 96 isn't modelled");
}

static InstructionDescriptor getDescriptor(MmaKind kind, unsigned m,
                                           unsigned n) {
  InstructionDescriptor d;
  d.kind = kind, d.m = m, d.n = n;
  if (kind == MmaKind::F8F6F4)
    d.aType = d.bType = ElementType::E4M3;
  return d;
}

/// The ISA's "Various combinations of .kind and shapes", all of m and n.
static void testShapes() {
  using Kind = MmaKind;
  auto isLegal = [](Kind kind, unsigned group, bool ws, unsigned m,
                    unsigned n) {
    bool scaled = kind >= Kind::MXF8F6F4;
    if (ws)
      return !scaled && group == 1 && (m == 32 || m == 64 || m == 128) &&
             (n == 64 || n == 128 || n == 256);
    if (n < 8 || n > 256)
      return false;
    if (group == 2)
      return (m == 128 || m == 256) && n % (kind == Kind::I8 ? 32 : 16) == 0;
    if (m != 128 && (m != 64 || scaled))
      return false;
    if (kind == Kind::I8)
      return n == 8 || n == 24 || n % 16 == 0;
    return n % (kind == Kind::F8F6F4 && m == 128 ? 16 : 8) == 0;
  };
  for (Kind kind : {Kind::F16, Kind::TF32, Kind::F8F6F4, Kind::I8,
                    Kind::MXF8F6F4, Kind::MXF4, Kind::MXF4NVF4})
    for (unsigned group : {1u, 2u})
      for (bool ws : {false, true})
        for (unsigned m = 0; m <= 384; m += 32)
          for (unsigned n = 0; n <= 264; n += 8) {
            llvm::Error error =
                checkMmaShape(getDescriptor(kind, m, n), group, ws);
            bool found = !error;
            llvm::consumeError(std::move(error));
            CHECK_EQUAL(found, isLegal(kind, group, ws, m, n));
          }
  CHECK_ERROR(checkMmaShape(getDescriptor(Kind::F16, 192, 64), 1),
              "m of tcgen05.mma of kind f16 must be 64 or 128 with "
              ".cta_group::1, found 192");
  CHECK_ERROR(checkMmaShape(getDescriptor(Kind::F16, 64, 64), 2),
              "must be 128 or 256 with .cta_group::2, found 64");
  CHECK_ERROR(checkMmaShape(getDescriptor(Kind::MXF4, 64, 64), 1),
              "must be 128 with .cta_group::1, found 64");
  CHECK_ERROR(checkMmaShape(getDescriptor(Kind::F16, 128, 64), 3),
              "CTA group must be 1 or 2, found 3");
  CHECK_ERROR(checkMmaShape(getDescriptor(Kind::F16, 128, 64), 2, true),
              "tcgen05.mma.ws must have .cta_group::1 and a kind without block "
              "scales");
  CHECK_ERROR(checkMmaShape(getDescriptor(Kind::F16, 256, 64), 1, true),
              "must be 32, 64 or 128 with .ws, found 256");
  CHECK_ERROR(checkMmaShape(getDescriptor(Kind::F16, 128, 96), 1, true),
              "must be 64, 128 or 256 with .ws, found 96");
  InstructionDescriptor sparse = getDescriptor(Kind::F16, 128, 64);
  sparse.sparse = true;
  CHECK_ERROR(checkMmaShape(sparse, 1), "sparse tcgen05.mma isn't modelled");
  // 8-bit B along n.
  InstructionDescriptor d = getDescriptor(Kind::F8F6F4, 64, 24);
  CHECK_SUCCESS(checkMmaShape(d, 1));
  d.bMajor = MajorDim::MN;
  CHECK_ERROR(checkMmaShape(d, 1), "a multiple of 16");
  d.m = 128, d.n = 48;
  CHECK_ERROR(checkMmaShape(d, 2), "a multiple of 32 in [32, 256] with "
                                   ".cta_group::2 and m = 128, found 48");
}

static void testTiles() {
  InstructionDescriptor d = getDescriptor(MmaKind::F16, 256, 128);
  d.k = 16, d.bMajor = MajorDim::MN;
  OperandTile a = getOperandTileA(d, 2), b = getOperandTileB(d, 2);
  CHECK_EQUAL(a.extent, 128u);
  CHECK_EQUAL(b.extent, 64u);
  CHECK_EQUAL(a.k, 16u);
  CHECK_TRUE(a.major == MajorDim::K && b.major == MajorDim::MN);
}

static void testScales() {
  InstructionDescriptor d;
  auto getChunks = [&](MmaKind kind, llvm::StringRef name) {
    d.kind = kind;
    auto chunks = getScaleChunks(d, name);
    if (chunks)
      return *chunks;
    llvm::consumeError(chunks.takeError());
    return 0u;
  };
  CHECK_EQUAL(getChunks(MmaKind::MXF8F6F4, "1X"), 1u);
  CHECK_EQUAL(getChunks(MmaKind::MXF8F6F4, "block32"), 1u);
  CHECK_EQUAL(getChunks(MmaKind::MXF8F6F4, ""), 1u);
  CHECK_EQUAL(getChunks(MmaKind::MXF8F6F4, "2X"), 0u);
  CHECK_EQUAL(getChunks(MmaKind::MXF4, "2X"), 2u);
  CHECK_EQUAL(getChunks(MmaKind::MXF4, "4X"), 0u);
  CHECK_EQUAL(getChunks(MmaKind::MXF4NVF4, "block16"), 4u);
  CHECK_EQUAL(getChunks(MmaKind::MXF4NVF4, "4X"), 4u);
  CHECK_EQUAL(getChunks(MmaKind::MXF4NVF4, "2X"), 2u);
  CHECK_EQUAL(getChunks(MmaKind::MXF4NVF4, ""), 0u);
  CHECK_EQUAL(getChunks(MmaKind::F16, ""), 0u);
  d.scaleType = ElementType::UE4M3;
  CHECK_EQUAL(getChunks(MmaKind::MXF4NVF4, "4X"), 4u);
  CHECK_EQUAL(getChunks(MmaKind::MXF4NVF4, "2X"), 0u);
  d.scaleAId = 2;
  CHECK_EQUAL(getChunks(MmaKind::MXF4NVF4, "4X"), 0u);
  CHECK_ERROR(getScaleChunks(d, "4X").takeError(),
              "ids of scales in blocks of 16 must be 0, found 2 and 0");
  CHECK_ERROR(getScaleChunks(d, "2X").takeError(),
              "scales of ue4m3 must be in blocks of 16");
  CHECK_ERROR(getScaleChunks(d, "8X").takeError(),
              "tcgen05.mma of kind mxf4nvf4 has no scale vectors '8X'");
  CHECK_TRUE(bool(parseMmaKind("mxf4nvf4")));
  CHECK_ERROR(parseMmaKind("f64").takeError(),
              "kind of tcgen05.mma must be f16, tf32, f8f6f4, i8, mxf8f6f4, "
              "mxf4 or mxf4nvf4, found 'f64'");
}

static void testWgmma() {
  using Type = ElementType;
  for (unsigned n = 0; n <= 264; n += 4) {
    auto check = [&](Type type, unsigned k, Type result) {
      llvm::Error error = checkWgmma({n, k, result, type, type});
      bool legal = !error;
      llvm::consumeError(std::move(error));
      return legal;
    };
    bool inRange = n >= 8 && n <= 256 && n % 8 == 0;
    CHECK_EQUAL(check(Type::BF16, 16, Type::F32), inRange);
    CHECK_EQUAL(check(Type::TF32, 8, Type::F32), inRange);
    CHECK_EQUAL(check(Type::E5M2, 32, Type::F16), inRange);
    // The ISA's list of integer shapes.
    bool integer = inRange && (n <= 32 || n % 16 == 0);
    CHECK_EQUAL(check(Type::S8, 32, Type::S32), integer);
  }
  CHECK_ERROR(checkWgmma({64, 8, Type::F32, Type::F16, Type::F16}),
              "k of wgmma of .f16 must be 16, found 8");
  CHECK_ERROR(checkWgmma({64, 16, Type::F16, Type::BF16, Type::BF16}),
              "no products of .bf16 and .bf16 in .f16");
  CHECK_ERROR(checkWgmma({64, 16, Type::F32, Type::F16, Type::BF16}),
              "no products of .f16 and .bf16");
  CHECK_ERROR(checkWgmma({12, 16, Type::F32, Type::F16, Type::F16}),
              "n of wgmma of .f16 must be a multiple of 8 in [8, 256], found "
              "12");
  CHECK_SUCCESS(checkWgmma({64, 32, Type::F32, Type::E4M3, Type::E5M2}));
  CHECK_SUCCESS(checkWgmma({64, 32, Type::S32, Type::S8, Type::U8}));
}

void fovea::ptx::test::testInstruction() {
  testKnownBits();
  testReserved();
  testShapes();
  testTiles();
  testScales();
  testWgmma();
}
