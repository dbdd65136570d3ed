//===- InstructionsWarp.cpp - Communication between the lanes of a warp ---===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shuffles, ballots (`vote`), matches, reductions and elections among the lanes
// of a warp.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace fovea::ptx;
using llvm::StringRef;

/// Calls `act(lanes, members)` for each member mask of the lanes, once all
/// members have arrived.
template <class F>
static Step bySync(Warp &warp, const Inst &inst, uint32_t mask, Slot members,
                   F act) {
  const uint32_t *given = warp.at<uint32_t>(members);
  uint32_t first = given[__builtin_ctz(mask)];
  bool same = allLanes(mask, [&](unsigned l) { return given[l] == first; });
  if (same) {
    Step step = warp.gather(inst, mask, first);
    if (step == Step::Next)
      act(mask, first);
    return step;
  }
  // The lanes may form several groups, each of which must be complete.
  for (uint32_t left = mask; left;) {
    uint32_t wanted = given[__builtin_ctz(left)], lanes = 0;
    forLanes(left, [&](unsigned l) {
      if (given[l] == wanted)
        lanes |= 1u << l;
    });
    if (lanes != (wanted & warp.live))
      return warp.fail(inst, "membermask",
                       "lanes " + warp.describe(lanes) +
                           " execute this with the membermask of lanes " +
                           warp.describe(wanted) +
                           ": expected all lanes of the mask",
                       lanes);
    act(lanes, wanted);
    left &= ~lanes;
  }
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// shfl
//===----------------------------------------------------------------------===//

enum ShuffleMode : uint32_t { Up, Down, Butterfly, Index };

/// Slots: d, p, a, b, c, members.
static Step runShuffle(Warp &warp, const Inst &inst, uint32_t mask) {
  return bySync(warp, inst, mask, inst.ops[5],
                [&](uint32_t lanes, uint32_t members) {
                  const uint32_t *a = warp.at<uint32_t>(inst.ops[2]),
                                 *b = warp.at<uint32_t>(inst.ops[3]),
                                 *c = warp.at<uint32_t>(inst.ops[4]);
                  uint32_t result[32], found = 0;
                  forLanes(lanes, [&](unsigned lane) {
                    uint32_t source = b[lane] & 31, clamp = c[lane] & 31,
                             segment = c[lane] >> 8 & 31;
                    uint32_t most = (lane & segment) | (clamp & ~segment),
                             least = lane & segment;
                    int32_t j = 0;
                    bool inside = false;
                    switch (inst.imm) {
                    case Up:
                      j = int32_t(lane) - int32_t(source);
                      inside = j >= int32_t(most);
                      break;
                    case Down:
                      j = lane + source;
                      inside = j <= int32_t(most);
                      break;
                    case Butterfly:
                      j = lane ^ source;
                      inside = j <= int32_t(most);
                      break;
                    case Index:
                      j = least | (source & ~segment);
                      inside = j <= int32_t(most);
                      break;
                    }
                    if (!inside)
                      j = lane;
                    result[lane] = a[j];
                    found |= uint32_t(inside) << lane;
                  });
                  putLanes(warp, inst.ops[0], result, lanes);
                  warp.setPredicate(inst.ops[1], found, lanes);
                });
}

static void buildShuffle(Build &b) {
  b.need("sync");
  b.inst.imm =
      llvm::StringSwitch<uint32_t>(b.needOneOf({"up", "down", "bfly", "idx"}))
          .Case("up", Up)
          .Case("down", Down)
          .Case("bfly", Butterfly)
          .Default(Index);
  b.need("b32");
  if (!b.expectOperands(5, 5))
    return;
  Type word{Type::Bits, 32};
  const Operand &target = b.operand(0);
  static const Operand sink;
  bool pair = target.kind == Operand::Pair;
  b.write(pair ? target.elements[0] : target, word);
  b.writePredicate(pair ? target.elements[1] : sink);
  for (unsigned n = 1; n < 5; ++n)
    b.read(n, word);
  b.set(runShuffle);
}

//===----------------------------------------------------------------------===//
// `vote`, `match`, `redux`
//===----------------------------------------------------------------------===//

enum VoteMode : uint32_t { All, Any, Uniform, Ballot };

/// Slots: d, the predicate, members.
static Step runVote(Warp &warp, const Inst &inst, uint32_t mask) {
  return bySync(warp, inst, mask, inst.ops[2], [&](uint32_t lanes, uint32_t) {
    uint32_t votes = warp.predicate(inst.ops[1]);
    if (inst.flags)
      votes = ~votes;
    votes &= lanes;
    if (inst.imm == Ballot) {
      uint32_t *to = warp.at<uint32_t>(inst.ops[0]);
      forLanes(lanes, [&](unsigned l) { to[l] = votes; });
      return;
    }
    bool result = inst.imm == All   ? votes == lanes
                  : inst.imm == Any ? votes != 0
                                    : votes == lanes || !votes;
    warp.setPredicate(inst.ops[0], result ? ~0u : 0, lanes);
  });
}

static void buildVote(Build &b) {
  b.need("sync");
  StringRef mode = b.needOneOf({"all", "any", "uni", "ballot"});
  b.inst.imm = llvm::StringSwitch<uint32_t>(mode)
                   .Case("all", All)
                   .Case("any", Any)
                   .Case("uni", Uniform)
                   .Default(Ballot);
  if (!b.expectOperands(3, 3))
    return;
  b.need(mode == "ballot" ? "b32" : "pred");
  if (mode == "ballot")
    b.write(0, {Type::Bits, 32});
  else
    b.writePredicate(b.operand(0));
  b.inst.flags = b.readNegatable(b.operand(1));
  b.read(2, {Type::Bits, 32});
  b.set(runVote);
}

/// Slots: d, p (for .all), a, members.
template <class T>
static Step runMatch(Warp &warp, const Inst &inst, uint32_t mask) {
  return bySync(warp, inst, mask, inst.ops[3], [&](uint32_t lanes, uint32_t) {
    const T *a = warp.at<T>(inst.ops[2]);
    uint32_t result[32], found = 0;
    forLanes(lanes, [&](unsigned lane) {
      uint32_t same = 0;
      forLanes(lanes,
               [&](unsigned l) { same |= uint32_t(a[l] == a[lane]) << l; });
      bool whole = same == lanes;
      result[lane] = inst.imm && !whole ? 0 : same;
      found |= uint32_t(whole) << lane;
    });
    putLanes(warp, inst.ops[0], result, lanes);
    warp.setPredicate(inst.ops[1], found, lanes);
  });
}

static void buildMatch(Build &b) {
  StringRef mode = b.needOneOf({"any", "all"});
  b.need("sync");
  Type type = b.takeType();
  if (type.kind != Type::Bits || (type.bits != 32 && type.bits != 64))
    return b.unsupportedType(type);
  if (!b.expectOperands(3, 3))
    return;
  const Operand &target = b.operand(0);
  static const Operand sink;
  bool pair = target.kind == Operand::Pair;
  b.write(pair ? target.elements[0] : target, {Type::Bits, 32});
  b.writePredicate(pair ? target.elements[1] : sink);
  b.read(1, type);
  b.read(2, {Type::Bits, 32});
  b.inst.imm = mode == "all";
  b.set(type.bits == 64 ? runMatch<uint64_t> : runMatch<uint32_t>);
}

namespace {
struct Reduction {
  enum { Add, Min, Max, And, Or, Xor } op;
  Type type;
  bool absolute = false, nan = false;
};
} // namespace

static uint32_t reduce(const Reduction &r, uint32_t x, uint32_t y) {
  bool isSigned = r.type.kind == Type::Signed;
  if (r.type.kind == Type::Float) {
    float a, b;
    memcpy(&a, &x, 4);
    memcpy(&b, &y, 4);
    if (std::isnan(a) || std::isnan(b))
      return r.nan || (std::isnan(a) && std::isnan(b)) ? 0x7fffffffu
             : std::isnan(a)                           ? y
                                                       : x;
    return (r.op == Reduction::Min) == (a < b) ? x : y;
  }
  switch (r.op) {
  case Reduction::Add:
    return x + y;
  case Reduction::Min:
    return isSigned ? std::min(int32_t(x), int32_t(y)) : std::min(x, y);
  case Reduction::Max:
    return isSigned ? std::max(int32_t(x), int32_t(y)) : std::max(x, y);
  case Reduction::And:
    return x & y;
  case Reduction::Or:
    return x | y;
  case Reduction::Xor:
    return x ^ y;
  }
  return x;
}

/// Slots: d, a, members.
static Step runReduction(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &r = *static_cast<const Reduction *>(inst.data);
  return bySync(warp, inst, mask, inst.ops[2], [&](uint32_t lanes, uint32_t) {
    const uint32_t *a = warp.at<uint32_t>(inst.ops[1]);
    uint32_t clear = r.absolute ? 0x7fffffffu : ~0u;
    uint32_t value = a[__builtin_ctz(lanes)] & clear;
    forLanes(lanes & (lanes - 1),
             [&](unsigned l) { value = reduce(r, value, a[l] & clear); });
    uint32_t *to = warp.at<uint32_t>(inst.ops[0]);
    forLanes(lanes, [&](unsigned l) { to[l] = value; });
  });
}

static void buildRedux(Build &b) {
  b.need("sync");
  Reduction r;
  StringRef op = b.needOneOf({"add", "min", "max", "and", "or", "xor"});
  r.op = op == "add"   ? Reduction::Add
         : op == "min" ? Reduction::Min
         : op == "max" ? Reduction::Max
         : op == "and" ? Reduction::And
         : op == "or"  ? Reduction::Or
                       : Reduction::Xor;
  r.absolute = b.take("abs");
  r.nan = b.take("NaN");
  r.type = b.takeType();
  bool picks = op == "min" || op == "max";
  bool legal = r.type.bits == 32 && !r.type.packed &&
               (picks || op == "add" ? r.type.isInteger() ||
                                           (picks && r.type.kind == Type::Float)
                                     : r.type.kind == Type::Bits);
  if (!legal)
    return b.unsupportedType(r.type);
  if (!b.expectOperands(3, 3))
    return;
  b.write(0, r.type);
  b.read(1, r.type);
  b.read(2, {Type::Bits, 32});
  b.attach(r);
  b.set(runReduction);
}

//===----------------------------------------------------------------------===//
// elect, activemask
//===----------------------------------------------------------------------===//

/// Slots: d, p, members. The leader is the first member.
static Step runElect(Warp &warp, const Inst &inst, uint32_t mask) {
  return bySync(warp, inst, mask, inst.ops[2], [&](uint32_t lanes, uint32_t) {
    uint32_t leader = __builtin_ctz(lanes);
    uint32_t *to = warp.at<uint32_t>(inst.ops[0]);
    forLanes(lanes, [&](unsigned l) { to[l] = leader; });
    warp.setPredicate(inst.ops[1], 1u << leader, lanes);
  });
}

static void buildElect(Build &b) {
  b.need("sync");
  if (!b.expectOperands(2, 2))
    return;
  const Operand &target = b.operand(0);
  if (target.kind != Operand::Pair)
    return b.error(target.loc, "'elect' has two results, such as %r1|%p1");
  b.write(target.elements[0], {Type::Bits, 32});
  b.writePredicate(target.elements[1]);
  b.read(1, {Type::Bits, 32});
  b.set(runElect);
}

static Step runActiveMask(Warp &warp, const Inst &inst, uint32_t mask) {
  uint32_t *to = warp.at<uint32_t>(inst.ops[0]);
  forLanes(mask, [&](unsigned l) { to[l] = mask; });
  return Step::Next;
}

static void buildActiveMask(Build &b) {
  b.need("b32");
  if (!b.expectOperands(1, 1))
    return;
  b.write(0, {Type::Bits, 32});
  b.set(runActiveMask);
}

llvm::ArrayRef<Entry> fovea::ptx::getWarpEntries() {
  static const Entry entries[] = {
      {"shfl", buildShuffle}, {"vote", buildVote},
      {"match", buildMatch},  {"redux", buildRedux},
      {"elect", buildElect},  {"activemask", buildActiveMask},
  };
  return entries;
}
