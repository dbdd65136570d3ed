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

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// Slot indices of the operands.
struct TensorMma {
  unsigned group = 1;
  MmaKind kind = MmaKind::F16;
  bool fromTensor = false, scaled = false;
  std::string scaleName;
  unsigned d = 0, a = 0, b = 0, descriptor = 0, scaleA = 0, scaleB = 0,
           enable = 0;
  int64_t dOffset = 0, aOffset = 0, scaleAOffset = 0, scaleBOffset = 0;
};

/// An issued product, complete except for the data.
struct Product {
  InstructionDescriptor descriptor;
  DataPathLayout layout = DataPathLayout::D;
  Cta *ctas[2];
  unsigned group;
  uint32_t d, a, scaleA = 0, scaleB = 0;
  bool fromTensor, accumulate, scaled;
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

/// The scales of `rows` rows, `perCta` of them in each CTA.
static bool watchScales(TensorAccess &access, const Product &p,
                        uint32_t address, unsigned id, unsigned rows,
                        unsigned perCta) {
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned chunk = 0; chunk < p.chunks; ++chunk) {
      TensorMemoryPlace from =
          at(address, getScalePlace(p.chunks, id, row % perCta, chunk));
      if (!access.touch(*p.ctas[row / perCta], from.lane, from.column, false))
        return false;
    }
  return true;
}

static bool watchTensor(Warp &warp, const Inst &inst, const Product &p) {
  const InstructionDescriptor &i = p.descriptor;
  TensorAccess access(warp, inst, __builtin_ctz(p.stamp.lanes), p.stamp);
  for (unsigned row = 0; row < i.m; row += 4)
    for (unsigned column = 0; column < i.n; ++column) {
      TensorMemoryPlace to =
          at(p.d, getAccumulatorPlace(p.layout, i.m, i.n, row, column));
      if (!access.touchLanes(*p.ctas[to.cta], to.lane, 4, to.column, true))
        return false;
    }
  for (unsigned row = 0; p.fromTensor && row < i.m; row += 4)
    for (unsigned k = 0; k < i.k; ++k) {
      TensorMemoryPlace from = at(p.a, getOperandAPlace(p.layout, i, row, k));
      if (!from.bit && !access.touchLanes(*p.ctas[from.cta], from.lane, 4,
                                          from.column, false))
        return false;
    }
  return !p.scaled ||
         (watchScales(access, p, p.scaleA, i.scaleAId, i.m, i.m / p.group) &&
          watchScales(access, p, p.scaleB, i.scaleBId, i.n, i.n));
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

static bool readTensorA(Warp &warp, const Inst &inst, const Product &p,
                        float *a) {
  const InstructionDescriptor &i = p.descriptor;
  for (unsigned row = 0; row < i.m; ++row)
    for (unsigned k = 0; k < i.k; ++k) {
      TensorMemoryPlace from = at(p.a, getOperandAPlace(p.layout, i, row, k));
      uint32_t cell;
      if (!readCell(warp, inst, *p.ctas[from.cta], from.lane, from.column,
                    cell))
        return false;
      uint32_t bits = cell >> from.bit;
      a[row * i.k + k] = i.aType == ElementType::S8 ? int8_t(bits)
                         : i.aType == ElementType::U8
                             ? uint8_t(bits)
                             : float(convertToDouble(bits, i.aType));
    }
  return true;
}

static bool readScales(Warp &warp, const Inst &inst, const Product &p,
                       uint32_t address, unsigned id, unsigned rows, bool byRow,
                       std::vector<float> &scales) {
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned chunk = 0; chunk < p.chunks; ++chunk) {
      unsigned per = byRow ? rows / p.group : rows;
      TensorMemoryPlace from =
          at(address, getScalePlace(p.chunks, id, row % per, chunk));
      uint32_t cell;
      if (!readCell(warp, inst, *p.ctas[row / per], from.lane, from.column,
                    cell))
        return false;
      float scale = float(
          convertToDouble(cell >> from.bit & 0xff, p.descriptor.scaleType));
      scales[byRow ? row * p.chunks + chunk : chunk * rows + row] = scale;
    }
  return true;
}

template <class T>
static bool multiplyInto(Warp &warp, const Inst &inst, const Product &p,
                         const T *a, const T *b) {
  const InstructionDescriptor &i = p.descriptor;
  std::vector<T> d(size_t(i.m) * i.n);
  bool half = i.dType == ElementType::F16;
  auto forPlaces = [&](auto visit) {
    for (unsigned row = 0; row < i.m; ++row)
      for (unsigned column = 0; column < i.n; ++column) {
        TensorMemoryPlace place =
            at(p.d, getAccumulatorPlace(p.layout, i.m, i.n, row, column));
        if (!visit(d[row * i.n + column], place))
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
          element = half ? halfToFloat(cell) : bitsToFloat(cell);
        else
          element = int32_t(cell);
        return true;
      }))
    return false;
  ProductShape shape{i.m, i.n, i.k};
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
  if (p.scaled) {
    std::vector<float> sa(i.m * p.chunks), sb(i.n * p.chunks);
    if (!readScales(warp, inst, p, p.scaleA, i.scaleAId, i.m, true, sa) ||
        !readScales(warp, inst, p, p.scaleB, i.scaleBId, i.n, false, sb))
      return false;
    scaleRows(i.m, i.k, p.chunks, sa.data(), a.data());
    scaleColumns(i.n, i.k, p.chunks, sb.data(), b.data());
  }
  if (i.negateA != i.negateB)
    for (float &value : a)
      value = -value;
  if (i.dType != ElementType::S32)
    return multiplyInto(warp, inst, p, a.data(), b.data());
  std::vector<int32_t> ia(a.begin(), a.end()), ib(b.begin(), b.end());
  return multiplyInto(warp, inst, p, ia.data(), ib.data());
}

//===----------------------------------------------------------------------===//
// tcgen05.mma
//===----------------------------------------------------------------------===//

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
  if (llvm::Error error = checkLaneAlignment(p.layout, p.d))
    return refuse(warp, inst, "tensor-memory", "D: ", std::move(error));
  p.accumulate = warp.predicate(inst.ops[m.enable]) >> l & 1;
  p.aTile = getOperandTileA(p.descriptor, m.group);
  p.bTile = getOperandTileB(p.descriptor, m.group);
  if (m.fromTensor)
    p.a = word(m.a) + uint32_t(m.aOffset);
  else if (!decodeTile(warp, inst, warp.at<uint64_t>(inst.ops[m.a])[l], p.aTile,
                       "A", p.aMatrix))
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

void fovea::ptx::buildTensorMultiply(Build &b) {
  TensorMma m;
  for (StringRef absent : {"ws", "sp", "ashift"})
    if (b.hasModifier(absent))
      return b.error("modifier ." + absent +
                     " of 'tcgen05.mma' is not "
                     "modelled");
  m.group = takeCtaGroup(b);
  StringRef kind =
      b.needOneOf({"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8",
                   "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"});
  if (b.failed())
    return;
  m.kind = llvm::cantFail(parseMmaKind(kind.substr(6)));
  b.takeOneOf({"collector::a::discard", "collector::a::fill",
               "collector::a::use", "collector::a::lastuse"});
  m.scaled = b.take("block_scale");
  StringRef scales = b.takeOneOf({"scale_vec::1X", "scale_vec::2X",
                                  "scale_vec::4X", "block16", "block32"});
  m.scaleName = scales.substr(scales.rfind(':') + 1).str();
  if (m.scaled != hasBlockScales(m.kind))
    return b.error("." + kind + Twine(m.scaled ? " has no" : " needs") +
                       " .block_scale",
                   "syntax");
  unsigned wanted = 5 + 2 * m.scaled;
  if (b.count() != wanted)
    return b.error("this form of 'tcgen05.mma' is not modelled: " +
                   Twine(wanted) + " operands are, found " + Twine(b.count()));
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
  m.enable = b.slots.size();
  b.readPredicate(b.operand(n));
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
