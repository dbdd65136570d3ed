//===- InstructionsInteger.cpp - Integers, bits and comparisons -----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integer arithmetic, shifts, bit fields, permutations, and selections.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SwapByteOrder.h"

using namespace fovea::ptx;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Semantics
//===----------------------------------------------------------------------===//

// Division by zero gives all ones, as on GPUs; the ISA leaves it undefined.
namespace {
template <class T>
using U = std::make_unsigned_t<T>;
template <class T>
T add(T a, T b) {
  return T(U<T>(a) + U<T>(b));
}
template <class T>
T sub(T a, T b) {
  return T(U<T>(a) - U<T>(b));
}
template <class T>
T mulLow(T a, T b) {
  return T(uint64_t(int64_t(a)) * uint64_t(int64_t(b)));
}
template <class T>
T mulHigh(T a, T b) {
  using Wide =
      std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return T((Wide(a) * Wide(b)) >> (8 * sizeof(T)));
}
template <class T, class W>
W mulWide(T a, T b) {
  return W(a) * W(b);
}
template <class T>
T madLow(T a, T b, T c) {
  return add(mulLow(a, b), c);
}
template <class T>
T madHigh(T a, T b, T c) {
  return add(mulHigh(a, b), c);
}
template <class T, class W>
W madWide(T a, T b, W c) {
  return add<W>(W(a) * W(b), c);
}
template <class T>
T divide(T a, T b) {
  if (b == 0)
    return T(-1);
  if (std::is_signed_v<T> && b == T(-1))
    return sub<T>(0, a);
  return a / b;
}
template <class T>
T remainder(T a, T b) {
  if (b == 0)
    return a;
  if (std::is_signed_v<T> && b == T(-1))
    return 0;
  return a % b;
}
template <class T>
T minimum(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T maximum(T a, T b) {
  return a < b ? b : a;
}
template <class T>
T minimumRelu(T a, T b) {
  return maximum<T>(0, minimum(a, b));
}
template <class T>
T maximumRelu(T a, T b) {
  return maximum<T>(0, maximum(a, b));
}
template <class T>
T negate(T a) {
  return sub<T>(0, a);
}
template <class T>
T absolute(T a) {
  return a < 0 ? negate(a) : a;
}
int32_t addSaturate(int32_t a, int32_t b) {
  int64_t sum = int64_t(a) + b;
  return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
}
int32_t subSaturate(int32_t a, int32_t b) {
  int64_t sum = int64_t(a) - b;
  return sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
}
template <class T, class D>
D sumOfDifferences(T a, T b, D c) {
  return c + (a < b ? D(b) - D(a) : D(a) - D(b));
}
template <class T, T (*F)(T, T)>
uint32_t pairs(uint32_t a, uint32_t b) {
  uint16_t low = F(T(a), T(b)), high = F(T(a >> 16), T(b >> 16));
  return low | uint32_t(high) << 16;
}

template <class T>
T bitAnd(T a, T b) {
  return a & b;
}
template <class T>
T bitOr(T a, T b) {
  return a | b;
}
template <class T>
T bitXor(T a, T b) {
  return a ^ b;
}
template <class T>
T bitNot(T a) {
  return ~a;
}
template <class T>
T logicalNot(T a) {
  return a == 0;
}
bool predAnd(bool a, bool b) { return a & b; }
bool predOr(bool a, bool b) { return a | b; }
bool predXor(bool a, bool b) { return a ^ b; }
bool predNot(bool a) { return !a; }

// Shifts by more than the width give zero or the sign.
template <class T>
T shiftLeft(T a, uint32_t n) {
  return n >= 8 * sizeof(T) ? 0 : T(a << n);
}
template <class T>
T shiftRight(T a, uint32_t n) {
  constexpr uint32_t width = 8 * sizeof(T);
  if (std::is_signed_v<T>)
    return a >> (n >= width ? width - 1 : n);
  return n >= width ? 0 : a >> n;
}
uint32_t funnelLeft(uint32_t flags, uint32_t low, uint32_t high, uint32_t n) {
  n = flags ? std::min(n, 32u) : n & 31;
  uint64_t both = uint64_t(high) << 32 | low;
  return uint32_t((both << n) >> 32);
}
uint32_t funnelRight(uint32_t flags, uint32_t low, uint32_t high, uint32_t n) {
  n = flags ? std::min(n, 32u) : n & 31;
  uint64_t both = uint64_t(high) << 32 | low;
  return uint32_t(both >> n);
}

template <class T>
uint32_t countOnes(T a) {
  return __builtin_popcountll(a);
}
template <class T>
uint32_t leadingZeros(T a) {
  return llvm::countl_zero(a);
}
template <class T>
T reverse(T a) {
  return llvm::reverseBits(a);
}
template <class T>
uint32_t findBit(uint32_t shiftAmount, T a) {
  U<T> bits = std::is_signed_v<T> && a < 0 ? ~U<T>(a) : U<T>(a);
  if (!bits)
    return ~0u;
  uint32_t position = 8 * sizeof(T) - 1 - llvm::countl_zero(bits);
  return shiftAmount ? 8 * sizeof(T) - 1 - position : position;
}
template <class T>
T extract(T a, uint32_t position, uint32_t length) {
  constexpr uint32_t width = 8 * sizeof(T);
  position &= 0xff;
  length &= 0xff;
  U<T> bits = position >= width ? 0 : U<T>(a) >> position;
  bool negative = false;
  if (std::is_signed_v<T> && length) {
    uint32_t top = std::min(position + length - 1, width - 1);
    negative = U<T>(a) >> top & 1;
  }
  if (length >= width)
    return T(negative && position
                 ? bits | ~(position >= width ? U<T>(0) : U<T>(-1) >> position)
                 : bits);
  U<T> mask = (U<T>(1) << length) - 1;
  return T(negative ? (bits & mask) | ~mask : bits & mask);
}
template <class T>
T insert(T a, T b, uint32_t position, uint32_t length) {
  constexpr uint32_t width = 8 * sizeof(T);
  position &= 0xff;
  length &= 0xff;
  if (position >= width || !length)
    return b;
  T mask = (length >= width ? T(-1) : (T(1) << length) - 1) << position;
  return (b & ~mask) | ((a << position) & mask);
}
uint32_t lookup3(uint32_t table, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (int n = 0; n < 8; ++n)
    if (table >> n & 1)
      result |= (n & 4 ? a : ~a) & (n & 2 ? b : ~b) & (n & 1 ? c : ~c);
  return result;
}
uint32_t permute(uint32_t mode, uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = uint64_t(b) << 32 | a;
  auto byte = [&](unsigned n) {
    return uint32_t(bytes >> (8 * (n & 7)) & 255);
  };
  uint32_t result = 0;
  unsigned s = selector & 3;
  for (unsigned n = 0; n < 4; ++n) {
    uint32_t value = 0;
    switch (mode) {
    case 0: {
      uint32_t pick = selector >> (4 * n) & 15;
      value = byte(pick);
      if (pick & 8)
        value = value & 0x80 ? 0xff : 0;
      break;
    }
    case 1: // f4e
      value = byte(s + n);
      break;
    case 2: // b4e
      value = byte(s - n);
      break;
    case 3: // rc8
      value = byte(s);
      break;
    case 4: // ecl
      value = byte(std::max(s, n));
      break;
    case 5: // ecr
      value = byte(std::min(s, n));
      break;
    case 6: // rc16
      value = byte((s & 1) * 2 + (n & 1));
      break;
    }
    result |= value << (8 * n);
  }
  return result;
}
template <class A, class B>
int32_t dot4(uint32_t a, uint32_t b, int32_t c) {
  uint32_t sum = c;
  for (int n = 0; n < 4; ++n)
    sum += int32_t(A(a >> (8 * n))) * int32_t(B(b >> (8 * n)));
  return sum;
}
uint32_t makeMask(uint32_t clamp, uint32_t a, uint32_t b) {
  if (!clamp) {
    a &= 31;
    b &= 31;
  }
  uint32_t ones = b >= 32 ? ~0u : (1u << b) - 1;
  return a >= 32 ? 0 : ones << a;
}
template <class T>
T select(T a, T b, bool p) {
  return p ? a : b;
}
} // namespace

//===----------------------------------------------------------------------===//
// Builders
//===----------------------------------------------------------------------===//

/// Handlers for each integer type, null for unsupported types.
struct ByType {
  Handler u16, s16, u32, s32, u64, s64;
  Handler get(Type type) const {
    if (type.packed)
      return nullptr;
    bool sign = type.kind == Type::Signed;
    switch (type.bits) {
    case 16:
      return sign ? s16 : u16;
    case 32:
      return sign ? s32 : u32;
    case 64:
      return sign ? s64 : u64;
    }
    return nullptr;
  }
};

#define ALL_TYPES(F)                                                           \
  ByType {                                                                     \
    map<F<uint16_t>>, map<F<int16_t>>, map<F<uint32_t>>, map<F<int32_t>>,      \
        map<F<uint64_t>>, map<F<int64_t>>                                      \
  }

static void setByType(Build &b, const ByType &handlers, Type type) {
  if (Handler handler = handlers.get(type))
    b.set(handler);
  else
    b.unsupportedType(type);
}

static Type takeIntegerType(Build &b) {
  Type type = b.takeType();
  if (type && !type.isInteger())
    b.unsupportedType(type);
  return type;
}

/// `d, a, b ...` of one type.
static void sameOperands(Build &b, Type type, unsigned sources) {
  if (!b.expectOperands(sources + 1, sources + 1))
    return;
  b.write(0, type);
  for (unsigned n = 1; n <= sources; ++n)
    b.read(n, type);
}

template <int which>
static void buildAddSub(Build &b) {
  if (b.hasFloatType())
    return buildFloat(b);
  bool saturate = b.take("sat");
  Type type = takeIntegerType(b);
  sameOperands(b, type, 2);
  if (type.packed && type.bits == 32 && !which)
    return b.set(map<pairs<uint16_t, add<uint16_t>>>);
  if (saturate && type == Type{Type::Signed, 32})
    return b.set(which ? map<subSaturate> : map<addSaturate>);
  if (saturate)
    return b.unsupportedType(type);
  if (which)
    setByType(b, ALL_TYPES(sub), type);
  else
    setByType(b, ALL_TYPES(add), type);
}

static void buildMul(Build &b) {
  if (b.hasFloatType())
    return buildFloat(b);
  StringRef part = b.needOneOf({"lo", "hi", "wide"});
  Type type = takeIntegerType(b);
  if (part != "wide") {
    sameOperands(b, type, 2);
    return part == "lo" ? setByType(b, ALL_TYPES(mulLow), type)
                        : setByType(b, ALL_TYPES(mulHigh), type);
  }
  if (!b.expectOperands(3, 3))
    return;
  b.write(0, {type.kind, uint16_t(2 * type.bits)});
  b.read(1, type);
  b.read(2, type);
  setByType(b,
            {map<mulWide<uint16_t, uint32_t>>, map<mulWide<int16_t, int32_t>>,
             map<mulWide<uint32_t, uint64_t>>, map<mulWide<int32_t, int64_t>>,
             nullptr, nullptr},
            type);
}

static void buildMad(Build &b) {
  if (b.hasFloatType())
    return buildFloat(b);
  StringRef part = b.needOneOf({"lo", "hi", "wide"});
  Type type = takeIntegerType(b);
  if (part != "wide") {
    sameOperands(b, type, 3);
    return part == "lo" ? setByType(b, ALL_TYPES(madLow), type)
                        : setByType(b, ALL_TYPES(madHigh), type);
  }
  if (!b.expectOperands(4, 4))
    return;
  Type wide{type.kind, uint16_t(2 * type.bits)};
  b.write(0, wide);
  b.read(1, type);
  b.read(2, type);
  b.read(3, wide);
  setByType(b,
            {map<madWide<uint16_t, uint32_t>>, map<madWide<int16_t, int32_t>>,
             map<madWide<uint32_t, uint64_t>>, map<madWide<int32_t, int64_t>>,
             nullptr, nullptr},
            type);
}

static void buildDiv(Build &b) {
  if (b.hasFloatType())
    return buildFloat(b);
  Type type = takeIntegerType(b);
  sameOperands(b, type, 2);
  setByType(b, ALL_TYPES(divide), type);
}

static void buildRem(Build &b) {
  Type type = takeIntegerType(b);
  sameOperands(b, type, 2);
  setByType(b, ALL_TYPES(remainder), type);
}

template <bool largest>
static void buildMinMax(Build &b) {
  if (b.hasFloatType())
    return buildFloat(b);
  bool relu = b.take("relu");
  Type type = takeIntegerType(b);
  sameOperands(b, type, 2);
  if (type.packed && !relu)
    return b.set(type.kind == Type::Signed
                     ? (largest ? map<pairs<int16_t, maximum<int16_t>>>
                                : map<pairs<int16_t, minimum<int16_t>>>)
                     : (largest ? map<pairs<uint16_t, maximum<uint16_t>>>
                                : map<pairs<uint16_t, minimum<uint16_t>>>));
  if (type.packed && type.kind == Type::Signed)
    return b.set(largest ? map<pairs<int16_t, maximumRelu<int16_t>>>
                         : map<pairs<int16_t, minimumRelu<int16_t>>>);
  if (relu && type == Type{Type::Signed, 32})
    return b.set(largest ? map<maximumRelu<int32_t>>
                         : map<minimumRelu<int32_t>>);
  if (relu)
    return b.unsupportedType(type);
  if (largest)
    setByType(b, ALL_TYPES(maximum), type);
  else
    setByType(b, ALL_TYPES(minimum), type);
}

template <bool absoluteValue>
static void buildNegAbs(Build &b) {
  if (b.hasFloatType())
    return buildFloat(b);
  Type type = takeIntegerType(b);
  if (type.kind == Type::Unsigned)
    return b.unsupportedType(type);
  sameOperands(b, type, 1);
  if (absoluteValue)
    setByType(b, ALL_TYPES(absolute), type);
  else
    setByType(b, ALL_TYPES(negate), type);
}

static void buildSad(Build &b) {
  Type type = takeIntegerType(b);
  sameOperands(b, type, 3);
  setByType(b,
            {map<sumOfDifferences<uint16_t, uint16_t>>,
             map<sumOfDifferences<int16_t, int16_t>>,
             map<sumOfDifferences<uint32_t, uint32_t>>,
             map<sumOfDifferences<int32_t, int32_t>>,
             map<sumOfDifferences<uint64_t, uint64_t>>,
             map<sumOfDifferences<int64_t, int64_t>>},
            type);
}

static void buildLogic(Build &b) {
  Type type = b.takeType();
  bool unary = b.name == "not" || b.name == "cnot";
  sameOperands(b, type, unary ? 1 : 2);
  if (type.kind != Type::Pred && type.kind != Type::Bits)
    return b.unsupportedType(type);
#define LOGIC(PRED, F)                                                         \
  {                                                                            \
    if (type.kind == Type::Pred)                                               \
      return b.set(PRED);                                                      \
    return setByType(b,                                                        \
                     {map<F<uint16_t>>, nullptr, map<F<uint32_t>>, nullptr,    \
                      map<F<uint64_t>>, nullptr},                              \
                     type);                                                    \
  }
  if (b.name == "and")
    LOGIC(map<predAnd>, bitAnd)
  if (b.name == "or")
    LOGIC(map<predOr>, bitOr)
  if (b.name == "xor")
    LOGIC(map<predXor>, bitXor)
  if (b.name == "not")
    LOGIC(map<predNot>, bitNot)
  LOGIC(nullptr, logicalNot)
#undef LOGIC
}

static void buildShift(Build &b) {
  Type type = b.takeType();
  if (!b.expectOperands(3, 3))
    return;
  b.write(0, type);
  b.read(1, type);
  b.read(2, {Type::Bits, 32});
  if (b.name == "shl") {
    if (type.kind != Type::Bits)
      return b.unsupportedType(type);
    return setByType(b,
                     {map<shiftLeft<uint16_t>>, nullptr,
                      map<shiftLeft<uint32_t>>, nullptr,
                      map<shiftLeft<uint64_t>>, nullptr},
                     type);
  }
  setByType(b, ALL_TYPES(shiftRight), type);
}

static void buildFunnel(Build &b) {
  StringRef way = b.needOneOf({"l", "r"}),
            mode = b.needOneOf({"clamp", "wrap"});
  b.need("b32");
  sameOperands(b, {Type::Bits, 32}, 3);
  b.inst.flags = mode == "clamp";
  b.set(way == "l" ? mapWithFlags<funnelLeft> : mapWithFlags<funnelRight>);
}

static void buildCount(Build &b) {
  Type type = b.takeType();
  if (!b.expectOperands(2, 2))
    return;
  b.write(0, {Type::Unsigned, 32});
  b.read(1, type);
  if (type.kind != Type::Bits || type.bits < 32)
    return b.unsupportedType(type);
  if (b.name == "popc")
    b.set(type.bits == 64 ? map<countOnes<uint64_t>>
                          : map<countOnes<uint32_t>>);
  else
    b.set(type.bits == 64 ? map<leadingZeros<uint64_t>>
                          : map<leadingZeros<uint32_t>>);
}

static void buildReverse(Build &b) {
  Type type = b.takeType();
  sameOperands(b, type, 1);
  if (type.kind != Type::Bits || type.bits < 32)
    return b.unsupportedType(type);
  b.set(type.bits == 64 ? map<reverse<uint64_t>> : map<reverse<uint32_t>>);
}

static void buildFind(Build &b) {
  b.inst.flags = b.take("shiftamt");
  Type type = takeIntegerType(b);
  if (!b.expectOperands(2, 2))
    return;
  b.write(0, {Type::Unsigned, 32});
  b.read(1, type);
  setByType(b,
            {nullptr, nullptr, mapWithFlags<findBit<uint32_t>>,
             mapWithFlags<findBit<int32_t>>, mapWithFlags<findBit<uint64_t>>,
             mapWithFlags<findBit<int64_t>>},
            type);
}

static void buildExtract(Build &b) {
  Type type = takeIntegerType(b);
  if (!b.expectOperands(4, 4))
    return;
  b.write(0, type);
  b.read(1, type);
  b.read(2, {Type::Bits, 32});
  b.read(3, {Type::Bits, 32});
  setByType(b,
            {nullptr, nullptr, map<extract<uint32_t>>, map<extract<int32_t>>,
             map<extract<uint64_t>>, map<extract<int64_t>>},
            type);
}

static void buildInsert(Build &b) {
  Type type = b.takeType();
  if (!b.expectOperands(5, 5))
    return;
  b.write(0, type);
  b.read(1, type);
  b.read(2, type);
  b.read(3, {Type::Bits, 32});
  b.read(4, {Type::Bits, 32});
  if (type.kind != Type::Bits || type.bits < 32)
    return b.unsupportedType(type);
  b.set(type.bits == 64 ? map<insert<uint64_t>> : map<insert<uint32_t>>);
}

static void buildLookup(Build &b) {
  b.need("b32");
  if (!b.expectOperands(5, 5))
    return;
  for (unsigned n = 0; n < 4; ++n)
    n ? b.read(n, {Type::Bits, 32}) : b.write(n, {Type::Bits, 32});
  int64_t table = b.constant(b.operand(4));
  if (table < 0 || table > 255)
    b.error(b.operand(4).loc, "the table of 'lop3' must be from 0 to 255");
  b.inst.flags = table;
  b.set(mapWithFlags<lookup3>);
}

static void buildPermute(Build &b) {
  b.need("b32");
  StringRef mode = b.takeOneOf({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  sameOperands(b, {Type::Bits, 32}, 3);
  b.inst.flags = llvm::StringSwitch<uint32_t>(mode)
                     .Case("f4e", 1)
                     .Case("b4e", 2)
                     .Case("rc8", 3)
                     .Case("ecl", 4)
                     .Case("ecr", 5)
                     .Case("rc16", 6)
                     .Default(0);
  b.set(mapWithFlags<permute>);
}

static void buildDot4(Build &b) {
  Type a = takeIntegerType(b), c = takeIntegerType(b);
  if (!b.expectOperands(4, 4))
    return;
  b.write(0, {Type::Bits, 32});
  for (unsigned n = 1; n < 4; ++n)
    b.read(n, {Type::Bits, 32});
  if (a.bits != 32 || c.bits != 32)
    return b.unsupportedType(a.bits != 32 ? a : c);
  bool signedA = a.kind == Type::Signed, signedB = c.kind == Type::Signed;
  b.set(signedA
            ? (signedB ? map<dot4<int8_t, int8_t>> : map<dot4<int8_t, uint8_t>>)
            : (signedB ? map<dot4<uint8_t, int8_t>>
                       : map<dot4<uint8_t, uint8_t>>));
}

static void buildMask(Build &b) {
  b.inst.flags = b.needOneOf({"clamp", "wrap"}) == "clamp";
  b.need("b32");
  sameOperands(b, {Type::Bits, 32}, 2);
  b.set(mapWithFlags<makeMask>);
}

static void buildSelect(Build &b) {
  Type type = b.takeType();
  if (!b.expectOperands(4, 4))
    return;
  b.write(0, type);
  // `selp d, a, b, !p` is `selp d, b, a, p`.
  bool negated = b.operand(3).negated;
  b.read(negated ? 2 : 1, type);
  b.read(negated ? 1 : 2, type);
  b.readNegatable(b.operand(3));
  switch (type.packed ? 0 : type.bits) {
  case 16:
    return b.set(map<select<uint16_t>>);
  case 32:
    return b.set(map<select<uint32_t>>);
  case 64:
    return b.set(map<select<uint64_t>>);
  }
  b.unsupportedType(type);
}

llvm::ArrayRef<Entry> fovea::ptx::getIntegerEntries() {
  static const Entry entries[] = {
      {"add", buildAddSub<0>},     {"sub", buildAddSub<1>},
      {"mul", buildMul},           {"mad", buildMad},
      {"div", buildDiv},           {"rem", buildRem},
      {"min", buildMinMax<false>}, {"max", buildMinMax<true>},
      {"neg", buildNegAbs<false>}, {"abs", buildNegAbs<true>},
      {"sad", buildSad},           {"and", buildLogic},
      {"or", buildLogic},          {"xor", buildLogic},
      {"not", buildLogic},         {"cnot", buildLogic},
      {"shl", buildShift},         {"shr", buildShift},
      {"shf", buildFunnel},        {"popc", buildCount},
      {"clz", buildCount},         {"brev", buildReverse},
      {"bfind", buildFind},        {"bfe", buildExtract},
      {"bfi", buildInsert},        {"lop3", buildLookup},
      {"prmt", buildPermute},      {"dp4a", buildDot4},
      {"bmsk", buildMask},         {"selp", buildSelect},
  };
  return entries;
}
