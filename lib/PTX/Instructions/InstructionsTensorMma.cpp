//===- InstructionsTensorMma.cpp - tcgen05.mma and tcgen05.cp -------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tcgen05.mma and tcgen05.cp: asynchronous products and copies into tensor
// memory.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "TensorMemoryAccess.h"

#include "fovea/PTX/Units/InstructionDescriptor.h"
#include "fovea/PTX/Units/MatrixArithmetic.h"
#include "fovea/PTX/Units/MatrixDescriptor.h"
#include "fovea/PTX/Units/TensorMemory.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// `.collector::a::`: the use of the collector buffer for A.
enum class CollectorUse : uint8_t { Discard, Fill, Use, LastUse };

/// Slot indices of the operands.
struct TensorMma {
  unsigned group = 1;
  MmaKind kind = MmaKind::F16;
  CollectorUse collector = CollectorUse::Discard;
  bool fromTensor = false, scaled = false;
  std::string scaleName;
  unsigned d = 0, a = 0, b = 0, descriptor = 0, scaleA = 0, scaleB = 0,
           lanes = 0, enable = 0;
  int64_t dOffset = 0, aOffset = 0, scaleAOffset = 0, scaleBOffset = 0;
  /// disable-output-lane: the number of registers, or 0.
  unsigned numLanes = 0;
  /// enable-input-d: a negated predicate, or a constant.
  bool enableNegated = false;
  std::optional<bool> enableConstant;
  /// scale-input-d.
  unsigned scaleInput = 0;
};

/// An issued product, complete except for the data.
struct Product {
  InstructionDescriptor descriptor;
  DataPathLayout layout = DataPathLayout::D;
  Cta *ctas[2];
  unsigned group;
  uint32_t d, a = 0, scaleA = 0, scaleB = 0;
  bool fromTensor, accumulate, scaled;
  /// D is scaled by 2^-scaleInput.
  unsigned scaleInput = 0;
  /// The lanes of each CTA that are not written.
  uint32_t disabled[2][4] = {};
  unsigned chunks = 0;
  MatrixDescriptor aMatrix, bMatrix;
  OperandTile aTile, bTile;
  Stamp stamp;
};
} // namespace

static bool refuse(Warp &warp, const Inst &inst, StringRef kind,
                   const Twine &before, llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  warp.fail(inst, kind, before + text);
  return false;
}

static bool findUnit(Warp &warp, const Inst &inst, const Cta &cta,
                     uint32_t address, Bytes &bytes) {
  return findBytes(warp, inst, Space::Shared,
                   address | uint64_t(cta.rank) << kRankShift, 16, Use::Read, 0,
                   bytes);
}

static bool watchTile(Warp &warp, const Inst &inst, const Cta &cta,
                      const MatrixDescriptor &descriptor,
                      const OperandTile &tile, const Stamp &stamp) {
  if (!cta.shadow)
    return true;
  Access access = warp.asyncAccess(inst, stamp.lanes, false, stamp.agent,
                                   stamp.epoch, true);
  bool fine = true;
  forEachUnit(descriptor, tile, [&](uint32_t address, unsigned, unsigned) {
    Bytes bytes;
    fine = fine && findUnit(warp, inst, cta, address, bytes) &&
           watch(warp, inst, bytes, 16, access);
  });
  return fine;
}

static bool decodeTile(Warp &warp, const Inst &inst, uint64_t bits,
                       const OperandTile &tile, StringRef name,
                       MatrixDescriptor &descriptor) {
  auto decoded = decodeMatrixDescriptor(bits, DescriptorFormat::Tcgen05);
  if (!decoded)
    return refuse(warp, inst, "descriptor", "the descriptor of " + name + ": ",
                  decoded.takeError());
  descriptor = *decoded;
  if (llvm::Error error =
          checkOperandTile(descriptor, tile, DescriptorFormat::Tcgen05))
    return refuse(warp, inst, "descriptor", "the descriptor of " + name + ": ",
                  std::move(error));
  return true;
}

//===----------------------------------------------------------------------===//
// Memory accesses of a product
//===----------------------------------------------------------------------===//

/// Adds the lane and the column of an address to a position.
static TensorMemoryPlace at(uint32_t address, TensorMemoryPlace place) {
  place.lane += getTensorMemoryLane(address);
  place.column += getTensorMemoryColumn(address);
  return place;
}

static bool isDisabled(const Product &p, const TensorMemoryPlace &place) {
  return p.disabled[place.cta][place.lane / 32 % 4] >> place.lane % 32 & 1;
}

namespace {
/// The scales of A or B: CTAs hold those of their rows of A, and of all columns
/// of B.
struct Scales {
  uint32_t address;
  bool ofB;
  unsigned rows, copies;

  Scales(const Product &p, bool ofB)
      : address(ofB ? p.scaleB : p.scaleA), ofB(ofB),
        rows(ofB ? p.descriptor.n : p.descriptor.m / p.group),
        copies(ofB ? getScaleBCopies(p.layout) : kScaleACopies) {}
  TensorMemoryPlace place(const Product &p, unsigned row, unsigned chunk,
                          unsigned copy) const {
    const InstructionDescriptor &i = p.descriptor;
    return at(address,
              ofB ? getScaleBPlace(p.layout, i.n, p.chunks, i.scaleBId, row,
                                   chunk, copy)
                  : getScalePlace(p.chunks, i.scaleAId, row, chunk, copy));
  }
};
} // namespace

static bool watchScales(TensorAccess &access, const Product &p, bool ofB) {
  Scales scales(p, ofB);
  for (unsigned c = 0; c < p.group; ++c)
    for (unsigned row = 0; row < scales.rows; ++row)
      // The chunks of a row share a cell.
      for (unsigned copy = 0; copy < scales.copies; ++copy) {
        TensorMemoryPlace from = scales.place(p, row, 0, copy);
        if (!access.touch(*p.ctas[c], from.lane, from.column, false))
          return false;
      }
  return true;
}

static bool watchAccumulator(TensorAccess &access, const Product &p) {
  const InstructionDescriptor &i = p.descriptor;
  for (unsigned row = 0; row < i.m; row += 4)
    for (unsigned column = 0; column < i.n; ++column) {
      TensorMemoryPlace to =
          at(p.d, getAccumulatorPlace(p.layout, i.m, i.n, row, column));
      unsigned count = 0;
      for (unsigned l = 0; l < 4; ++l)
        count += !isDisabled(p, {to.cta, to.lane + l, 0, 0});
      if (count == 4) {
        if (!access.touchLanes(*p.ctas[to.cta], to.lane, 4, to.column, true))
          return false;
        continue;
      }
      for (unsigned l = 0; l < 4; ++l)
        if (!isDisabled(p, {to.cta, to.lane + l, 0, 0}) &&
            !access.touch(*p.ctas[to.cta], to.lane + l, to.column, true))
          return false;
    }
  return true;
}

static bool watchOperandA(TensorAccess &access, const Product &p) {
  const InstructionDescriptor &i = p.descriptor;
  unsigned copies = getOperandACopies(p.layout);
  for (unsigned row = 0; row < i.m; row += 4)
    for (unsigned k = 0; k < i.k; ++k)
      for (unsigned copy = 0; copy < copies; ++copy) {
        TensorMemoryPlace from =
            at(p.a, getOperandAPlace(p.layout, i, row, k, copy));
        // The first element of each cell.
        if (from.bit < 8 && !access.touchLanes(*p.ctas[from.cta], from.lane, 4,
                                               from.column, false))
          return false;
      }
  return true;
}

static bool watchTensor(Warp &warp, const Inst &inst, const Product &p) {
  TensorAccess access(warp, inst, __builtin_ctz(p.stamp.lanes), p.stamp);
  return watchAccumulator(access, p) &&
         (!p.fromTensor || watchOperandA(access, p)) &&
         (!p.scaled ||
          (watchScales(access, p, false) && watchScales(access, p, true)));
}

static bool readShared(Warp &warp, const Inst &inst, const Cta &cta,
                       const MatrixDescriptor &descriptor,
                       const OperandTile &tile, float *to, size_t mnStride,
                       size_t kStride) {
  return readOperandTile(
      descriptor, tile,
      [&](uint32_t address) -> const uint8_t * {
        Bytes bytes;
        if (!findUnit(warp, inst, cta, address, bytes) ||
            !checkWritten(warp, inst, bytes, 16, address, 0))
          return nullptr;
        return bytes.data;
      },
      to, mnStride, kStride);
}

/// Reads `bits` bits from the first of `copies` places, which must all hold the
/// same.
static bool readCopies(Warp &warp, const Inst &inst, StringRef name,
                       const Cta &cta, unsigned bits, unsigned copies,
                       llvm::function_ref<TensorMemoryPlace(unsigned)> placeOf,
                       uint32_t &value) {
  for (unsigned copy = 0; copy < copies; ++copy) {
    TensorMemoryPlace from = placeOf(copy);
    uint32_t cell;
    if (!readCell(warp, inst, cta, from.lane, from.column, cell))
      return false;
    cell = cell >> from.bit & uint32_t((uint64_t(1) << bits) - 1);
    if (copy && cell != value) {
      warp.fail(inst, "tensor-memory",
                "the copies of " + name + " must be equal: lane " +
                    Twine(from.lane) + " of column " + Twine(from.column) +
                    " holds 0x" + llvm::utohexstr(cell, true) + ", lane " +
                    Twine(placeOf(0).lane) + " holds 0x" +
                    llvm::utohexstr(value, true));
      return false;
    }
    value = cell;
  }
  return true;
}

static bool readTensorA(Warp &warp, const Inst &inst, const Product &p,
                        float *a) {
  const InstructionDescriptor &i = p.descriptor;
  unsigned copies = getOperandACopies(p.layout);
  for (unsigned row = 0; row < i.m; ++row)
    for (unsigned k = 0; k < i.k; ++k) {
      auto placeOf = [&](unsigned copy) {
        return at(p.a, getOperandAPlace(p.layout, i, row, k, copy));
      };
      uint32_t bits = 0;
      if (!readCopies(warp, inst, "A", *p.ctas[placeOf(0).cta],
                      getBitWidth(i.aType), copies, placeOf, bits))
        return false;
      a[row * i.k + k] = i.aType == ElementType::S8 ? int8_t(bits)
                         : i.aType == ElementType::U8
                             ? uint8_t(bits)
                             : float(convertToDouble(bits, i.aType));
    }
  return true;
}

/// Reads the scales that CTA `c` holds: of A by row, then chunk; of B by chunk,
/// then column.
static bool readScales(Warp &warp, const Inst &inst, const Product &p, bool ofB,
                       unsigned c, float *to) {
  Scales scales(p, ofB);
  for (unsigned row = 0; row < scales.rows; ++row)
    for (unsigned chunk = 0; chunk < p.chunks; ++chunk) {
      auto placeOf = [&](unsigned copy) {
        return scales.place(p, row, chunk, copy);
      };
      uint32_t bits = 0;
      if (!readCopies(warp, inst,
                      ofB ? "the scale factors of B" : "the scale factors of A",
                      *p.ctas[c], 8, scales.copies, placeOf, bits))
        return false;
      to[ofB ? chunk * scales.rows + row : row * p.chunks + chunk] =
          float(convertToDouble(bits, p.descriptor.scaleType));
    }
  return true;
}

/// Multiplies `rows` rows of D from row `first` on; `a` begins at that row.
template <class T>
static bool multiplyInto(Warp &warp, const Inst &inst, const Product &p,
                         unsigned first, unsigned rows, const T *a,
                         const T *b) {
  const InstructionDescriptor &i = p.descriptor;
  std::vector<T> d(size_t(rows) * i.n);
  bool half = i.dType == ElementType::F16;
  auto forPlaces = [&](auto visit) {
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned column = 0; column < i.n; ++column) {
        TensorMemoryPlace place = at(
            p.d, getAccumulatorPlace(p.layout, i.m, i.n, first + row, column));
        if (!isDisabled(p, place) && !visit(d[row * i.n + column], place))
          return false;
      }
    return true;
  };
  if (p.accumulate &&
      !forPlaces([&](T &element, const TensorMemoryPlace &place) {
        uint32_t cell;
        if (!readCell(warp, inst, *p.ctas[place.cta], place.lane, place.column,
                      cell))
          return false;
        if constexpr (std::is_same_v<T, float>)
          element = std::ldexp(half ? halfToFloat(cell) : bitsToFloat(cell),
                               -int(p.scaleInput));
        else
          element = int32_t(cell);
        return true;
      }))
    return false;
  ProductShape shape{rows, i.n, i.k};
  if constexpr (std::is_same_v<T, float>) {
    if (half)
      multiplyFloatsToHalf(shape, a, b, d.data(), p.accumulate);
    else
      multiplyFloats(shape, a, b, d.data(), p.accumulate);
  } else {
    multiplyIntegers(shape, a, b, d.data(), p.accumulate, i.saturate);
  }
  return forPlaces([&](T &element, const TensorMemoryPlace &place) {
    uint32_t cell;
    if constexpr (std::is_same_v<T, float>)
      cell = half ? floatToHalf(element) : floatToBits(element);
    else
      cell = uint32_t(element);
    writeCell(*p.ctas[place.cta], place.lane, place.column, cell);
    return true;
  });
}

/// Each CTA scales its rows of A and all columns of B.
static bool multiplyScaled(Warp &warp, const Inst &inst, const Product &p,
                           float *a, const std::vector<float> &b) {
  const InstructionDescriptor &i = p.descriptor;
  unsigned rows = i.m / p.group;
  for (unsigned c = 0; c < p.group; ++c) {
    std::vector<float> sa(rows * p.chunks), sb(i.n * p.chunks), scaled = b;
    if (!readScales(warp, inst, p, false, c, sa.data()) ||
        !readScales(warp, inst, p, true, c, sb.data()))
      return false;
    float *part = a + size_t(c) * rows * i.k;
    scaleRows(rows, i.k, p.chunks, sa.data(), part);
    scaleColumns(i.n, i.k, p.chunks, sb.data(), scaled.data());
    if (!multiplyInto<float>(warp, inst, p, c * rows, rows, part,
                             scaled.data()))
      return false;
  }
  return true;
}

static bool finishProduct(Warp &warp, const Inst &inst, const Product &p) {
  const InstructionDescriptor &i = p.descriptor;
  std::vector<float> a(size_t(i.m) * i.k), b(size_t(i.k) * i.n);
  unsigned rows = i.m / p.group, columns = i.n / p.group;
  for (unsigned c = 0; c < p.group; ++c) {
    if (!p.fromTensor && !readShared(warp, inst, *p.ctas[c], p.aMatrix, p.aTile,
                                     a.data() + size_t(c) * rows * i.k, i.k, 1))
      return false;
    if (!readShared(warp, inst, *p.ctas[c], p.bMatrix, p.bTile,
                    b.data() + c * columns, 1, i.n))
      return false;
  }
  if (p.fromTensor && !readTensorA(warp, inst, p, a.data()))
    return false;
  if (i.negateA != i.negateB)
    for (float &value : a)
      value = -value;
  if (p.scaled)
    return multiplyScaled(warp, inst, p, a.data(), b);
  if (i.dType != ElementType::S32)
    return multiplyInto(warp, inst, p, 0, i.m, a.data(), b.data());
  std::vector<int32_t> ia(a.begin(), a.end()), ib(b.begin(), b.end());
  return multiplyInto(warp, inst, p, 0, i.m, ia.data(), ib.data());
}

//===----------------------------------------------------------------------===//
// tcgen05.mma
//===----------------------------------------------------------------------===//

/// Updates the collector buffers of the CTAs. A use needs the same A as the
/// fill before it, and nothing that discards it between them.
static bool collect(Warp &warp, const Inst &inst, const TensorMma &m,
                    const Product &p, uint64_t operand) {
  const InstructionDescriptor &i = p.descriptor;
  Collector now{true, p.fromTensor, operand,
                i.m << 16 | unsigned(i.aType) << 8 | unsigned(i.aMajor)};
  for (unsigned c = 0; c < p.group; ++c) {
    Collector &buffer = p.ctas[c]->collector;
    if (m.collector == CollectorUse::Use ||
        m.collector == CollectorUse::LastUse) {
      StringRef found = !buffer.valid ? "nothing"
                        : buffer.fromTensor != now.fromTensor ||
                                buffer.operand != now.operand ||
                                buffer.fields != now.fields
                            ? "another matrix"
                            : "";
      if (!found.empty())
        return warp.fail(inst, "tensor-memory",
                         "the collector buffer must hold this A from a "
                         "'.collector::a::fill' before, found " +
                             found),
               false;
    }
    buffer = now;
    buffer.valid =
        m.collector == CollectorUse::Fill || m.collector == CollectorUse::Use;
  }
  return true;
}

static bool checkLanes(Warp &warp, const Inst &inst, const Product &p) {
  if (llvm::Error error = checkLaneAlignment(p.layout, p.d))
    return refuse(warp, inst, "tensor-memory", "D: ", std::move(error));
  if (!p.fromTensor)
    return true;
  if (llvm::Error error = checkLaneAlignment(p.layout, p.a))
    return refuse(warp, inst, "tensor-memory", "A: ", std::move(error));
  unsigned a = getTensorMemoryLane(p.a), d = getTensorMemoryLane(p.d);
  if (a == d)
    return true;
  warp.fail(inst, "tensor-memory",
            "A and D must begin at the same lane, found " + Twine(a) + " and " +
                Twine(d));
  return false;
}

static void setOutput(Warp &warp, const Inst &inst, const TensorMma &m,
                      unsigned l, Product &p) {
  uint32_t enabled = warp.predicate(inst.ops[m.enable]) >> l & 1;
  p.accumulate = m.enableConstant.value_or(enabled != m.enableNegated);
  p.scaleInput = m.scaleInput;
  // The ISA numbers the lanes of a pair from 0 to 255; rows begin in the even
  // CTA.
  for (unsigned n = 0; n < m.numLanes; ++n)
    p.disabled[n / 4][n % 4] = warp.at<uint32_t>(inst.ops[m.lanes + n])[l];
}

static bool prepare(Warp &warp, const Inst &inst, const TensorMma &m,
                    unsigned l, Product &p) {
  auto word = [&](unsigned slot) {
    return warp.at<uint32_t>(inst.ops[slot])[l];
  };
  auto decoded = decodeInstructionDescriptor(word(m.descriptor), m.kind);
  if (!decoded)
    return refuse(warp, inst, "descriptor",
                  "the instruction descriptor: ", decoded.takeError());
  p.descriptor = *decoded;
  // The ISA gives the bit no meaning there, and CUTLASS asserts that it is 0.
  if (m.fromTensor && p.descriptor.aMajor != MajorDim::K) {
    warp.fail(inst, "descriptor",
              "the instruction descriptor: A in tensor memory can't be "
              "transposed: expected bit 15 to be 0",
              1u << l);
    return false;
  }
  p.group = m.group;
  p.fromTensor = m.fromTensor;
  p.scaled = m.scaled;
  if (llvm::Error error = checkMmaShape(p.descriptor, m.group))
    return refuse(warp, inst, "descriptor",
                  "the instruction descriptor: ", std::move(error));
  if (!findGroup(warp, inst, m.group, p.ctas))
    return false;
  p.layout = getDataPathLayout(p.descriptor, m.group, false);
  p.d = word(m.d) + uint32_t(m.dOffset);
  if (m.fromTensor)
    p.a = word(m.a) + uint32_t(m.aOffset);
  if (!checkLanes(warp, inst, p))
    return false;
  setOutput(warp, inst, m, l, p);
  p.aTile = getOperandTileA(p.descriptor, m.group);
  p.bTile = getOperandTileB(p.descriptor, m.group);
  uint64_t a = m.fromTensor ? p.a : warp.at<uint64_t>(inst.ops[m.a])[l];
  if (!m.fromTensor && !decodeTile(warp, inst, a, p.aTile, "A", p.aMatrix))
    return false;
  if (!decodeTile(warp, inst, warp.at<uint64_t>(inst.ops[m.b])[l], p.bTile, "B",
                  p.bMatrix))
    return false;
  if (m.scaled) {
    p.scaleA = word(m.scaleA) + uint32_t(m.scaleAOffset);
    p.scaleB = word(m.scaleB) + uint32_t(m.scaleBOffset);
    auto chunks = getScaleChunks(p.descriptor, m.scaleName);
    if (!chunks)
      return refuse(warp, inst, "descriptor", "", chunks.takeError());
    p.chunks = *chunks;
  }
  p.stamp = makeProductStamp(warp, inst, l, p.d, p.descriptor, p.group);
  if (!collect(warp, inst, m, p, a))
    return false;
  for (unsigned c = 0; c < m.group; ++c)
    if ((!m.fromTensor &&
         !watchTile(warp, inst, *p.ctas[c], p.aMatrix, p.aTile, p.stamp)) ||
        !watchTile(warp, inst, *p.ctas[c], p.bMatrix, p.bTile, p.stamp))
      return false;
  return watchTensor(warp, inst, p);
}

static Step runMultiply(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &m = *static_cast<const TensorMma *>(inst.data);
  Warp *self = &warp;
  const Inst *where = &inst;
  bool fine = allLanes(mask, [&](unsigned l) {
    auto product = std::make_shared<Product>();
    if (!prepare(warp, inst, m, l, *product))
      return false;
    issueTensorWork(warp, inst, product->stamp, "tcgen05.mma",
                    [=] { return finishProduct(*self, *where, *product); });
    return true;
  });
  return fine ? Step::Next : Step::Fail;
}

static unsigned addTensorAddress(Build &b, const Operand &operand,
                                 int64_t &offset) {
  unsigned slot = b.slots.size();
  if (operand.kind != Operand::Address) {
    b.error(operand.loc, "an address in tensor memory is needed here: [%r1]");
    return slot;
  }
  offset = operand.integer;
  b.read(operand.elements.front(), {Type::Bits, 32});
  return slot;
}

/// `{r, r, r, r}`: a bit per lane of the CTA, or of the pair with 8 registers.
static void addDisabledLanes(Build &b, TensorMma &m, const Operand &operand) {
  unsigned wanted = 4 * m.group;
  if (operand.elements.size() != wanted ||
      llvm::any_of(operand.elements, [](const Operand &element) {
        return element.kind != Operand::Reg;
      }))
    return b.error(operand.loc,
                   "disable-output-lane must be a vector of " + Twine(wanted) +
                       " registers with .cta_group::" + Twine(m.group) +
                       ", found " + Twine(operand.elements.size()) +
                       " elements");
  m.lanes = b.slots.size();
  m.numLanes = wanted;
  for (const Operand &element : operand.elements)
    b.read(element, {Type::Bits, 32});
}

/// A predicate, a negated one, or a constant.
static void addEnable(Build &b, TensorMma &m, const Operand &operand) {
  m.enable = b.slots.size();
  if (!b.isConstant(operand)) {
    m.enableNegated = b.readNegatable(operand);
    return;
  }
  m.enableConstant = operand.integer != 0;
  b.immediate(0, {Type::Pred, 1});
}

static void addScaleInput(Build &b, TensorMma &m, const Operand &operand) {
  constexpr int64_t kMost = 15;
  if (!b.needFeature(Feature::ScaleInputD, "scale-input-d of 'tcgen05.mma'"))
    return;
  if (m.kind != MmaKind::F16 && m.kind != MmaKind::TF32)
    return b.error(operand.loc, "scale-input-d needs .kind::f16 or "
                                ".kind::tf32, found .kind::" +
                                    getName(m.kind));
  int64_t scale = b.constant(operand);
  if (scale < 0 || scale > kMost)
    return b.error(operand.loc,
                   "scale-input-d must be from 0 to 15, found " + Twine(scale));
  m.scaleInput = scale;
}

/// Takes the modifiers; returns false after an error.
static bool takeMultiply(Build &b, TensorMma &m) {
  for (StringRef absent : {"ws", "sp", "ashift"})
    if (b.hasModifier(absent)) {
      b.error("modifier ." + absent + " of 'tcgen05.mma' is not modelled");
      return false;
    }
  m.group = takeCtaGroup(b);
  StringRef kind =
      b.needOneOf({"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8",
                   "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"});
  if (b.failed())
    return false;
  m.kind = llvm::cantFail(parseMmaKind(kind.substr(6)));
  if (m.kind == MmaKind::I8 &&
      !b.needFeature(Feature::IntegerMma, ".kind::i8 of 'tcgen05.mma'"))
    return false;
  StringRef collector =
      b.takeOneOf({"collector::a::discard", "collector::a::fill",
                   "collector::a::use", "collector::a::lastuse"});
  m.collector = llvm::StringSwitch<CollectorUse>(collector)
                    .Case("collector::a::fill", CollectorUse::Fill)
                    .Case("collector::a::use", CollectorUse::Use)
                    .Case("collector::a::lastuse", CollectorUse::LastUse)
                    .Default(CollectorUse::Discard);
  m.scaled = b.take("block_scale");
  StringRef scales = b.takeOneOf({"scale_vec::1X", "scale_vec::2X",
                                  "scale_vec::4X", "block16", "block32"});
  if (scales.starts_with("scale_vec") &&
      !b.needFeature(Feature::ScaleVec, "." + scales + " of 'tcgen05.mma'"))
    return false;
  m.scaleName = scales.substr(scales.rfind(':') + 1).str();
  if (m.scaled != hasBlockScales(m.kind))
    b.error("." + kind + Twine(m.scaled ? " has no" : " needs") +
                " .block_scale",
            "syntax");
  return !b.failed();
}

void fovea::ptx::buildTensorMultiply(Build &b) {
  TensorMma m;
  if (!takeMultiply(b, m))
    return;
  // disable-output-lane and scale-input-d are optional, without block scales.
  bool masks =
      !m.scaled && b.count() > 5 && b.operand(4).kind == Operand::Vector;
  unsigned least = 5 + 2 * m.scaled + masks, most = least + !m.scaled;
  if (b.count() < least || b.count() > most)
    return b.error("this form of 'tcgen05.mma' is not modelled: expected " +
                   Twine(least) + (m.scaled ? "" : " or " + Twine(most).str()) +
                   " operands, found " + Twine(b.count()));
  m.d = addTensorAddress(b, b.operand(0), m.dOffset);
  m.fromTensor = b.operand(1).kind == Operand::Address;
  m.a = b.slots.size();
  if (m.fromTensor)
    addTensorAddress(b, b.operand(1), m.aOffset);
  else
    b.read(1, {Type::Bits, 64});
  m.b = b.slots.size();
  b.read(2, {Type::Bits, 64});
  m.descriptor = b.slots.size();
  b.read(3, {Type::Bits, 32});
  unsigned n = 4;
  if (m.scaled) {
    m.scaleA = addTensorAddress(b, b.operand(n++), m.scaleAOffset);
    m.scaleB = addTensorAddress(b, b.operand(n++), m.scaleBOffset);
  }
  if (masks)
    addDisabledLanes(b, m, b.operand(n++));
  addEnable(b, m, b.operand(n++));
  if (n < b.count())
    addScaleInput(b, m, b.operand(n));
  b.attach(std::move(m));
  b.set(runMultiply);
}

//===----------------------------------------------------------------------===//
// tcgen05.cp
//===----------------------------------------------------------------------===//

namespace {
/// Slots: the address, the descriptor.
struct TensorCopy {
  unsigned group = 1;
  TensorCopyShape shape = TensorCopyShape::L128x256b;
};
} // namespace

static bool copyNow(Warp &warp, const Inst &inst, const TensorCopy &c, Cta &cta,
                    uint32_t address, const MatrixDescriptor &descriptor,
                    const OperandTile &tile) {
  for (unsigned row = 0; row < getCopyRows(c.shape); ++row)
    for (unsigned unit = 0; unit < getCopyUnits(c.shape); ++unit) {
      Bytes bytes;
      uint32_t from =
          getUnitAddress(descriptor, tile, row, unit * getUnitElements(tile));
      if (!findUnit(warp, inst, cta, from, bytes) ||
          !checkWritten(warp, inst, bytes, 16, from, 0))
        return false;
      for (unsigned target = 0; target < getCopyTargets(c.shape); ++target)
        for (unsigned cell = 0; cell < 4; ++cell) {
          uint32_t value;
          memcpy(&value, bytes.data + 4 * cell, 4);
          writeCell(cta,
                    getTensorMemoryLane(address) +
                        getCopyLane(c.shape, row, target),
                    getTensorMemoryColumn(address) + 4 * unit + cell, value);
        }
    }
  return true;
}

static Step runCopy(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &c = *static_cast<const TensorCopy *>(inst.data);
  Cta *ctas[2];
  if (!findGroup(warp, inst, c.group, ctas))
    return Step::Fail;
  OperandTile tile;
  tile.extent = getCopyRows(c.shape);
  tile.k = getCopyUnits(c.shape) * getUnitElements(tile);
  Warp *self = &warp;
  const Inst *where = &inst;
  bool fine = allLanes(mask, [&](unsigned l) {
    uint32_t address = warp.at<uint32_t>(inst.ops[0])[l] + uint32_t(inst.imm);
    MatrixDescriptor descriptor;
    auto decoded = decodeMatrixDescriptor(warp.at<uint64_t>(inst.ops[1])[l],
                                          DescriptorFormat::Tcgen05);
    if (!decoded)
      return refuse(warp, inst, "descriptor",
                    "the descriptor: ", decoded.takeError());
    descriptor = *decoded;
    Stamp stamp = makeCopyStamp(warp, inst, l);
    for (unsigned g = 0; g < c.group; ++g) {
      Cta *cta = ctas[g];
      if (!watchTile(warp, inst, *cta, descriptor, tile, stamp))
        return false;
      TensorAccess access(warp, inst, l, stamp);
      for (unsigned row = 0; row < getCopyRows(c.shape); ++row)
        for (unsigned target = 0; target < getCopyTargets(c.shape); ++target)
          for (unsigned column = 0; column < 4 * getCopyUnits(c.shape);
               ++column)
            if (!access.touch(*cta,
                              getTensorMemoryLane(address) +
                                  getCopyLane(c.shape, row, target),
                              getTensorMemoryColumn(address) + column, true))
              return false;
      issueTensorWork(warp, inst, stamp, "tcgen05.cp", [=] {
        return copyNow(*self, *where, c, *cta, address, descriptor, tile);
      });
    }
    return true;
  });
  return fine ? Step::Next : Step::Fail;
}

void fovea::ptx::buildTensorCopy(Build &b) {
  TensorCopy c;
  c.group = takeCtaGroup(b);
  StringRef shape =
      b.needOneOf({"128x256b", "4x256b", "128x128b", "64x128b", "32x128b"});
  StringRef multicast =
      b.takeOneOf({"warpx2::02_13", "warpx2::01_23", "warpx4"});
  if (b.failed())
    return;
  auto parsed = parseTensorCopyShape(shape, multicast);
  if (!parsed)
    return b.error(llvm::toString(parsed.takeError()));
  c.shape = *parsed;
  if (!b.expectOperands(2, 2))
    return;
  addTensorAddress(b, b.operand(0), b.inst.imm);
  b.read(1, {Type::Bits, 64});
  b.attach(c);
  b.set(runCopy);
}
