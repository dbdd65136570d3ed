//===- InstructionsMemory.cpp - ld, st and fences -------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads and stores of all state spaces, memory and proxy fences, and
// prefetches.
//
//===----------------------------------------------------------------------===//

#include "Atomics.h"
#include "Lanes.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Common modifiers
//===----------------------------------------------------------------------===//

Space fovea::ptx::takeSpace(Build &b) {
  StringRef name =
      b.takeOneOf({"global", "shared", "shared::cta", "shared::cluster",
                   "local", "param", "param::entry", "const"});
  return llvm::StringSwitch<Space>(name)
      .Case("global", Space::Global)
      .Cases({"shared", "shared::cta", "shared::cluster"}, Space::Shared)
      .Case("local", Space::Local)
      .Cases({"param", "param::entry"}, Space::Param)
      .Case("const", Space::Const)
      .Default(Space::Generic);
}

Order fovea::ptx::takeOrder(Build &b, Order otherwise) {
  StringRef name = b.takeOneOf({"weak", "volatile", "relaxed", "acquire",
                                "release", "acq_rel", "sc", "mmio"});
  return llvm::StringSwitch<Order>(name)
      .Case("weak", Order::Weak)
      .Cases({"volatile", "relaxed", "mmio"}, Order::Relaxed)
      .Case("acquire", Order::Acquire)
      .Case("release", Order::Release)
      .Cases({"acq_rel", "sc"}, Order::Both)
      .Default(otherwise);
}

Scope fovea::ptx::takeScope(Build &b) {
  return llvm::StringSwitch<Scope>(
             b.takeOneOf({"cta", "cluster", "gpu", "sys"}))
      .Case("cta", InCta)
      .Case("cluster", InCluster)
      .Default(InDevice);
}

/// Modifiers that only affect caches. A policy is an additional operand.
bool fovea::ptx::takeCacheModifiers(Build &b) {
  b.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  b.takeOneOf({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
               "L1::evict_last", "L1::no_allocate"});
  b.takeOneOf({"L2::evict_normal", "L2::evict_first", "L2::evict_last"});
  b.takeOneOf({"L2::64B", "L2::128B", "L2::256B"});
  return b.take("L2::cache_hint");
}

StrongAccess::StrongAccess(Warp &warp, const Bytes &bytes, uint64_t address,
                           uint32_t mask, Strong strong)
    : warp(warp), mask(mask), strong(strong) {
  if (bytes.cta) {
    flags = &warp.cluster->flags;
    key = uint64_t(bytes.cta->rank) << kRankShift | bytes.offset;
    return;
  }
  Run &run = *warp.cluster->run;
  lock = std::unique_lock<std::mutex>(run.flagsMutex);
  flags = &run.flags;
  key = address;
}

bool StrongAccess::observe() {
  return warp.observe(*flags, key, mask, strong.order, strong.scope);
}

void StrongAccess::publish(bool replaces) {
  warp.publish(*flags, key, mask, strong.order, strong.scope, replaces);
}

//===----------------------------------------------------------------------===//
// ld, st
//===----------------------------------------------------------------------===//

namespace {
struct Transfer {
  Space space = Space::Generic;
  Strong strong;
  /// Bytes per element in memory and in its register.
  unsigned bytes = 0, registerBytes = 0, count = 1;
  bool isSigned = false;

  std::optional<Scope> scopeIfStrong() const {
    return strong.order == Order::Weak ? std::nullopt
                                       : std::optional(strong.scope);
  }
};
} // namespace

static uint64_t addressAt(Warp &warp, const Inst &inst, Slot base, unsigned l) {
  return laneAddress(warp, inst, base, l);
}

/// Mbarriers are opaque: their bytes must not be accessed as data.
static bool isData(Warp &warp, const Inst &inst, const Bytes &bytes,
                   uint64_t count, unsigned lane) {
  if (!bytes.cta)
    return true;
  for (uint64_t n = 0; n < count; ++n)
    if (bytes.written[n] == kMbarrier) {
      warp.fail(inst, "mbarrier",
                "the mbarrier at " +
                    describeShared(*bytes.cta, (bytes.offset + n) & ~7u) +
                    " is accessed like data",
                1u << lane);
      return false;
    }
  return true;
}

static bool locate(Warp &warp, const Inst &inst, const Transfer &t,
                   uint64_t address, Use use, unsigned lane, Bytes &bytes) {
  unsigned total = t.bytes * t.count;
  if (address & (total - 1)) {
    warp.fail(inst, "alignment",
              "the address 0x" + llvm::utohexstr(address, true) +
                  " of an access of " + Twine(total) +
                  " bytes is not a multiple of this size",
              1u << lane);
    return false;
  }
  if (!findBytes(warp, inst, t.space, address, total, use, lane, bytes) ||
      !isData(warp, inst, bytes, total, lane))
    return false;
  return use == Use::Write ||
         checkWritten(warp, inst, bytes, total, address, lane);
}

/// Records the access of one lane. A write of an equal `value` changes nothing.
static bool watchLane(Warp &warp, const Inst &inst, const Transfer &t,
                      const Bytes &bytes, const uint8_t *value, unsigned lane) {
  if (!isWatched(warp, bytes))
    return true;
  unsigned total = t.bytes * t.count;
  Access access = warp.access(inst, 1u << lane, value, t.scopeIfStrong());
  if (value && warp.cluster->run->launch.allowEqualWrites &&
      !memcmp(value, bytes.data, total) &&
      llvm::all_of(llvm::ArrayRef(bytes.written, total),
                   [](uint8_t state) { return state == kWritten; })) {
    access.write = false;
    access.stamp.equal = 1;
  }
  return watch(warp, inst, bytes, total, access);
}

static uint64_t extend(uint64_t value, const Transfer &t) {
  return t.isSigned && t.bytes < 8 ? llvm::SignExtend64(value, t.bytes * 8)
                                   : value;
}

static Step runLoad(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &t = *static_cast<const Transfer *>(inst.data);
  Slot base = inst.ops[t.count];
  // A polling warp that observes nothing new yields to others.
  bool isNews = t.strong.order != Order::Acquire;
  bool fine = allLanes(mask, [&](unsigned l) {
    uint64_t address = addressAt(warp, inst, base, l);
    Bytes bytes;
    if (!locate(warp, inst, t, address, Use::Read, l, bytes) ||
        !watchLane(warp, inst, t, bytes, nullptr, l))
      return false;
    std::optional<StrongAccess> strong;
    if (t.scopeIfStrong())
      isNews |=
          strong.emplace(warp, bytes, address, 1u << l, t.strong).observe();
    if (t.bytes == 4 && t.registerBytes == 4) {
      for (unsigned n = 0; n < t.count; ++n)
        memcpy(warp.at<uint32_t>(inst.ops[n]) + l, bytes.data + 4 * n, 4);
      return true;
    }
    for (unsigned n = 0; n < t.count; ++n) {
      uint64_t value[2] = {};
      memcpy(value, bytes.data + t.bytes * n, t.bytes);
      value[0] = extend(value[0], t);
      memcpy(warp.at<uint8_t>(inst.ops[n]) + l * t.registerBytes, value,
             t.registerBytes);
    }
    return true;
  });
  if (!fine)
    return Step::Fail;
  return isNews ? Step::Next : Step::Yield;
}

static Step runStore(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &t = *static_cast<const Transfer *>(inst.data);
  Slot base = inst.ops[0];
  bool fine = allLanes(mask, [&](unsigned l) {
    uint64_t address = addressAt(warp, inst, base, l);
    Bytes bytes;
    if (!locate(warp, inst, t, address, Use::Write, l, bytes))
      return false;
    uint8_t value[32];
    for (unsigned n = 0; n < t.count; ++n)
      memcpy(value + t.bytes * n,
             warp.at<uint8_t>(inst.ops[n + 1]) + l * t.registerBytes, t.bytes);
    if (!watchLane(warp, inst, t, bytes, value, l))
      return false;
    std::optional<StrongAccess> strong;
    if (t.scopeIfStrong())
      strong.emplace(warp, bytes, address, 1u << l, t.strong);
    memcpy(bytes.data, value, t.bytes * t.count);
    if (bytes.written)
      memset(bytes.written, kWritten, t.bytes * t.count);
    if (strong)
      strong->publish(/*replaces=*/true);
    return true;
  });
  return fine ? Step::Next : Step::Fail;
}

static bool takeTransfer(Build &b, Transfer &t, Type &type) {
  bool uniform = b.take("unified");
  (void)uniform;
  t.strong.order = takeOrder(b, Order::Weak);
  t.strong.scope = takeScope(b);
  t.space = takeSpace(b);
  b.take("nc");
  StringRef vector = b.takeOneOf({"v2", "v4", "v8"});
  t.count = llvm::StringSwitch<unsigned>(vector)
                .Case("v2", 2)
                .Case("v4", 4)
                .Case("v8", 8)
                .Default(1);
  type = b.takeType();
  if (!type)
    return false;
  if (type.kind == Type::Pred || type.packed) {
    b.unsupportedType(type);
    return false;
  }
  t.bytes = type.getBytes();
  t.isSigned = type.kind == Type::Signed;
  if (t.bytes * t.count > 32) {
    b.error("'" + b.name + "' of more than 32 bytes does not exist", "syntax");
    return false;
  }
  return true;
}

/// The elements of a vector, or the operand itself.
static llvm::ArrayRef<Operand> elementsOf(Build &b, const Operand &operand,
                                          unsigned count) {
  if (operand.kind != Operand::Vector) {
    if (count != 1)
      b.error(operand.loc, "a vector of " + Twine(count) + " is needed here");
    return operand;
  }
  if (operand.elements.size() != count)
    b.error(operand.loc, "a vector of " + Twine(count) +
                             " is needed here, found " +
                             Twine(operand.elements.size()));
  return operand.elements;
}

static void checkWidths(Build &b, llvm::ArrayRef<Operand> elements,
                        Transfer &t) {
  t.registerBytes = std::max(2u, t.bytes);
  unsigned width = 0;
  for (const Operand &element : elements)
    if (unsigned bits = b.widthOf(element)) {
      if (width && width != bits)
        b.error(element.loc, "registers of one vector must have the same width",
                "type");
      width = bits;
    }
  if (width)
    t.registerBytes = std::max(2u, width / 8);
  // A sink has the width of the type.
  for (const Operand &element : elements)
    if (element.kind == Operand::Sink &&
        t.registerBytes > std::max(2u, t.bytes))
      b.error(element.loc, "'_' beside wider registers is not modelled");
}

static void buildLoad(Build &b) {
  Transfer t;
  Type type;
  bool hint = takeCacheModifiers(b);
  if (!takeTransfer(b, t, type) || !b.expectOperands(2 + hint, 2 + hint))
    return;
  llvm::ArrayRef<Operand> elements = elementsOf(b, b.operand(0), t.count);
  checkWidths(b, elements, t);
  for (const Operand &element : elements)
    b.write(element, {Type::Bits, type.bits}, /*widening=*/true);
  b.inst.imm = b.address(b.operand(1));
  if (hint)
    b.read(2, {Type::Bits, 64});
  b.attach(t);
  b.set(runLoad);
}

static void buildStore(Build &b) {
  Transfer t;
  Type type;
  if (b.hasModifier("async"))
    return b.error("'st.async' is not modelled");
  bool hint = takeCacheModifiers(b);
  if (!takeTransfer(b, t, type) || !b.expectOperands(2 + hint, 2 + hint))
    return;
  b.inst.imm = b.address(b.operand(0));
  llvm::ArrayRef<Operand> elements = elementsOf(b, b.operand(1), t.count);
  checkWidths(b, elements, t);
  for (const Operand &element : elements) {
    bool literal =
        element.kind == Operand::Integer || element.kind == Operand::Real;
    // A literal among wider registers has their width.
    uint16_t bits = literal ? t.registerBytes * 8 : type.bits;
    b.read(element, {Type::Bits, bits}, /*widening=*/true);
  }
  if (hint)
    b.read(2, {Type::Bits, 64});
  b.attach(t);
  b.set(runStore);
}

//===----------------------------------------------------------------------===//
// Fences, prefetches
//===----------------------------------------------------------------------===//

static Step runNothing(Warp &, const Inst &, uint32_t) { return Step::Next; }

/// flags: the scope.
static Step runFence(Warp &warp, const Inst &inst, uint32_t mask) {
  warp.fence(mask, Scope(inst.flags));
  return Step::Next;
}

static void markFenced(Warp &warp) {
  for (Mbarrier *mbarrier : warp.unfenced)
    mbarrier->fenced = true;
  warp.unfenced.clear();
}

static Step runProxyFence(Warp &warp, const Inst &, uint32_t mask) {
  warp.fenceProxy(mask);
  markFenced(warp);
  return Step::Next;
}

static Step runInitFence(Warp &warp, const Inst &, uint32_t mask) {
  markFenced(warp);
  warp.fenceInits(mask);
  return Step::Next;
}

static void buildFence(Build &b) {
  b.expectOperands(0, 0);
  if (b.take("mbarrier_init")) {
    b.need("release");
    b.need("cluster");
    return b.set(runInitFence);
  }
  if (b.take("proxy")) {
    StringRef kind = b.needOneOf({"async", "async.global", "alias"});
    if (kind == "async")
      b.takeOneOf({"global", "shared::cta", "shared::cluster"});
    return b.set(kind == "alias" ? runNothing : runProxyFence);
  }
  b.takeOneOf({"sc", "acq_rel", "acquire", "release"});
  b.inst.flags = takeScope(b);
  b.set(runFence);
}

static void buildMembar(Build &b) {
  b.expectOperands(0, 0);
  b.inst.flags = b.needOneOf({"cta", "gl", "sys"}) == "cta" ? InCta : InDevice;
  b.set(runFence);
}

/// A prefetch reads nothing, but its address is checked if a wrong one would
/// trap.
static void buildPrefetch(Build &b) {
  b.takeOneOf({"L1", "L2"});
  b.takeOneOf({"L2::evict_last", "L2::evict_normal"});
  takeSpace(b);
  b.take("tensormap");
  if (!b.expectOperands(1, 1))
    return;
  b.inst.imm = b.address(b.operand(0));
  b.set(runNothing);
}

static Step runCreatePolicy(Warp &warp, const Inst &inst, uint32_t mask) {
  for (unsigned l = 0; l < 32; ++l)
    if (mask >> l & 1)
      warp.at<uint64_t>(inst.ops[0])[l] = 0;
  return Step::Next;
}

static void buildCreatePolicy(Build &b) {
  b.need("fractional");
  b.takeOneOf({"L2::evict_last", "L2::evict_first", "L2::evict_normal",
               "L2::evict_unchanged"});
  b.takeOneOf({"L2::evict_unchanged", "L2::evict_first"});
  b.need("b64");
  if (!b.expectOperands(1, 2))
    return;
  b.write(0, {Type::Bits, 64});
  b.set(runCreatePolicy);
}

llvm::ArrayRef<Entry> fovea::ptx::getMemoryEntries() {
  static const Entry entries[] = {
      {"ld", buildLoad},
      {"ldu", buildLoad},
      {"st", buildStore},
      {"fence", buildFence},
      {"membar", buildMembar},
      {"prefetch", buildPrefetch},
      {"prefetchu", buildPrefetch},
      {"createpolicy", buildCreatePolicy},
  };
  return entries;
}
