//===- InstructionDescriptor.cpp - Matrix instructions ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Units/InstructionDescriptor.h"

#include "UnitError.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

#include <optional>

using namespace fovea::ptx;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kKindNames[] = {
    "f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};

llvm::Expected<MmaKind> fovea::ptx::parseMmaKind(llvm::StringRef name) {
  for (auto [index, known] : llvm::enumerate(kKindNames))
    if (known == name)
      return MmaKind(index);
  return makeError("kind of tcgen05.mma must be f16, tf32, f8f6f4, i8, "
                   "mxf8f6f4, mxf4 or mxf4nvf4, found '" +
                   name + "'");
}

llvm::StringRef fovea::ptx::getName(MmaKind kind) {
  return kKindNames[unsigned(kind)];
}

bool fovea::ptx::hasBlockScales(MmaKind kind) {
  return kind >= MmaKind::MXF8F6F4;
}

/// Two 4-bit elements per byte, k of 64.
static bool isFourBitKind(MmaKind kind) { return kind >= MmaKind::MXF4; }

static unsigned getDenseK(MmaKind kind) {
  switch (kind) {
  case MmaKind::TF32:
    return 8;
  case MmaKind::F16:
    return 16;
  case MmaKind::F8F6F4:
  case MmaKind::I8:
  case MmaKind::MXF8F6F4:
    return 32;
  case MmaKind::MXF4:
  case MmaKind::MXF4NVF4:
    return 64;
  }
  llvm_unreachable("unknown kind");
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

static unsigned getBits(uint32_t bits, unsigned first, unsigned count) {
  return (bits >> first) & ((1u << count) - 1);
}

static llvm::Error makeFieldError(MmaKind kind, const Twine &field,
                                  unsigned first, unsigned count,
                                  const Twine &expected, uint32_t bits) {
  return makeError(
      field + " (bits " + Twine(first) + "-" + Twine(first + count - 1) +
      ") of an instruction descriptor of kind " + getName(kind) + " must be " +
      expected + ", found " + Twine(getBits(bits, first, count)) + " in 0x" +
      Twine::utohexstr(bits));
}

namespace {
struct Field {
  unsigned first, count;
};
} // namespace

static llvm::Error checkZero(uint32_t bits, MmaKind kind,
                             llvm::ArrayRef<Field> fields) {
  for (Field field : fields)
    if (getBits(bits, field.first, field.count))
      return makeFieldError(kind, "a reserved field", field.first, field.count,
                            "0", bits);
  return llvm::Error::success();
}

static llvm::Error checkReserved(uint32_t bits, MmaKind kind) {
  if (!hasBlockScales(kind)) {
    if (kind == MmaKind::I8)
      return checkZero(bits, kind, {{6, 1}, {13, 2}, {23, 1}, {29, 1}});
    return checkZero(bits, kind, {{3, 1}, {6, 1}, {23, 1}, {29, 1}});
  }
  if (isFourBitKind(kind))
    return checkZero(bits, kind,
                     {{0, 2}, {3, 1}, {6, 1}, {12, 1}, {15, 2}, {24, 3}});
  return checkZero(bits, kind, {{0, 2}, {3, 1}, {6, 1}, {24, 3}, {31, 1}});
}

static std::optional<ElementType> getOperandType(MmaKind kind, unsigned value) {
  using Type = ElementType;
  switch (kind) {
  case MmaKind::F16:
    return value == 0   ? std::optional(Type::F16)
           : value == 1 ? std::optional(Type::BF16)
                        : std::nullopt;
  case MmaKind::TF32:
    return value == 2 ? std::optional(Type::TF32) : std::nullopt;
  case MmaKind::I8:
    return value == 0   ? std::optional(Type::U8)
           : value == 1 ? std::optional(Type::S8)
                        : std::nullopt;
  case MmaKind::F8F6F4:
  case MmaKind::MXF8F6F4:
    switch (value) {
    case 0:
      return Type::E4M3;
    case 1:
      return Type::E5M2;
    case 3:
      return Type::E2M3;
    case 4:
      return Type::E3M2;
    case 5:
      return Type::E2M1;
    default:
      return std::nullopt;
    }
  case MmaKind::MXF4:
  case MmaKind::MXF4NVF4:
    return value == 1 ? std::optional(Type::E2M1) : std::nullopt;
  }
  llvm_unreachable("unknown kind");
}

static unsigned getOperandValue(MmaKind kind, ElementType type) {
  for (unsigned value = 0; value < 8; ++value)
    if (getOperandType(kind, value) == type)
      return value;
  llvm_unreachable("the kind has no such operands");
}

static std::optional<ElementType> getResultType(MmaKind kind, unsigned value) {
  using Type = ElementType;
  if (kind == MmaKind::I8)
    return value == 2 ? std::optional(Type::S32) : std::nullopt;
  if (value == 1)
    return Type::F32;
  bool hasHalf = kind == MmaKind::F16 || kind == MmaKind::F8F6F4;
  return value == 0 && hasHalf ? std::optional(Type::F16) : std::nullopt;
}

static llvm::Error decodeTypes(uint32_t bits, InstructionDescriptor &result) {
  MmaKind kind = result.kind;
  unsigned bBits = isFourBitKind(kind) ? 2 : 3;
  auto a = getOperandType(kind, getBits(bits, 7, 3));
  if (!a)
    return makeFieldError(kind, "the type of A", 7, 3, "one of the kind", bits);
  auto b = getOperandType(kind, getBits(bits, 10, bBits));
  if (!b)
    return makeFieldError(kind, "the type of B", 10, bBits, "one of the kind",
                          bits);
  result.aType = *a, result.bType = *b;
  if (hasBlockScales(kind))
    return llvm::Error::success();
  auto d = getResultType(kind, getBits(bits, 4, 2));
  if (!d)
    return makeFieldError(kind, "the type of D", 4, 2, "one of the kind", bits);
  result.dType = *d;
  return llvm::Error::success();
}

/// Decodes the fields of block scales, and m.
static llvm::Error decodeScales(uint32_t bits, InstructionDescriptor &result) {
  MmaKind kind = result.kind;
  result.m = getBits(bits, 27, 2) << 7;
  result.scaleAId = getBits(bits, 29, 2);
  result.scaleBId = getBits(bits, 4, 2);
  bool isPower = getBits(bits, 23, 1);
  result.scaleType = isPower ? ElementType::UE8M0 : ElementType::UE4M3;
  if (!isPower && kind != MmaKind::MXF4NVF4)
    return makeFieldError(kind, "the type of scales", 23, 1, "1 (ue8m0)", bits);
  if (!isFourBitKind(kind))
    return llvm::Error::success();
  if (getBits(bits, 31, 1))
    result.k = 96;
  if (result.scaleAId % 2)
    return makeFieldError(kind, "the id of A's scales", 29, 2, "0 or 2", bits);
  if (result.scaleBId % 2)
    return makeFieldError(kind, "the id of B's scales", 4, 2, "0 or 2", bits);
  return llvm::Error::success();
}

llvm::Expected<InstructionDescriptor>
fovea::ptx::decodeInstructionDescriptor(uint32_t bits, MmaKind kind,
                                        bool sparse) {
  if (llvm::Error error = checkReserved(bits, kind))
    return error;
  InstructionDescriptor result;
  result.kind = kind;
  result.sparse = getBits(bits, 2, 1);
  if (result.sparse != sparse)
    return makeFieldError(kind, "sparsity", 2, 1,
                          sparse ? "1 for tcgen05.mma.sp" : "0 for tcgen05.mma",
                          bits);
  if (llvm::Error error = decodeTypes(bits, result))
    return error;
  result.negateA = getBits(bits, 13, 1);
  result.negateB = getBits(bits, 14, 1);
  result.aMajor = getBits(bits, 15, 1) ? MajorDim::MN : MajorDim::K;
  result.bMajor = getBits(bits, 16, 1) ? MajorDim::MN : MajorDim::K;
  result.n = getBits(bits, 17, 6) << 3;
  result.k = getDenseK(kind);
  if (hasBlockScales(kind)) {
    if (llvm::Error error = decodeScales(bits, result))
      return error;
  } else {
    result.m = getBits(bits, 24, 5) << 4;
    result.saturate = getBits(bits, 3, 1);
    result.sparsitySelector = getBits(bits, 0, 2);
    unsigned shift = getBits(bits, 30, 2);
    result.maximumShift = shift ? 4u << shift : 0;
  }
  if (sparse)
    result.k *= 2;
  return result;
}

uint32_t
fovea::ptx::encodeInstructionDescriptor(const InstructionDescriptor &d) {
  uint32_t bits =
      uint32_t(d.sparse) << 2 | getOperandValue(d.kind, d.aType) << 7 |
      getOperandValue(d.kind, d.bType) << 10 | uint32_t(d.negateA) << 13 |
      uint32_t(d.negateB) << 14 | uint32_t(d.aMajor == MajorDim::MN) << 15 |
      uint32_t(d.bMajor == MajorDim::MN) << 16 | d.n >> 3 << 17;
  if (hasBlockScales(d.kind))
    return bits | d.scaleBId << 4 |
           uint32_t(d.scaleType == ElementType::UE8M0) << 23 | d.m >> 7 << 27 |
           d.scaleAId << 29 | uint32_t(d.k == 96) << 31;
  uint32_t result = d.dType == ElementType::F32   ? 1
                    : d.dType == ElementType::S32 ? 2
                                                  : 0;
  uint32_t shift = d.maximumShift == 0    ? 0
                   : d.maximumShift == 8  ? 1
                   : d.maximumShift == 16 ? 2
                                          : 3;
  return bits | d.sparsitySelector | uint32_t(d.saturate) << 3 | result << 4 |
         d.m >> 4 << 24 | shift << 30;
}

//===----------------------------------------------------------------------===//
// Shapes of tcgen05.mma
//===----------------------------------------------------------------------===//

static llvm::Error makeShapeError(const InstructionDescriptor &d,
                                  llvm::StringRef dim, const Twine &expected,
                                  unsigned found) {
  return makeError(dim + " of tcgen05.mma of kind " + getName(d.kind) +
                   " must be " + expected + ", found " + Twine(found));
}

static llvm::Error checkWeightStationary(const InstructionDescriptor &d,
                                         unsigned ctaGroup) {
  if (hasBlockScales(d.kind) || ctaGroup != 1)
    return makeError(
        "tcgen05.mma.ws must have .cta_group::1 and a kind without "
        "block scales");
  if (d.m != 32 && d.m != 64 && d.m != 128)
    return makeShapeError(d, "m", "32, 64 or 128 with .ws", d.m);
  if (d.n != 64 && d.n != 128 && d.n != 256)
    return makeShapeError(d, "n", "64, 128 or 256 with .ws", d.n);
  return llvm::Error::success();
}

static llvm::Error checkRows(const InstructionDescriptor &d,
                             unsigned ctaGroup) {
  if (ctaGroup == 2)
    return d.m == 128 || d.m == 256
               ? llvm::Error::success()
               : makeShapeError(d, "m", "128 or 256 with .cta_group::2", d.m);
  if (hasBlockScales(d.kind))
    return d.m == 128 ? llvm::Error::success()
                      : makeShapeError(d, "m", "128 with .cta_group::1", d.m);
  return d.m == 64 || d.m == 128
             ? llvm::Error::success()
             : makeShapeError(d, "m", "64 or 128 with .cta_group::1", d.m);
}

/// The step of n.
static unsigned getColumnStep(const InstructionDescriptor &d,
                              unsigned ctaGroup) {
  bool transposed8 = d.bMajor == MajorDim::MN && getBitWidth(d.bType) == 8;
  if (ctaGroup == 2)
    return d.kind == MmaKind::I8 || transposed8 ? 32 : 16;
  if (transposed8 || (d.kind == MmaKind::I8 && d.n > 32))
    return 16;
  return d.kind == MmaKind::F8F6F4 && d.m == 128 ? 16 : 8;
}

llvm::Error fovea::ptx::checkMmaShape(const InstructionDescriptor &d,
                                      unsigned ctaGroup,
                                      bool weightStationary) {
  if (d.sparse)
    return makeError("sparse tcgen05.mma isn't modelled");
  if (d.k == 96)
    return makeError("tcgen05.mma with k = 96 isn't modelled");
  if (ctaGroup != 1 && ctaGroup != 2)
    return makeError("CTA group must be 1 or 2, found " + Twine(ctaGroup));
  if (weightStationary)
    return checkWeightStationary(d, ctaGroup);
  if (llvm::Error error = checkRows(d, ctaGroup))
    return error;
  unsigned step = getColumnStep(d, ctaGroup);
  if (d.n == 0 || d.n > 256 || d.n % step)
    return makeShapeError(d, "n",
                          "a multiple of " + Twine(step) + " in [" +
                              Twine(step) + ", 256] with .cta_group::" +
                              Twine(ctaGroup) + " and m = " + Twine(d.m),
                          d.n);
  return llvm::Error::success();
}

OperandTile fovea::ptx::getOperandTileA(const InstructionDescriptor &d,
                                        unsigned ctaGroup) {
  return {d.aType, d.aMajor, getRowsPerCTA(d, ctaGroup), d.k,
          !isFourBitKind(d.kind)};
}

OperandTile fovea::ptx::getOperandTileB(const InstructionDescriptor &d,
                                        unsigned ctaGroup) {
  return {d.bType, d.bMajor, getColumnsPerCTA(d, ctaGroup), d.k,
          !isFourBitKind(d.kind)};
}

llvm::Expected<unsigned>
fovea::ptx::getScaleChunks(const InstructionDescriptor &d,
                           llvm::StringRef name) {
  bool isBlock16 = name == "4X" || name == "block16";
  bool isBlock32 = name.empty() || name == "block32" ||
                   name == (isFourBitKind(d.kind) ? "2X" : "1X");
  bool isFour = isBlock16 && d.kind == MmaKind::MXF4NVF4;
  bool isDefault = isBlock32 && hasBlockScales(d.kind) &&
                   !(name.empty() && d.kind == MmaKind::MXF4NVF4);
  if (!isFour && !isDefault)
    return makeError("tcgen05.mma of kind " + getName(d.kind) +
                     " has no scale vectors '" + name + "'");
  if (isDefault && d.scaleType == ElementType::UE4M3)
    return makeError("scales of ue4m3 must be in blocks of 16");
  if (isFour && (d.scaleAId || d.scaleBId))
    return makeError("ids of scales in blocks of 16 must be 0, found " +
                     Twine(d.scaleAId) + " and " + Twine(d.scaleBId));
  return isFour ? 4 : isFourBitKind(d.kind) ? 2 : 1;
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

static bool isByteFloat(ElementType type) {
  return type == ElementType::E4M3 || type == ElementType::E5M2;
}

static bool isByteInteger(ElementType type) {
  return type == ElementType::S8 || type == ElementType::U8;
}

static bool hasWgmmaTypes(const WgmmaShape &shape) {
  ElementType a = shape.aType, b = shape.bType, d = shape.dType;
  if (isByteInteger(a))
    return isByteInteger(b) && d == ElementType::S32;
  if (d == ElementType::F16)
    return (a == ElementType::F16 && b == a) ||
           (isByteFloat(a) && isByteFloat(b));
  if (d != ElementType::F32)
    return false;
  if (isByteFloat(a))
    return isByteFloat(b);
  return a == b && (a == ElementType::F16 || a == ElementType::BF16 ||
                    a == ElementType::TF32);
}

llvm::Error fovea::ptx::checkWgmma(const WgmmaShape &shape) {
  if (!hasWgmmaTypes(shape))
    return makeError("wgmma has no products of ." + getName(shape.aType) +
                     " and ." + getName(shape.bType) + " in ." +
                     getName(shape.dType));
  unsigned k = 256 / getBitWidth(shape.aType);
  if (shape.k != k)
    return makeError("k of wgmma of ." + getName(shape.aType) + " must be " +
                     Twine(k) + ", found " + Twine(shape.k));
  // Integers: 8, 16, 24, 32, then multiples of 16.
  unsigned step = isByteInteger(shape.aType) && shape.n > 32 ? 16 : 8;
  if (shape.n == 0 || shape.n > 256 || shape.n % step)
    return makeError("n of wgmma of ." + getName(shape.aType) +
                     " must be a multiple of " + Twine(step) +
                     " in [8, 256], found " + Twine(shape.n));
  return llvm::Error::success();
}
