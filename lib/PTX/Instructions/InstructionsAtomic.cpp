//===- InstructionsAtomic.cpp - atom and red ------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Atomics and reductions on memory, with their scopes and memory orders.
//
//===----------------------------------------------------------------------===//

#include "Atomics.h"
#include "Lanes.h"

#include "fovea/PTX/Units/Numeric.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace fovea::ptx;
using llvm::StringRef;
using llvm::Twine;

namespace {
enum class Rmw : uint8_t {
  Add,
  Min,
  Max,
  Inc,
  Dec,
  And,
  Or,
  Xor,
  Exchange,
  Swap /* cas */
};

struct Atomic {
  Space space = Space::Generic;
  Strong strong;
  Rmw rmw = Rmw::Add;
  Type type;
  /// red has no result; vectors have several elements, each of them atomic.
  bool result = true;
  unsigned count = 1;
};
} // namespace

static float flushIf(float x, bool flush) {
  return flush ? flushSubnormal(x) : x;
}

/// The new value; subnormal floats in global memory are flushed.
static uint64_t combineFloat(const Atomic &a, uint64_t old, uint64_t x,
                             bool global) {
  if (a.type.bits == 64) {
    double left, right;
    memcpy(&left, &old, 8);
    memcpy(&right, &x, 8);
    left += right;
    memcpy(&old, &left, 8);
    return old;
  }
  if (a.type == Type{Type::Float, 32}) {
    float sum =
        flushIf(bitsToFloat(old), global) + flushIf(bitsToFloat(x), global);
    return floatToBits(canonicalize(flushIf(sum, global)));
  }
  // One or two 16-bit floats.
  ElementType type =
      a.type.kind == Type::BFloat ? ElementType::BF16 : ElementType::F16;
  uint64_t result = 0;
  for (unsigned shift = 0; shift < a.type.bits; shift += 16) {
    double left = convertToDouble(old >> shift & 0xffff, type);
    double right = convertToDouble(x >> shift & 0xffff, type);
    double value = left + right;
    if (a.rmw != Rmw::Add)
      value = std::isnan(left)                        ? right
              : std::isnan(right)                     ? left
              : (a.rmw == Rmw::Min) == (left < right) ? left
                                                      : right;
    result |= convertFromDouble(value, type) << shift;
  }
  return result;
}

template <class T, class S>
static uint64_t combineInteger(Rmw rmw, bool isSigned, T old, T x, T with) {
  switch (rmw) {
  case Rmw::Add:
    return T(old + x);
  case Rmw::Min:
    return isSigned ? T(std::min(S(old), S(x))) : std::min(old, x);
  case Rmw::Max:
    return isSigned ? T(std::max(S(old), S(x))) : std::max(old, x);
  case Rmw::Inc:
    return old >= x ? 0 : T(old + 1);
  case Rmw::Dec:
    return old == 0 || old > x ? x : T(old - 1);
  case Rmw::And:
    return T(old & x);
  case Rmw::Or:
    return T(old | x);
  case Rmw::Xor:
    return T(old ^ x);
  case Rmw::Exchange:
    return x;
  case Rmw::Swap:
    return old == x ? with : old;
  }
  return old;
}

static uint64_t combine(const Atomic &a, uint64_t old, uint64_t x,
                        uint64_t with, bool global) {
  if (a.type.kind == Type::Float || a.type.kind == Type::BFloat)
    return combineFloat(a, old, x, global);
  bool isSigned = a.type.kind == Type::Signed;
  if (a.type.bits == 64)
    return combineInteger<uint64_t, int64_t>(a.rmw, isSigned, old, x, with);
  if (a.type.bits == 16)
    return combineInteger<uint16_t, int16_t>(a.rmw, isSigned, old, x, with);
  return combineInteger<uint32_t, int32_t>(a.rmw, isSigned, old, x, with);
}

/// Other host threads may access global memory concurrently.
template <class T>
static uint64_t update(const Atomic &a, uint8_t *at, uint64_t x, uint64_t with,
                       bool global) {
  T *place = reinterpret_cast<T *>(at);
  T old = __atomic_load_n(place, __ATOMIC_SEQ_CST);
  while (true) {
    T next = T(combine(a, old, x, with, global));
    if (__atomic_compare_exchange_n(place, &old, next, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
      return old;
  }
}

static uint64_t readLane(Warp &warp, Slot slot, unsigned bits, unsigned l) {
  return bits == 64   ? warp.at<uint64_t>(slot)[l]
         : bits == 32 ? warp.at<uint32_t>(slot)[l]
                      : warp.at<uint16_t>(slot)[l];
}

/// Slots: results, the address, operands (for cas: compare, value).
static Step runAtomic(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &a = *static_cast<const Atomic *>(inst.data);
  unsigned bits = a.type.bits, bytes = bits / 8;
  unsigned results = a.result ? a.count : 0;
  Slot base = inst.ops[results];
  const Slot *sources = inst.ops + results + 1;
  bool fine = allLanes(mask, [&](unsigned l) {
    uint64_t address = laneAddress(warp, inst, base, l);
    if (address & (bytes * a.count - 1)) {
      warp.fail(inst, "alignment",
                "the address 0x" + llvm::utohexstr(address, true) +
                    " of an atomic of " + Twine(bytes * a.count) +
                    " bytes is not a multiple of this size",
                1u << l);
      return false;
    }
    Bytes at;
    if (!findBytes(warp, inst, a.space, address, bytes * a.count, Use::Both, l,
                   at) ||
        !checkWritten(warp, inst, at, bytes * a.count, address, l))
      return false;
    Access access = warp.access(inst, 1u << l, true, a.strong.scope);
    if (!watch(warp, inst, at, bytes * a.count, access))
      return false;
    StrongAccess strong(warp, at, address, 1u << l, a.strong);
    strong.observe();
    strong.publish(/*replaces=*/false);
    for (unsigned n = 0; n < a.count; ++n) {
      uint64_t x = readLane(warp, sources[n], bits, l);
      uint64_t with =
          a.rmw == Rmw::Swap ? readLane(warp, sources[1], bits, l) : 0;
      uint8_t *place = at.data + n * bytes;
      uint64_t old = bits == 64 ? update<uint64_t>(a, place, x, with, !at.cta)
                     : bits == 32
                         ? update<uint32_t>(a, place, x, with, !at.cta)
                         : update<uint16_t>(a, place, x, with, !at.cta);
      if (!a.result)
        continue;
      if (bits == 64)
        warp.at<uint64_t>(inst.ops[n])[l] = old;
      else if (bits == 32)
        warp.at<uint32_t>(inst.ops[n])[l] = old;
      else
        warp.at<uint16_t>(inst.ops[n])[l] = old;
    }
    if (at.written)
      memset(at.written, kWritten, bytes * a.count);
    return true;
  });
  return fine ? Step::Next : Step::Fail;
}

static bool isLegal(const Atomic &a) {
  bool floating = a.type.kind == Type::Float || a.type.kind == Type::BFloat;
  bool half = floating && (a.type.packed || a.type.bits == 16);
  switch (a.rmw) {
  case Rmw::Add:
    return a.type.kind != Type::Bits && a.type.kind != Type::Pred;
  case Rmw::Min:
  case Rmw::Max:
    return half || (a.type.isInteger() && a.type.bits >= 32);
  case Rmw::Inc:
  case Rmw::Dec:
    return a.type == Type{Type::Unsigned, 32};
  case Rmw::And:
  case Rmw::Or:
  case Rmw::Xor:
  case Rmw::Exchange:
    return a.type.kind == Type::Bits && a.type.bits >= 32 && a.type.bits <= 64;
  case Rmw::Swap:
    return !floating && a.type.bits <= 64;
  }
  return false;
}

static void buildAtomic(Build &b) {
  Atomic a;
  a.result = b.name == "atom";
  if (b.hasModifier("async"))
    return b.error("'red.async' is not modelled");
  bool hint = b.take("L2::cache_hint");
  a.strong.order = takeOrder(b, Order::Relaxed);
  a.strong.scope = takeScope(b);
  a.space = takeSpace(b);
  StringRef name = b.needOneOf(
      {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
  a.rmw = llvm::StringSwitch<Rmw>(name)
              .Case("add", Rmw::Add)
              .Case("min", Rmw::Min)
              .Case("max", Rmw::Max)
              .Case("inc", Rmw::Inc)
              .Case("dec", Rmw::Dec)
              .Case("and", Rmw::And)
              .Case("or", Rmw::Or)
              .Case("xor", Rmw::Xor)
              .Case("exch", Rmw::Exchange)
              .Default(Rmw::Swap);
  b.take("noftz");
  StringRef vector = b.takeOneOf({"v2", "v4", "v8"});
  a.count = vector == "v8" ? 8 : vector == "v4" ? 4 : vector == "v2" ? 2 : 1;
  a.type = b.takeType();
  if (!isLegal(a))
    return b.error("'" + b.name + "." + name + "' of type ." + a.type.str() +
                   " is not modelled");
  unsigned results = a.result, sources = a.rmw == Rmw::Swap ? 2 : 1;
  if (!b.expectOperands(results + 1 + sources + hint,
                        results + 1 + sources + hint))
    return;
  auto each = [&](const Operand &operand, bool writes) {
    bool isVector = operand.kind == Operand::Vector;
    if (isVector ? operand.elements.size() != a.count : a.count != 1)
      return b.error(operand.loc,
                     "a vector of " + Twine(a.count) + " is needed here");
    Type type{Type::Bits, a.type.bits};
    if (!isVector)
      return writes ? b.write(operand, type) : b.read(operand, type);
    for (const Operand &element : operand.elements)
      writes ? b.write(element, type) : b.read(element, type);
  };
  if (a.result)
    each(b.operand(0), true);
  b.inst.imm = b.address(b.operand(results));
  for (unsigned n = 0; n < sources; ++n)
    each(b.operand(results + 1 + n), false);
  if (hint)
    b.read(results + 1 + sources, {Type::Bits, 64});
  b.attach(a);
  b.set(runAtomic);
}

llvm::ArrayRef<Entry> fovea::ptx::getAtomicEntries() {
  static const Entry entries[] = {{"atom", buildAtomic}, {"red", buildAtomic}};
  return entries;
}
