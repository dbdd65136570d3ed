//===- InstructionsWgmma.cpp - wgmma --------------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warp group products. Each warp of a group computes its 16 rows; the checks
// cover fences, registers in use, and agreement of the four warps.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "MatrixTypes.h"

#include "fovea/PTX/Units/Fragments.h"
#include "fovea/PTX/Units/InstructionDescriptor.h"
#include "fovea/PTX/Units/MatrixArithmetic.h"
#include "fovea/PTX/Units/MatrixDescriptor.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// Slots: the registers of D; those of A, or its descriptor; B's descriptor;
/// scale-d.
struct Wgmma {
  WgmmaShape shape;
  unsigned dRegisters = 0, aRegisters = 0;
  bool fromRegisters = false, saturate = false;
  float scaleA = 1, scaleB = 1;
  MajorDim aMajor = MajorDim::K, bMajor = MajorDim::K;
  std::vector<uint16_t> dPlaces, aPlaces;
};
} // namespace

/// Each warp of the group holds 16 rows of A and D.
static constexpr unsigned kRows = 16;

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

static Step unfenced(Warp &warp, const Inst &inst, StringRef which) {
  return warp.fail(inst, "wgmma",
                   "a register of " + which +
                       " was written after the last 'wgmma.fence'");
}

/// D and A need a fence; registers of another outstanding wgmma must be the
/// same D.
static Step holdRegisters(Warp &warp, const Inst &inst, const Wgmma &w) {
  if (!warp.fencedAt)
    return warp.fail(inst, "wgmma",
                     "no 'wgmma.fence' before the first 'wgmma.mma_async'");
  uint32_t shape = w.shape.n << 8 | unsigned(w.shape.dType);
  unsigned last = w.dRegisters + (w.fromRegisters ? w.aRegisters : 0);
  Groups::Group &group = warp.matrices.open();
  for (unsigned n = 0; n < last; ++n) {
    uint32_t at = inst.ops[n].offset / 64;
    bool accumulator = n < w.dRegisters;
    if (warp.writtenAt[at] > warp.fencedAt)
      return unfenced(warp, inst, accumulator ? "D" : "A");
    if (warp.busyRegisters[at] &&
        (!accumulator || warp.heldAs[at] != (shape | 1u << 31)) &&
        (accumulator || warp.heldAs[at] >> 31))
      return warp.fail(inst, "wgmma",
                       Twine("a register of ") + (accumulator ? "D" : "A") +
                           " belongs to an outstanding wgmma");
    warp.heldAs[at] = accumulator ? shape | 1u << 31 : 0;
    ++warp.busyRegisters[at];
    ++warp.numBusy;
    group.registers.push_back(at);
  }
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// The 16 bytes at an address of the CTA's memory.
static bool findUnit(Warp &warp, const Inst &inst, uint32_t address,
                     Bytes &bytes) {
  return findBytes(warp, inst, Space::Shared,
                   address | uint64_t(warp.cta->rank) << kRankShift, 16,
                   Use::Read, 0, bytes);
}

static bool watchTile(Warp &warp, const Inst &inst,
                      const MatrixDescriptor &descriptor,
                      const OperandTile &tile, unsigned first, unsigned count) {
  if (!warp.cta->shadow)
    return true;
  Access access = warp.asyncAccess(inst, warp.live, false, warp.matrixAgent,
                                   warp.matrices.epoch, true);
  bool fine = true;
  forEachUnit(descriptor, tile, [&](uint32_t address, unsigned mn, unsigned) {
    if (!fine || mn < first || mn >= first + count)
      return;
    Bytes bytes;
    fine = findUnit(warp, inst, address, bytes) &&
           watch(warp, inst, bytes, 16, access);
  });
  return fine;
}

static bool decodeTile(Warp &warp, const Inst &inst, uint64_t bits,
                       const OperandTile &tile, StringRef name,
                       MatrixDescriptor &descriptor) {
  auto refuse = [&](llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    warp.fail(inst, "descriptor", "the descriptor of " + name + ": " + text);
    return false;
  };
  auto decoded = decodeMatrixDescriptor(bits, DescriptorFormat::Wgmma);
  if (!decoded)
    return refuse(decoded.takeError());
  descriptor = *decoded;
  if (llvm::Error error =
          checkOperandTile(descriptor, tile, DescriptorFormat::Wgmma))
    return refuse(std::move(error));
  return true;
}

static bool readTile(Warp &warp, const Inst &inst,
                     const MatrixDescriptor &descriptor,
                     const OperandTile &tile, float *to, size_t mnStride,
                     size_t kStride) {
  return readOperandTile(
      descriptor, tile,
      [&](uint32_t address) -> const uint8_t * {
        Bytes bytes;
        if (!findUnit(warp, inst, address, bytes) ||
            !checkWritten(warp, inst, bytes, 16, address, 0))
          return nullptr;
        return bytes.data;
      },
      to, mnStride, kStride);
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

static void readOperandA(Warp &warp, const Inst &inst, const Wgmma &w,
                         float *a) {
  unsigned bits = getBitWidth(w.shape.aType), per = 32 / bits;
  unsigned elements = w.aRegisters * per;
  for (unsigned n = 0; n < elements; ++n) {
    const uint32_t *from = warp.at<uint32_t>(inst.ops[w.dRegisters + n / per]);
    for (unsigned l = 0; l < 32; ++l) {
      uint32_t raw = from[l] >> (n % per * bits);
      if (bits < 32)
        raw &= (1u << bits) - 1;
      float value;
      if (w.shape.aType == ElementType::S8)
        value = int8_t(raw);
      else if (w.shape.aType == ElementType::U8)
        value = uint8_t(raw);
      else
        value = float(convertToDouble(raw, w.shape.aType));
      a[w.aPlaces[l * elements + n]] = value;
    }
  }
}

template <class T>
static void multiplyInto(Warp &warp, const Inst &inst, const Wgmma &w,
                         const T *a, const T *b, bool accumulate) {
  unsigned n = w.shape.n, k = w.shape.k, elements = n / 2;
  ElementType type = w.shape.dType;
  std::vector<T> d(kRows * n);
  bool half = type == ElementType::F16;
  auto load = [&](unsigned e, unsigned l) -> T {
    uint32_t raw = warp.at<uint32_t>(inst.ops[half ? e / 2 : e])[l];
    if (half)
      return T(halfToFloat(raw >> (e & 1 ? 16 : 0)));
    if constexpr (std::is_same_v<T, float>)
      return bitsToFloat(raw);
    else
      return T(raw);
  };
  if (accumulate)
    for (unsigned e = 0; e < elements; ++e)
      for (unsigned l = 0; l < 32; ++l)
        d[w.dPlaces[l * elements + e]] = load(e, l);
  ProductShape shape{kRows, n, k};
  if constexpr (std::is_same_v<T, float>) {
    if (half)
      multiplyFloatsToHalf(shape, a, b, d.data(), accumulate);
    else
      multiplyFloats(shape, a, b, d.data(), accumulate);
  } else {
    multiplyIntegers(shape, a, b, d.data(), accumulate, w.saturate);
  }
  for (unsigned e = 0; e < elements; ++e)
    for (unsigned l = 0; l < 32; ++l) {
      T value = d[w.dPlaces[l * elements + e]];
      uint32_t &to = warp.at<uint32_t>(inst.ops[half ? e / 2 : e])[l];
      if (half) {
        uint32_t bits = floatToHalf(float(value));
        to = e & 1 ? (to & 0xffffu) | bits << 16 : (to & 0xffff0000u) | bits;
      } else if constexpr (std::is_same_v<T, float>) {
        to = floatToBits(value);
      } else {
        to = uint32_t(value);
      }
    }
}

static bool finishWgmma(Warp &warp, const Inst &inst, const Wgmma &w,
                        const MatrixDescriptor &aDescriptor,
                        const MatrixDescriptor &bDescriptor, bool accumulate) {
  unsigned n = w.shape.n, k = w.shape.k;
  std::vector<float> a(64 * k), b(k * n);
  OperandTile aTile{w.shape.aType, w.aMajor, 64, k},
      bTile{w.shape.bType, w.bMajor, n, k};
  float *rows = a.data();
  if (w.fromRegisters) {
    readOperandA(warp, inst, w, rows);
  } else {
    if (!readTile(warp, inst, aDescriptor, aTile, rows, k, 1))
      return false;
    rows += warp.index % 4 * kRows * k;
  }
  if (!readTile(warp, inst, bDescriptor, bTile, b.data(), 1, n))
    return false;
  if (w.scaleA != w.scaleB)
    for (unsigned x = 0; x < kRows * k; ++x)
      rows[x] = -rows[x];
  if (w.shape.dType != ElementType::S32) {
    multiplyInto(warp, inst, w, rows, b.data(), accumulate);
    return true;
  }
  std::vector<int32_t> ia(rows, rows + kRows * k), ib(b.begin(), b.end());
  multiplyInto(warp, inst, w, ia.data(), ib.data(), accumulate);
  return true;
}

static Step runWgmma(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &w = *static_cast<const Wgmma *>(inst.data);
  if (mask != kAllLanes)
    return failAligned(warp, inst, mask);
  if ((warp.index | 3) >= warp.cta->warps.size())
    return warp.fail(inst, "wgmma",
                     "the warp is not one of four that form a warp group");
  warp.matrixHash = (warp.matrixHash + inst.index + 1) * 0x9e3779b97f4a7c15ull;
  warp.lastMatrix = &inst;
  if (Step step = holdRegisters(warp, inst, w); step != Step::Next)
    return step;
  const Slot *slot = inst.ops + w.dRegisters;
  unsigned aSlots = w.fromRegisters ? w.aRegisters : 1;
  auto uniform = [&](Slot from, uint64_t &bits) {
    const uint64_t *lanes = warp.at<uint64_t>(from);
    bits = lanes[0];
    for (unsigned l = 1; l < 32; ++l)
      if (lanes[l] != bits)
        return false;
    return true;
  };
  uint64_t aBits = 0, bBits = 0;
  if ((!w.fromRegisters && !uniform(slot[0], aBits)) ||
      !uniform(slot[aSlots], bBits))
    return warp.fail(inst, "descriptor",
                     "lanes of the warp give different descriptors");
  uint32_t scale = warp.predicate(slot[aSlots + 1]);
  if (scale && scale != kAllLanes)
    return warp.fail(inst, "wgmma", "lanes disagree about scale-d");
  OperandTile aTile{w.shape.aType, w.aMajor, 64, w.shape.k},
      bTile{w.shape.bType, w.bMajor, w.shape.n, w.shape.k};
  MatrixDescriptor a, b;
  if (!w.fromRegisters &&
      (!decodeTile(warp, inst, aBits, aTile, "A", a) ||
       !watchTile(warp, inst, a, aTile, warp.index % 4 * kRows, kRows)))
    return Step::Fail;
  if (!decodeTile(warp, inst, bBits, bTile, "B", b) ||
      !watchTile(warp, inst, b, bTile, 0, w.shape.n))
    return Step::Fail;
  Warp *self = &warp;
  const Inst *where = &inst;
  const Wgmma *form = &w;
  bool accumulate = scale != 0;
  llvm::SmallVector<uint64_t, 1> after;
  if (warp.lastMatrixWork)
    after.push_back(warp.lastMatrixWork);
  warp.lastMatrixWork = warp.cluster->issue(
      warp, inst, "wgmma",
      [=] { return finishWgmma(*self, *where, *form, a, b, accumulate); },
      after);
  warp.matrices.open().work.push_back(warp.lastMatrixWork);
  return Step::Next;
}

static Step runFence(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!warp.isWhole(mask))
    return failAligned(warp, inst, mask);
  warp.fencedAt = warp.steps;
  return Step::Next;
}

static Step runCommit(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!warp.isWhole(mask))
    return failAligned(warp, inst, mask);
  warp.matrices.commit();
  return Step::Next;
}

static Step runWait(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!warp.isWhole(mask))
    return failAligned(warp, inst, mask);
  auto &groups = warp.matrices.groups;
  Fragment &f = warp.fragment();
  while (groups.size() - 1 > uint64_t(inst.imm)) {
    Groups::Group &group = groups.front();
    for (uint64_t number : group.work)
      if (warp.cluster->isPending(number)) {
        f.wait.kind = Wait::Groups;
        f.wait.value = number;
        return Step::Wait;
      }
    for (uint32_t at : group.registers)
      --warp.busyRegisters[at];
    warp.numBusy -= group.registers.size();
    warp.acquireAgent(mask, warp.matrixAgent, group.epoch, false);
    groups.pop_front();
  }
  f.wait = Wait();
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

static void readSigns(Build &b, Wgmma &w, unsigned n) {
  for (float *scale : {&w.scaleA, &w.scaleB}) {
    int64_t value = b.constant(b.operand(n++));
    if (value != 1 && value != -1)
      b.error("scales of A and B are 1 or -1");
    *scale = value;
  }
}

static void findPlaces(Wgmma &w) {
  unsigned elements = w.shape.n / 2;
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned e = 0; e < elements; ++e) {
      Coordinate at = getWgmmaAccumulator(l, e);
      w.dPlaces.push_back(at.row * w.shape.n + at.column);
    }
  if (!w.fromRegisters)
    return;
  unsigned count = 4 * 32 / getBitWidth(w.shape.aType);
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned e = 0; e < count; ++e) {
      Coordinate at = getWgmmaOperandA(w.shape.aType, l, e);
      w.aPlaces.push_back(at.row * w.shape.k + at.column);
    }
}

static void addRegisters(Build &b, const Operand &operand, unsigned count,
                         bool writes) {
  if (operand.kind != Operand::Vector || operand.elements.size() != count)
    return b.error(operand.loc,
                   "a vector of " + Twine(count) + " is needed here");
  for (const Operand &element : operand.elements)
    writes ? b.write(element, {Type::Bits, 32})
           : b.read(element, {Type::Bits, 32});
}

static void buildMultiply(Build &b) {
  Wgmma w;
  StringRef shape = b.nextModifier();
  unsigned m = 0;
  StringRef text = shape;
  if (!text.consume_front("m") || text.consumeInteger(10, m) || m != 64 ||
      !text.consume_front("n") || text.consumeInteger(10, w.shape.n) ||
      !text.consume_front("k") || text.consumeInteger(10, w.shape.k) ||
      !text.empty())
    return b.error("'wgmma' needs a shape, such as .m64n128k16, found ." +
                   shape);
  b.take(shape);
  w.saturate = b.take("satfinite");
  auto d = takeMatrixType(b), a = takeMatrixType(b), t = takeMatrixType(b);
  if (!d || !a || !t)
    return;
  w.shape.dType = *d;
  w.shape.aType = *a;
  w.shape.bType = *t;
  if (llvm::Error error = checkWgmma(w.shape))
    return b.error(llvm::toString(std::move(error)));
  w.fromRegisters = b.operand(1).kind == Operand::Vector;
  bool halves = *a == ElementType::F16 || *a == ElementType::BF16;
  bool integers = *d == ElementType::S32;
  unsigned signs = integers ? 0 : 2;
  unsigned majors = !halves ? 0 : w.fromRegisters ? 1 : 2;
  if (!b.expectOperands(4 + signs + majors, 4 + signs + majors))
    return;
  w.dRegisters = w.shape.n / (*d == ElementType::F16 ? 4 : 2);
  w.aRegisters = 4;
  addRegisters(b, b.operand(0), w.dRegisters, true);
  if (w.fromRegisters)
    addRegisters(b, b.operand(1), w.aRegisters, false);
  else
    b.read(1, {Type::Bits, 64});
  b.read(2, {Type::Bits, 64});
  b.readPredicate(b.operand(3));
  if (signs)
    readSigns(b, w, 4);
  unsigned n = 4 + signs;
  if (majors == 2 && b.constant(b.operand(n++)))
    w.aMajor = MajorDim::MN;
  if (majors && b.constant(b.operand(n)))
    w.bMajor = MajorDim::MN;
  findPlaces(w);
  b.inst.holdsRegisters = true;
  b.attach(std::move(w));
  b.set(runWgmma);
}

static void buildWgmma(Build &b) {
  StringRef kind =
      b.needOneOf({"fence", "commit_group", "wait_group", "mma_async"});
  b.need("sync");
  b.need("aligned");
  if (kind == "mma_async")
    return buildMultiply(b);
  bool waits = kind == "wait_group";
  if (!b.expectOperands(waits, waits))
    return;
  if (waits) {
    b.inst.imm = b.constant(b.operand(0));
    if (b.inst.imm < 0)
      b.error("a number of groups must not be negative");
  }
  b.set(waits ? runWait : kind == "fence" ? runFence : runCommit);
}

llvm::ArrayRef<Entry> fovea::ptx::getWgmmaEntries() {
  static const Entry entries[] = {{"wgmma", buildWgmma}};
  return entries;
}
