//===- InstructionsCompare.cpp - setp and set -----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Comparisons of integers and floats, and their combination with predicates.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "fovea/PTX/Units/Numeric.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace fovea::ptx;
using llvm::StringRef;

namespace {
enum Op { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN_ };

template <int op, class T>
bool compare(T a, T b) {
  if constexpr (op == EQ)
    return a == b;
  else if constexpr (op == NE)
    return a != b;
  else if constexpr (op == LT)
    return a < b;
  else if constexpr (op == LE)
    return a <= b;
  else if constexpr (op == GT)
    return a > b;
  else
    return a >= b;
}

/// For NaN, comparisons are false, and those that end in u are true.
template <int op, class T>
bool compareFloat(T a, T b) {
  if constexpr (op == NE)
    return a < b || a > b;
  else if constexpr (op == EQU)
    return !(a < b || a > b);
  else if constexpr (op == NEU)
    return a != b;
  else if constexpr (op == LTU)
    return !(a >= b);
  else if constexpr (op == LEU)
    return !(a > b);
  else if constexpr (op == GTU)
    return !(a <= b);
  else if constexpr (op == GEU)
    return !(a < b);
  else if constexpr (op == NUM)
    return a <= b || a > b;
  else if constexpr (op == NAN_)
    return !(a <= b || a > b);
  else
    return compare<op, T>(a, b);
}
template <int op>
bool compareFlushed(float a, float b) {
  return compareFloat<op, float>(flushSubnormal(a), flushSubnormal(b));
}
template <int op>
bool compareHalf(uint16_t a, uint16_t b) {
  return compareFloat<op, float>(halfToFloat(a), halfToFloat(b));
}
/// `.ftz` treats subnormal f16 values, below 2^-14, as 0.
template <int op>
bool compareFlushedHalf(uint16_t a, uint16_t b) {
  auto flush = [](uint16_t half) -> uint16_t {
    return half & 0x7c00 ? half : half & 0x8000;
  };
  return compareHalf<op>(flush(a), flush(b));
}
template <int op>
bool compareBFloat(uint16_t a, uint16_t b) {
  return compareFloat<op, float>(bfloatToFloat(a), bfloatToFloat(b));
}

/// Compares one of the two halves of a word.
template <bool (*one)(uint16_t, uint16_t), int shift>
bool compareHalfOfWord(uint32_t a, uint32_t b) {
  return one(a >> shift, b >> shift);
}
/// Comparisons of the low halves and of the high halves of two words.
struct Halves {
  Handler low, high;
};

struct Row {
  Handler u16, s16, u32, s32, u64, s64, f32, f32ftz, f64, f16, f16ftz, bf16;
  Halves f16x2, f16x2ftz, bf16x2;
};
} // namespace

template <bool (*one)(uint16_t, uint16_t)>
static Halves makeHalves() {
  return {map<compareHalfOfWord<one, 0>>, map<compareHalfOfWord<one, 16>>};
}

template <int op>
static Row makeRow() {
  Row row{};
  if constexpr (op <= GE) {
    row.u16 = map<compare<op, uint16_t>>;
    row.s16 = map<compare<op, int16_t>>;
    row.u32 = map<compare<op, uint32_t>>;
    row.s32 = map<compare<op, int32_t>>;
    row.u64 = map<compare<op, uint64_t>>;
    row.s64 = map<compare<op, int64_t>>;
  }
  row.f32 = map<compareFloat<op, float>>;
  row.f32ftz = map<compareFlushed<op>>;
  row.f64 = map<compareFloat<op, double>>;
  row.f16 = map<compareHalf<op>>;
  row.f16ftz = map<compareFlushedHalf<op>>;
  row.bf16 = map<compareBFloat<op>>;
  row.f16x2 = makeHalves<compareHalf<op>>();
  row.f16x2ftz = makeHalves<compareFlushedHalf<op>>();
  row.bf16x2 = makeHalves<compareBFloat<op>>();
  return row;
}

static const Row &getRow(int op) {
  static const Row rows[] = {makeRow<EQ>(),  makeRow<NE>(),  makeRow<LT>(),
                             makeRow<LE>(),  makeRow<GT>(),  makeRow<GE>(),
                             makeRow<EQU>(), makeRow<NEU>(), makeRow<LTU>(),
                             makeRow<LEU>(), makeRow<GTU>(), makeRow<GEU>(),
                             makeRow<NUM>(), makeRow<NAN_>()};
  return rows[op];
}

static Handler getComparison(int op, Type type, bool flush) {
  const Row &row = getRow(op);
  if (type.packed)
    return nullptr;
  if (type.kind == Type::BFloat)
    return row.bf16;
  if (type.kind == Type::Float)
    return type.bits == 16   ? flush ? row.f16ftz : row.f16
           : type.bits == 64 ? row.f64
           : flush           ? row.f32ftz
                             : row.f32;
  if (type.kind == Type::Bits && op > NE)
    return nullptr;
  bool sign = type.kind == Type::Signed;
  switch (type.bits) {
  case 16:
    return sign ? row.s16 : row.u16;
  case 32:
    return sign ? row.s32 : row.u32;
  case 64:
    return sign ? row.s64 : row.u64;
  }
  return nullptr;
}

/// The comparisons of both halves of packed values; null for other types.
static Halves getComparisons(int op, Type type, bool flush) {
  const Row &row = getRow(op);
  if (!type.packed || type.bits != 32)
    return {};
  if (type.kind == Type::BFloat)
    return row.bf16x2;
  if (type.kind != Type::Float)
    return {};
  return flush ? row.f16x2ftz : row.f16x2;
}

namespace {
/// Slots: p, a, b and optionally c (possibly negated) and q. For packed values,
/// p is the comparison of the low halves and q that of the high halves;
/// otherwise q is the negation of p.
struct Combination {
  Handler compare, compareHigh = nullptr;
  enum { None, And, Or, Xor } op = None;
  bool negated = false, second = false;
};
} // namespace

static uint32_t combine(const Combination &c, uint32_t p, uint32_t with) {
  switch (c.op) {
  case Combination::None:
    return p;
  case Combination::And:
    return p & with;
  case Combination::Or:
    return p | with;
  case Combination::Xor:
    return p ^ with;
  }
  return p;
}

static Step runCombined(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &c = *static_cast<const Combination *>(inst.data);
  unsigned next = 3;
  // Read before p is written: c and p may be the same register.
  uint32_t with = 0;
  if (c.op != Combination::None)
    with = warp.predicate(inst.ops[next++]) ^ (c.negated ? ~0u : 0);
  c.compare(warp, inst, mask);
  uint32_t found = warp.predicate(inst.ops[0]), other = ~found;
  if (c.compareHigh) {
    Inst high = inst;
    Slot slots[] = {inst.ops[next], inst.ops[1], inst.ops[2]};
    high.ops = slots;
    c.compareHigh(warp, high, mask);
    other = warp.predicate(inst.ops[next]);
  }
  warp.setPredicate(inst.ops[0], combine(c, found, with), mask);
  if (c.second)
    warp.setPredicate(inst.ops[next], combine(c, other, with), mask);
  return Step::Next;
}

static int takeComparison(Build &b) {
  StringRef name =
      b.needOneOf({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs",
                   "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  return llvm::StringSwitch<int>(name)
      .Case("eq", EQ)
      .Case("ne", NE)
      .Cases({"lt", "lo"}, LT)
      .Cases({"le", "ls"}, LE)
      .Cases({"gt", "hi"}, GT)
      .Cases({"ge", "hs"}, GE)
      .Case("equ", EQU)
      .Case("neu", NEU)
      .Case("ltu", LTU)
      .Case("leu", LEU)
      .Case("gtu", GTU)
      .Case("geu", GEU)
      .Case("num", NUM)
      .Default(NAN_);
}

static void buildSetp(Build &b) {
  int op = takeComparison(b);
  StringRef with = b.takeOneOf({"and", "or", "xor"});
  bool flush = b.take("ftz");
  Type type = b.takeType();
  Combination c;
  if (Halves halves = getComparisons(op, type, flush); halves.low) {
    c.compare = halves.low;
    c.compareHigh = halves.high;
  } else {
    c.compare = getComparison(op, type, flush);
  }
  if (!c.compare)
    return b.unsupportedType(type);
  unsigned wanted = with.empty() ? 3 : 4;
  if (!b.expectOperands(wanted, wanted))
    return;
  const Operand &target = b.operand(0);
  c.second = target.kind == Operand::Pair;
  if (c.compareHigh && !c.second)
    return b.error("'setp' of type ." + type.str() +
                       " needs two predicates, one for each half",
                   "syntax");
  b.writePredicate(c.second ? target.elements[0] : target);
  b.read(1, type);
  b.read(2, type);
  if (!with.empty()) {
    c.op = with == "and"  ? Combination::And
           : with == "or" ? Combination::Or
                          : Combination::Xor;
    c.negated = b.readNegatable(b.operand(3));
  }
  if (c.second)
    b.writePredicate(target.elements[1]);
  if (with.empty() && !c.second)
    return b.set(c.compare);
  b.attach(c);
  b.set(runCombined);
}

/// `set` writes all ones, or 1.0, for true. Slots: d, a, b, a predicate.
static Step runSet(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &c = *static_cast<const Combination *>(inst.data);
  Inst inner = inst;
  Slot slots[] = {inst.ops[3], inst.ops[1], inst.ops[2]};
  inner.ops = slots;
  c.compare(warp, inner, mask);
  uint32_t bits = warp.predicate(inst.ops[3]);
  uint32_t *to = warp.at<uint32_t>(inst.ops[0]);
  for (int l = 0; l < 32; ++l)
    if (mask >> l & 1)
      to[l] = bits >> l & 1 ? inst.flags : 0;
  return Step::Next;
}

static void buildSet(Build &b) {
  int op = takeComparison(b);
  bool flush = b.take("ftz");
  Type result = b.takeType(), type = b.takeType();
  Combination c;
  c.compare = getComparison(op, type, flush);
  if (!c.compare)
    return b.unsupportedType(type);
  if (result.bits != 32 || result.packed)
    return b.unsupportedType(result);
  if (!b.expectOperands(3, 3))
    return;
  b.write(0, result);
  b.read(1, type);
  b.read(2, type);
  Operand sink;
  b.writePredicate(sink);
  b.attach(c);
  b.inst.flags = result.kind == Type::Float ? 0x3f800000u : ~0u;
  b.set(runSet);
}

llvm::ArrayRef<Entry> fovea::ptx::getCompareEntries() {
  static const Entry entries[] = {{"setp", buildSetp}, {"set", buildSet}};
  return entries;
}
