//===- InstructionsMatrix.cpp - mma.sync, ldmatrix and stmatrix -----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warp-level matrix instructions, with the fragments of Units/Fragments.h and
// the products of Units/MatrixArithmetic.h.
//
//===----------------------------------------------------------------------===//

#include "Atomics.h"
#include "Lanes.h"
#include "MatrixTypes.h"

#include "fovea/PTX/Units/Fragments.h"
#include "fovea/PTX/Units/MatrixArithmetic.h"

#include "llvm/ADT/StringSwitch.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

std::optional<ElementType> fovea::ptx::takeMatrixType(Build &b) {
  StringRef name =
      b.takeOneOf({"f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2", "e2m3",
                   "e3m2", "e2m1", "s8", "u8", "s32"});
  auto type = llvm::StringSwitch<std::optional<ElementType>>(name)
                  .Case("f16", ElementType::F16)
                  .Case("bf16", ElementType::BF16)
                  .Case("tf32", ElementType::TF32)
                  .Case("f32", ElementType::F32)
                  .Case("f64", ElementType::F64)
                  .Case("e4m3", ElementType::E4M3)
                  .Case("e5m2", ElementType::E5M2)
                  .Case("s8", ElementType::S8)
                  .Case("u8", ElementType::U8)
                  .Case("s32", ElementType::S32)
                  .Default(std::nullopt);
  if (type)
    return type;
  StringRef rest = name.empty() ? b.nextModifier() : name;
  b.error("element type ." + rest + " of '" + b.name + "' is not modelled");
  return std::nullopt;
}

static bool isInteger(ElementType type) {
  return type == ElementType::S8 || type == ElementType::U8;
}

static Step notWhole(Warp &warp, const Inst &inst, uint32_t mask) {
  return warp.fail(
      inst, "aligned",
      "'" + warp.code->function->body[inst.index].opcode +
          "' must be executed by all live lanes of the warp, found lanes " +
          warp.describe(mask),
      mask);
}

Step fovea::ptx::failAligned(Warp &warp, const Inst &inst, uint32_t mask) {
  return notWhole(warp, inst, mask);
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

namespace {
/// Slots: the registers of D, A, B and C.
struct Mma {
  MmaShape shape;
  ElementType a, b, d, c;
  bool saturate = false;
  unsigned dRegisters, aRegisters, bRegisters, cRegisters;
  /// The position in the matrix of each lane's elements: lane * elements +
  /// index.
  std::vector<uint16_t> aPlaces, bPlaces, dPlaces;
};
} // namespace

/// Elements per 32-bit register; one f64 per 64-bit register.
static unsigned perRegister(ElementType type) {
  return type == ElementType::F64 ? 1 : 32 / getBitWidth(type);
}

template <class T>
static void gather(Warp &warp, const Slot *slots, ElementType type,
                   unsigned elements, const std::vector<uint16_t> &places,
                   T *to) {
  unsigned per = perRegister(type), bits = getBitWidth(type);
  for (unsigned n = 0; n < elements; ++n) {
    if (type == ElementType::F64) {
      const double *from = warp.at<double>(slots[n]);
      for (unsigned l = 0; l < 32; ++l)
        to[places[l * elements + n]] = T(from[l]);
      continue;
    }
    const uint32_t *from = warp.at<uint32_t>(slots[n / per]);
    unsigned shift = n % per * bits;
    for (unsigned l = 0; l < 32; ++l) {
      uint32_t raw = from[l] >> shift;
      T value;
      switch (type) {
      case ElementType::F32:
        value = T(bitsToFloat(raw));
        break;
      case ElementType::TF32:
        value = T(truncateToTF32(bitsToFloat(raw)));
        break;
      case ElementType::BF16:
        value = T(bfloatToFloat(raw));
        break;
      case ElementType::F16:
        value = T(halfToFloat(raw));
        break;
      case ElementType::S32:
        value = T(int32_t(raw));
        break;
      case ElementType::S8:
        value = T(int8_t(raw));
        break;
      case ElementType::U8:
        value = T(uint8_t(raw));
        break;
      default:
        value = T(convertToDouble(raw, type));
      }
      to[places[l * elements + n]] = value;
    }
  }
}

template <class T>
static void scatter(Warp &warp, const Slot *slots, ElementType type,
                    unsigned elements, const std::vector<uint16_t> &places,
                    const T *from) {
  for (unsigned n = 0; n < elements; ++n)
    for (unsigned l = 0; l < 32; ++l) {
      T value = from[places[l * elements + n]];
      if (type == ElementType::F64) {
        warp.at<double>(slots[n])[l] = double(value);
      } else if (type == ElementType::F32) {
        warp.at<float>(slots[n])[l] = float(value);
      } else if (type == ElementType::S32) {
        warp.at<int32_t>(slots[n])[l] = int32_t(value);
      } else {
        uint32_t &to = warp.at<uint32_t>(slots[n / 2])[l];
        uint32_t half = floatToHalf(float(value));
        to = n & 1 ? (to & 0xffffu) | half << 16 : (to & 0xffff0000u) | half;
      }
    }
}

static Step runMma(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &m = *static_cast<const Mma *>(inst.data);
  if (mask != kAllLanes)
    return notWhole(warp, inst, mask);
  auto [rows, columns, k] = m.shape;
  const Slot *d = inst.ops, *a = d + m.dRegisters, *b = a + m.aRegisters,
             *c = b + m.bRegisters;
  unsigned na = rows * k / 32, nb = k * columns / 32, nd = rows * columns / 32;
  ProductShape shape{rows, columns, k};
  auto compute = [&](auto zero, auto multiply) {
    using T = decltype(zero);
    T va[16 * 64], vb[64 * 8], vd[16 * 8];
    gather(warp, a, m.a, na, m.aPlaces, va);
    gather(warp, b, m.b, nb, m.bPlaces, vb);
    gather(warp, c, m.c, nd, m.dPlaces, vd);
    multiply(va, vb, vd);
    scatter(warp, d, m.d, nd, m.dPlaces, vd);
  };
  if (isInteger(m.a))
    compute(int32_t(), [&](auto *x, auto *y, auto *z) {
      multiplyIntegers(shape, x, y, z, true, m.saturate);
    });
  else if (m.a == ElementType::F64)
    compute(double(), [&](auto *x, auto *y, auto *z) {
      multiplyDoubles(shape, x, y, z, true);
    });
  else
    compute(float(), [&](auto *x, auto *y, auto *z) {
      if (m.d == ElementType::F16)
        multiplyFloatsToHalf(shape, x, y, z, true);
      else
        multiplyFloats(shape, x, y, z, true);
    });
  return Step::Next;
}

static std::vector<uint16_t> findPlaces(MmaShape shape, ElementType type,
                                        MmaOperand operand, unsigned columns,
                                        unsigned elements) {
  std::vector<uint16_t> places(32 * elements);
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned n = 0; n < elements; ++n) {
      Coordinate at = getMmaElement(shape, type, operand, l, n);
      places[l * elements + n] = at.row * columns + at.column;
    }
  return places;
}

/// Parses `m16n8k16`.
static bool parseShape(StringRef text, MmaShape &shape) {
  return text.consume_front("m") && !text.consumeInteger(10, shape.m) &&
         text.consume_front("n") && !text.consumeInteger(10, shape.n) &&
         text.consume_front("k") && !text.consumeInteger(10, shape.k) &&
         text.empty();
}

static void addFragment(Build &b, const Operand &operand, ElementType type,
                        unsigned registers, bool writes) {
  uint16_t bits = type == ElementType::F64 ? 64 : 32;
  bool single = registers == 1 && operand.kind != Operand::Vector;
  if (!single &&
      (operand.kind != Operand::Vector || operand.elements.size() != registers))
    return b.error(operand.loc,
                   "a vector of " + Twine(registers) + " is needed here");
  llvm::ArrayRef<Operand> elements = operand.elements;
  if (single)
    elements = operand;
  for (const Operand &element : elements)
    writes ? b.write(element, {Type::Bits, bits})
           : b.read(element, {Type::Bits, bits});
}

static void buildMma(Build &b) {
  b.need("sync");
  b.need("aligned");
  Mma m{};
  StringRef shape = b.nextModifier();
  if (!parseShape(shape, m.shape))
    return b.error("'mma' needs a shape, such as .m16n8k16, found ." + shape);
  b.take(shape);
  b.need("row");
  b.need("col");
  m.saturate = b.take("satfinite");
  auto d = takeMatrixType(b), a = takeMatrixType(b), t = takeMatrixType(b),
       c = takeMatrixType(b);
  if (!d || !a || !t || !c)
    return;
  m.d = *d;
  m.a = *a;
  m.b = *t;
  m.c = *c;
  if (llvm::Error error = checkMmaSync(m.shape, m.a))
    return b.error(llvm::toString(std::move(error)));
  if (getBitWidth(m.a) != getBitWidth(m.b) || isInteger(m.a) != isInteger(m.b))
    return b.error("A and B of '" + b.name + "' must have the same type");
  if (!b.expectOperands(4, 4))
    return;
  auto [rows, columns, k] = m.shape;
  unsigned na = rows * k / 32, nb = k * columns / 32, nd = rows * columns / 32;
  m.aPlaces = findPlaces(m.shape, m.a, MmaOperand::A, k, na);
  m.bPlaces = findPlaces(m.shape, m.a, MmaOperand::B, columns, nb);
  m.dPlaces = findPlaces(m.shape, m.a, MmaOperand::D, columns, nd);
  m.dRegisters = nd / perRegister(m.d);
  m.aRegisters = na / perRegister(m.a);
  m.bRegisters = nb / perRegister(m.b);
  m.cRegisters = nd / perRegister(m.c);
  addFragment(b, b.operand(0), m.d, m.dRegisters, true);
  addFragment(b, b.operand(1), m.a, m.aRegisters, false);
  addFragment(b, b.operand(2), m.b, m.bRegisters, false);
  addFragment(b, b.operand(3), m.c, m.cRegisters, false);
  b.attach(std::move(m));
  b.set(runMma);
}

//===----------------------------------------------------------------------===//
// ldmatrix, stmatrix
//===----------------------------------------------------------------------===//

namespace {
/// Slots: registers and the address, or the address and registers.
struct MatrixAccess {
  bool store = false;
  Space space = Space::Generic;
  unsigned count = 1, registers = 1, parts = 2, rows = 8, rowBytes = 16;
  /// Matrix, row and byte for each lane, register and part.
  struct Part {
    uint8_t matrix, row, byte;
  };
  std::vector<Part> places;
};
} // namespace

static bool locateRows(Warp &warp, const Inst &inst, const MatrixAccess &m,
                       Slot base, Bytes *rows) {
  for (unsigned l = 0; l < m.count * m.rows; ++l) {
    uint64_t address = laneAddress(warp, inst, base, l);
    if (address & (m.rowBytes - 1)) {
      warp.fail(inst, "alignment",
                "the row's address 0x" + llvm::utohexstr(address, true) +
                    " is not a multiple of " + Twine(m.rowBytes),
                1u << l);
      return false;
    }
    Bytes &row = rows[l];
    Use use = m.store ? Use::Write : Use::Read;
    if (!findBytes(warp, inst, m.space, address, m.rowBytes, use, l, row))
      return false;
    if (!row.cta || row.cta != warp.cta) {
      warp.fail(inst, "space",
                "the matrix is not in the CTA's own shared memory", 1u << l);
      return false;
    }
    if (!m.store && !checkWritten(warp, inst, row, m.rowBytes, address, l))
      return false;
    Access access = warp.access(inst, 1u << l, m.store);
    // Loaded rows are distributed to all lanes, so each lane knows that the
    // read is done.
    if (!m.store)
      access.stamp.lanes = 0;
    if (!watch(warp, inst, row, m.rowBytes, access))
      return false;
  }
  return true;
}

static Step runMatrixAccess(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &m = *static_cast<const MatrixAccess *>(inst.data);
  if (mask != kAllLanes)
    return notWhole(warp, inst, mask);
  const Slot *registers = inst.ops + (m.store ? 1 : 0);
  Slot base = inst.ops[m.store ? 0 : m.registers];
  Bytes rows[32];
  if (!locateRows(warp, inst, m, base, rows))
    return Step::Fail;
  unsigned bytes = 4 / m.parts;
  const MatrixAccess::Part *part = m.places.data();
  for (unsigned r = 0; r < m.registers; ++r) {
    uint32_t *lanes = warp.at<uint32_t>(registers[r]);
    for (unsigned l = 0; l < 32; ++l) {
      uint32_t value = lanes[l];
      for (unsigned p = 0; p < m.parts; ++p, ++part) {
        uint8_t *at = rows[part->matrix * m.rows + part->row].data + part->byte;
        uint8_t *in = reinterpret_cast<uint8_t *>(&value) + p * bytes;
        if (m.store)
          memcpy(at, in, bytes);
        else
          memcpy(in, at, bytes);
      }
      if (!m.store)
        lanes[l] = value;
    }
  }
  if (m.store)
    for (unsigned l = 0; l < m.count * m.rows; ++l)
      memset(rows[l].written, kWritten, m.rowBytes);
  return Step::Next;
}

static void buildMatrixAccess(Build &b) {
  MatrixAccess m;
  m.store = b.name == "stmatrix";
  b.need("sync");
  b.need("aligned");
  StringRef shape = b.needOneOf({"m8n8", "m16n8"});
  StringRef count = b.needOneOf({"x1", "x2", "x4"});
  m.count = count == "x4" ? 4 : count == "x2" ? 2 : 1;
  bool transposed = b.take("trans");
  m.space = takeSpace(b);
  StringRef type = b.needOneOf({"b16", "b8"});
  LoadMatrixShape form = LoadMatrixShape::M8N8B16;
  if (shape == "m16n8" && type == "b8" && m.store && transposed)
    form = LoadMatrixShape::M16N8B8;
  else if (shape != "m8n8" || type != "b16")
    return b.error("'" + b.name + "." + shape + "." + type +
                   "' is not modelled");
  m.rows = getMatrixRows(form);
  m.rowBytes = getMatrixRowBytes(form);
  m.registers = m.count * getMatrixRegisters(form);
  m.parts = type == "b16" ? 2 : 4;
  unsigned elementBytes = type == "b16" ? 2 : 1;
  for (unsigned r = 0; r < m.registers; ++r)
    for (unsigned l = 0; l < 32; ++l)
      for (unsigned p = 0; p < m.parts; ++p) {
        MatrixElement e = getMatrixElement(form, transposed, l, r, p);
        m.places.push_back({uint8_t(e.matrix), uint8_t(e.row),
                            uint8_t(e.column * elementBytes)});
      }
  if (!b.expectOperands(2, 2))
    return;
  if (m.store)
    b.inst.imm = b.address(b.operand(0));
  addFragment(b, b.operand(m.store), ElementType::F32, m.registers, !m.store);
  if (!m.store)
    b.inst.imm = b.address(b.operand(1));
  b.attach(std::move(m));
  b.set(runMatrixAccess);
}

static Step runMoveMatrix(Warp &warp, const Inst &inst, uint32_t mask) {
  if (mask != kAllLanes)
    return notWhole(warp, inst, mask);
  const uint32_t *from = warp.at<uint32_t>(inst.ops[1]);
  uint32_t result[32];
  auto element = [&](unsigned row, unsigned column) {
    return from[row * 4 + column / 2] >> (16 * (column & 1)) & 0xffff;
  };
  for (unsigned l = 0; l < 32; ++l) {
    unsigned row = l / 4, column = l % 4 * 2;
    result[l] = element(column, row) | element(column + 1, row) << 16;
  }
  putLanes(warp, inst.ops[0], result, mask);
  return Step::Next;
}

static void buildMoveMatrix(Build &b) {
  for (StringRef word : {"sync", "aligned", "m8n8", "trans", "b16"})
    b.need(word);
  if (!b.expectOperands(2, 2))
    return;
  b.write(0, {Type::Bits, 32});
  b.read(1, {Type::Bits, 32});
  b.set(runMoveMatrix);
}

llvm::ArrayRef<Entry> fovea::ptx::getMatrixEntries() {
  static const Entry entries[] = {{"mma", buildMma},
                                  {"ldmatrix", buildMatrixAccess},
                                  {"stmatrix", buildMatrixAccess},
                                  {"movmatrix", buildMoveMatrix}};
  return entries;
}
