//===- InstructionsMove.cpp - mov, cvta and isspacep ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves, including packing and unpacking of vectors, special registers, and
// conversions of addresses between state spaces.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "llvm/ADT/StringSwitch.h"

using namespace fovea::ptx;
using llvm::StringRef;

namespace {
template <class T>
T copy(T a) {
  return a;
}
bool copyPred(bool a) { return a; }

struct Wide {
  uint64_t low, high;
};

/// Slots: the wide value, then its parts, lowest bits first. With `unpack`, the
/// parts are the destination and come before the wide value.
struct Parts {
  unsigned count, bits;
  bool unpack;
};
} // namespace

static Step runMoveWide(Warp &warp, const Inst &inst, uint32_t mask) {
  putLanes(warp, inst.ops[0], warp.at<Wide>(inst.ops[1]), mask);
  return Step::Next;
}

static uint64_t readBits(Warp &warp, Slot slot, unsigned bits, unsigned lane) {
  return bits == 64   ? warp.at<uint64_t>(slot)[lane]
         : bits == 32 ? warp.at<uint32_t>(slot)[lane]
                      : warp.at<uint16_t>(slot)[lane];
}

static void writeBits(Warp &warp, Slot slot, unsigned bits, unsigned lane,
                      uint64_t value) {
  if (bits == 64)
    warp.at<uint64_t>(slot)[lane] = value;
  else if (bits == 32)
    warp.at<uint32_t>(slot)[lane] = value;
  else
    warp.at<uint16_t>(slot)[lane] = value;
}

static Step runParts(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &p = *static_cast<const Parts *>(inst.data);
  unsigned whole = p.count * p.bits;
  uint64_t part = p.bits == 64 ? ~uint64_t(0) : (uint64_t(1) << p.bits) - 1;
  Slot all = inst.ops[p.unpack ? p.count : 0];
  const Slot *parts = inst.ops + (p.unpack ? 0 : 1);
  forLanes(mask, [&](unsigned l) {
    if (whole == 128) {
      Wide value{};
      uint64_t *words = &value.low;
      if (p.unpack)
        value = warp.at<Wide>(all)[l];
      for (unsigned n = 0; n < p.count; ++n) {
        unsigned word = n * p.bits / 64, shift = n * p.bits % 64;
        if (p.unpack)
          writeBits(warp, parts[n], p.bits, l, words[word] >> shift & part);
        else
          words[word] |= (readBits(warp, parts[n], p.bits, l) & part) << shift;
      }
      if (!p.unpack)
        warp.at<Wide>(all)[l] = value;
      return;
    }
    uint64_t value = p.unpack ? readBits(warp, all, whole, l) : 0;
    for (unsigned n = 0; n < p.count; ++n)
      if (p.unpack)
        writeBits(warp, parts[n], p.bits, l, value >> (n * p.bits) & part);
      else
        value |= (readBits(warp, parts[n], p.bits, l) & part) << (n * p.bits);
    if (!p.unpack)
      writeBits(warp, all, whole, l, value);
  });
  return Step::Next;
}

static void buildParts(Build &b, Type type, bool unpack) {
  const Operand &vector = b.operand(unpack ? 0 : 1);
  unsigned count = vector.elements.size();
  if ((count != 2 && count != 4) || type.bits / count < 8 || type.packed)
    return b.error(vector.loc, "a vector of " + llvm::Twine(count) +
                                   " can't have type ." + type.str());
  Type part{Type::Bits, uint16_t(type.bits / count)};
  if (!unpack)
    b.write(0, type);
  for (const Operand &element : vector.elements)
    unpack ? b.write(element, part) : b.read(element, part);
  if (unpack)
    b.read(1, type);
  b.attach(Parts{count, part.bits, unpack});
  b.set(runParts);
}

/// %clock and similar registers: derived from the cluster's scheduling steps.
static Step runClock(Warp &warp, const Inst &inst, uint32_t mask) {
  uint64_t now = warp.cluster->time * 64 + warp.steps;
  if (inst.flags == 64)
    for (unsigned l = 0; l < 32; ++l)
      if (mask >> l & 1)
        warp.at<uint64_t>(inst.ops[0])[l] = now;
  if (inst.flags == 32)
    for (unsigned l = 0; l < 32; ++l)
      if (mask >> l & 1)
        warp.at<uint32_t>(inst.ops[0])[l] = now;
  return Step::Next;
}

static void buildMove(Build &b) {
  Type type = b.takeType();
  if (!b.expectOperands(2, 2))
    return;
  const Operand &target = b.operand(0), &source = b.operand(1);
  if (target.kind == Operand::Vector || source.kind == Operand::Vector)
    return buildParts(b, type, target.kind == Operand::Vector);
  if (type.kind == Type::Pred) {
    b.writePredicate(target);
    // `mov.pred p, 1` sets all lanes.
    if (source.kind == Operand::Integer)
      b.immediate(source.integer ? ~uint64_t(0) : 0, {Type::Bits, 32});
    else
      b.readPredicate(source);
    return b.set(map<copyPred>);
  }
  b.write(0, type);
  if (source.kind == Operand::Special &&
      (source.name == "%clock" || source.name == "%clock64" ||
       source.name == "%globaltimer" || source.name == "%clock_hi" ||
       source.name == "%globaltimer_lo")) {
    b.inst.flags = type.bits;
    if (type.bits < 32)
      return b.unsupportedType(type);
    return b.set(runClock);
  }
  b.read(1, type);
  switch (type.bits) {
  case 8:
  case 16:
    return b.set(map<copy<uint16_t>>);
  case 32:
    return b.set(map<copy<uint32_t>>);
  case 64:
    return b.set(map<copy<uint64_t>>);
  case 128:
    return b.set(runMoveWide);
  }
  b.unsupportedType(type);
}

//===----------------------------------------------------------------------===//
// Address spaces
//===----------------------------------------------------------------------===//

static uint64_t windowOf(StringRef space) {
  return llvm::StringSwitch<uint64_t>(space)
      .Cases({"shared", "shared::cta", "shared::cluster"}, kSharedWindow)
      .Case("local", kLocalWindow)
      .Cases({"param", "param::entry"}, kParamWindow)
      .Default(0);
}

static const StringRef kSpaces[] = {
    "global", "const",           "shared", "shared::cta",
    "local",  "shared::cluster", "param",  "param::entry"};

// Global and constant addresses are already generic.
static Step runToGeneric(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint64_t *from = warp.at<uint64_t>(inst.ops[1]);
  Result<uint64_t> result;
  for (int l = 0; l < 32; ++l)
    result.lanes[l] = from[l] | uint64_t(inst.imm);
  result.put(warp, inst.ops[0], mask);
  return Step::Next;
}

static Step runFromGeneric(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint64_t *from = warp.at<uint64_t>(inst.ops[1]);
  Result<uint64_t> result;
  uint64_t window = inst.imm;
  for (int l = 0; l < 32; ++l)
    result.lanes[l] = window ? from[l] & ~kWindowMask : from[l];
  if (window)
    for (int l = 0; l < 32; ++l)
      if ((mask >> l & 1) && (from[l] & kWindowMask) != window &&
          // The null address has no window.
          from[l] != 0)
        return warp.fail(inst, "space",
                         "generic address 0x" + llvm::utohexstr(from[l]) +
                             " is not in the space that 'cvta.to' names",
                         1u << l);
  result.put(warp, inst.ops[0], mask);
  return Step::Next;
}

static void buildCvta(Build &b) {
  bool to = b.take("to");
  StringRef space = b.needOneOf(kSpaces);
  Type type = b.takeType();
  if (type.bits != 64)
    return b.unsupportedType(type);
  if (!b.expectOperands(2, 2))
    return;
  b.write(0, type);
  b.read(1, type);
  b.inst.imm = windowOf(space);
  b.set(to ? runFromGeneric : runToGeneric);
}

static Step runIsSpace(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint64_t *from = warp.at<uint64_t>(inst.ops[1]);
  uint32_t bits = 0;
  forLanes(mask, [&](unsigned l) {
    uint64_t window = from[l] & kWindowMask;
    bool known = window == kSharedWindow || window == kLocalWindow ||
                 window == kParamWindow;
    bool is = inst.imm ? window == uint64_t(inst.imm) : !known;
    // .shared::cta is the CTA's own part of the window.
    if (is && inst.flags)
      is = (from[l] & ~kWindowMask) >> kRankShift == warp.cta->rank;
    bits |= uint32_t(is) << l;
  });
  warp.setPredicate(inst.ops[0], bits, mask);
  return Step::Next;
}

static void buildIsSpace(Build &b) {
  StringRef space = b.needOneOf(kSpaces);
  if (!b.expectOperands(2, 2))
    return;
  b.writePredicate(b.operand(0));
  b.read(1, {Type::Bits, 64});
  b.inst.imm = windowOf(space);
  b.inst.flags = space == "shared" || space == "shared::cta";
  b.set(runIsSpace);
}

/// The same offset in another CTA's memory. Slots: d, a, rank.
template <class T>
static Step runMapa(Warp &warp, const Inst &inst, uint32_t mask) {
  const T *from = warp.at<T>(inst.ops[1]);
  const uint32_t *rank = warp.at<uint32_t>(inst.ops[2]);
  T *to = warp.at<T>(inst.ops[0]);
  bool fine = allLanes(mask, [&](unsigned l) {
    if (rank[l] >= warp.cluster->ctas.size()) {
      warp.fail(inst, "cluster",
                "'mapa' refers to CTA " + llvm::Twine(rank[l]) +
                    " of a cluster of " +
                    llvm::Twine(warp.cluster->ctas.size()),
                1u << l);
      return false;
    }
    T high = T(uint64_t(from[l]) & kWindowMask);
    to[l] = high | T(from[l] & kOffsetMask) | T(rank[l]) << kRankShift;
    return true;
  });
  return fine ? Step::Next : Step::Fail;
}

static void buildMapa(Build &b) {
  b.take("shared::cluster");
  Type type = b.takeType();
  if (type.bits < 32 || !type.isInteger())
    return b.unsupportedType(type);
  if (!b.expectOperands(3, 3))
    return;
  b.write(0, type);
  b.read(1, type);
  b.read(2, {Type::Bits, 32});
  b.set(type.bits == 64 ? runMapa<uint64_t> : runMapa<uint32_t>);
}

static Step runGetRank(Warp &warp, const Inst &inst, uint32_t mask) {
  forLanes(mask, [&](unsigned l) {
    uint64_t from = inst.flags ? warp.at<uint64_t>(inst.ops[1])[l]
                               : warp.at<uint32_t>(inst.ops[1])[l];
    warp.at<uint32_t>(inst.ops[0])[l] = uint32_t(from) >> kRankShift;
  });
  return Step::Next;
}

static void buildGetRank(Build &b) {
  b.take("shared::cluster");
  Type type = b.takeType();
  if (type.bits < 32 || !type.isInteger())
    return b.unsupportedType(type);
  if (!b.expectOperands(2, 2))
    return;
  b.write(0, {Type::Bits, 32});
  b.read(1, type);
  b.inst.flags = type.bits == 64;
  b.set(runGetRank);
}

llvm::ArrayRef<Entry> fovea::ptx::getMoveEntries() {
  static const Entry entries[] = {
      {"mov", buildMove},           {"cvta", buildCvta},
      {"isspacep", buildIsSpace},   {"mapa", buildMapa},
      {"getctarank", buildGetRank},
  };
  return entries;
}
