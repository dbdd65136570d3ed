//===- RandomMask.cpp - Random mask_mod regions -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomMask.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace fovea::test;

namespace {
enum class Type { Index, I64, I32, I8 };

const char *getName(Type type) {
  switch (type) {
  case Type::Index:
    return "index";
  case Type::I64:
    return "i64";
  case Type::I32:
    return "i32";
  case Type::I8:
    return "i8";
  }
  return "";
}

int getWidth(Type type) {
  return type == Type::I8 ? 8 : type == Type::I32 ? 32 : 64;
}

bool isWide(Type type) { return getWidth(type) == 64; }

/// Bound on 64-bit values, which must not overflow.
constexpr double kLimit = 1LL << 60;

/// A value of the mask and the bound on its magnitude.
struct Operand {
  std::string name;
  double bound;
};

class Generator {
public:
  explicit Generator(Random &random) : random(random) {}

  std::string condition(int depth);
  std::string body;
  bool readsPositions = false;

private:
  using Op = const char *;

  std::string emit(const std::string &text);
  Operand constant(int64_t value, Type type);
  Operand cast(Operand value, Type from, Type to);
  Operand coordinate(Type type);
  Operand uniform(Type type);
  Operand element(Type type);
  Operand leaf(Type type);
  Operand expression(Type type, int depth);
  Operand sum(Type type, Operand x, Operand y);
  Operand product(Type type, Operand x, int depth);
  Operand quotient(Type type, Operand x, int depth);
  Operand bits(Type type, Operand x, Operand y);
  Operand shift(Type type, Operand x, int depth);
  Operand count(Type type, Operand x);
  Operand selection(Type type, Operand x, Operand y, int depth);
  /// A divisor: not zero, and not -1, which may overflow.
  Operand divisor(Type type, int depth);
  std::string compare(int depth);

  static double getBound(Type type) {
    return std::ldexp(1, getWidth(type) - 1);
  }
  std::string binary(Op op, const Operand &x, const Operand &y, Type type) {
    return emit(std::string("arith.") + op + " " + x.name + ", " + y.name +
                " : " + getName(type));
  }
  Type anyType() {
    return random.pick({Type::Index, Type::Index, Type::Index, Type::I64,
                        Type::I32, Type::I32, Type::I8});
  }

  Random &random;
  int numValues = 0;
};
} // namespace

std::string Generator::emit(const std::string &text) {
  std::string name = "%v" + std::to_string(numValues++);
  body += "      " + name + " = " + text + "\n";
  return name;
}

Operand Generator::constant(int64_t value, Type type) {
  int64_t half =
      isWide(type) ? INT64_MAX : (int64_t(1) << (getWidth(type) - 1)) - 1;
  // Avoid the minimum, because upstream folds its quotients incorrectly.
  value = std::clamp(value, -half, half);
  return {
      emit("arith.constant " + std::to_string(value) + " : " + getName(type)),
      std::abs(double(value))};
}

Operand Generator::cast(Operand value, Type from, Type to) {
  if (from == to)
    return value;
  // Upstream folds a cast from index and back, although it truncates. A mask
  // that was canonicalized may then overflow.
  if (from == Type::Index && !isWide(to) && value.bound > getBound(to))
    return cast(cast(value, Type::Index, Type::I64), Type::I64, to);
  bool fromIndex = from == Type::Index, toIndex = to == Type::Index;
  const char *op;
  bool isUnsigned = random.chance(25) && value.bound < kLimit;
  if (fromIndex || toIndex)
    op = isUnsigned ? "index_castui" : "index_cast";
  else if (getWidth(from) > getWidth(to))
    op = "trunci", isUnsigned = false;
  else
    op = isUnsigned ? "extui" : "extsi";
  double bound = std::min(value.bound, getBound(to));
  if (isUnsigned)
    bound = std::min(std::ldexp(1, getWidth(from)), getBound(to));
  if (isUnsigned && isWide(from))
    bound = getBound(to);
  return {emit(std::string("arith.") + op + " " + value.name + " : " +
               getName(from) + " to " + getName(to)),
          bound};
}

Operand Generator::coordinate(Type type) {
  Operand position = {random.pick({"%i", "%j"}), double(1 << 30)};
  return cast(position, Type::Index, type);
}

Operand Generator::uniform(Type type) {
  switch (random.below(8)) {
  case 0: {
    std::string name = emit("tensor.extract %l[%b] : tensor<?xi32>");
    return cast({name, getBound(Type::I32)}, Type::I32, type);
  }
  case 1:
    return cast({"%w", getBound(Type::I32)}, Type::I32, type);
  case 2:
    return cast({"%x", getBound(Type::Index)}, Type::Index, type);
  case 3: {
    std::string name =
        emit(random.pick({"attn.query_length", "attn.key_length"}));
    return cast({name, double(1 << 30)}, Type::Index, type);
  }
  case 4:
    return cast({random.pick({"%b", "%h"}), 8}, Type::Index, type);
  case 5:
    return constant(random.between(-40, 200), type);
  case 6:
    return constant(random.pick<int64_t>({-1, 0, 1, 2, 7, 8, 15, 16, 64, 100,
                                          -3, -16, INT32_MAX, INT32_MIN}),
                    type);
  default:
    return constant(random.between(-3, 70), type);
  }
}

/// An element of a captured tensor at the query or the key.
Operand Generator::element(Type type) {
  readsPositions = true;
  std::string at = random.pick({"%i", "%j"});
  if (random.chance(15))
    return cast({emit("tensor.extract %e[" + at + "] : tensor<?xi8>"), 128},
                Type::I8, type);
  std::string name =
      emit("tensor.extract %d[%b, " + at + "] : tensor<?x?xi32>");
  return cast({name, getBound(Type::I32)}, Type::I32, type);
}

Operand Generator::leaf(Type type) {
  int64_t kind = random.below(20);
  if (kind == 0)
    return element(type);
  return kind < 14 ? coordinate(type) : uniform(type);
}

Operand Generator::sum(Type type, Operand x, Operand y) {
  double bound = x.bound + y.bound;
  if (isWide(type) && bound > kLimit)
    return x;
  return {binary(random.pick({"addi", "subi"}), x, y, type),
          std::min(bound, getBound(type))};
}

Operand Generator::product(Type type, Operand x, int depth) {
  Operand y = random.chance(70) ? constant(random.between(-4, 12), type)
                                : expression(type, depth - 1);
  double bound = x.bound * y.bound;
  if (isWide(type) && bound > kLimit)
    return x;
  return {binary("muli", x, y, type), std::min(bound, getBound(type))};
}

Operand Generator::divisor(Type type, int depth) {
  if (random.chance(65))
    return constant(random.pick<int64_t>({1, 2, 3, 5, 7, 8, 10, 16, 32, 60, 64,
                                          100, -2, -3, -8, -20}),
                    type);
  Operand any = random.chance(50) ? uniform(type) : expression(type, depth - 1);
  if (random.chance(70))
    return {binary("maxsi", any, constant(1, type), type), any.bound};
  Operand negative = {binary("minsi", any, constant(-2, type), type),
                      std::max(any.bound, 2.0)};
  return negative;
}

Operand Generator::quotient(Type type, Operand x, int depth) {
  Operand y = divisor(type, depth);
  Op op = random.pick({"divsi", "divui", "floordivsi", "floordivsi",
                       "ceildivsi", "ceildivui", "remsi", "remsi", "remui"});
  std::string text = op;
  bool isUnsigned = text.back() == 'i' && text[text.size() - 2] == 'u';
  // Read as unsigned, a negative number is large.
  double bound = isUnsigned ? getBound(type) : x.bound + 1;
  return {binary(op, x, y, type), bound};
}

Operand Generator::bits(Type type, Operand x, Operand y) {
  if (random.chance(50))
    y = constant(random.pick<int64_t>({-1, 1, 3, 7, 12, 63, 96, -8, 127}),
                 type);
  double larger = std::max({x.bound, y.bound, 1.0});
  double bound = std::ldexp(1, int(std::ceil(std::log2(larger))) + 1);
  return {
      binary(random.pick({"andi", "andi", "ori", "xori", "xori"}), x, y, type),
      std::min(bound, getBound(type))};
}

Operand Generator::shift(Type type, Operand x, int depth) {
  int64_t largest = std::min(getWidth(type) - 1, 40);
  int64_t most = random.pick<int64_t>({1, 3, 4, largest});
  Operand amount = constant(random.between(0, std::min(most, largest)), type);
  if (random.chance(30)) {
    Operand any = expression(type, depth - 1);
    int64_t width = random.pick<int64_t>({3, 5, std::min(getWidth(type), 32)});
    amount = {binary("remui", any, constant(width, type), type),
              double(width - 1)};
  }
  Op op = random.pick({"shli", "shrsi", "shrui"});
  if (op == std::string("shli")) {
    double bound = x.bound * std::ldexp(1, int(amount.bound));
    if (isWide(type) && bound > kLimit)
      return x;
    return {binary(op, x, amount, type), std::min(bound, getBound(type))};
  }
  return {binary(op, x, amount, type),
          op == std::string("shrui") ? getBound(type) : x.bound};
}

Operand Generator::count(Type type, Operand x) {
  if (type == Type::Index)
    return x;
  std::string op = random.pick({"absi", "absi", "ctpop", "ctlz", "cttz"});
  if (op == "absi" && isWide(type) && x.bound > kLimit)
    return x;
  return {emit("math." + op + " " + x.name + " : " + getName(type)),
          op == "absi" ? x.bound : 64.0};
}

Operand Generator::selection(Type type, Operand x, Operand y, int depth) {
  std::string choice = condition(std::min(depth - 1, 1));
  return {emit("arith.select " + choice + ", " + x.name + ", " + y.name +
               " : " + getName(type)),
          std::max(x.bound, y.bound)};
}

Operand Generator::expression(Type type, int depth) {
  if (depth <= 0 || random.chance(15))
    return leaf(type);
  if (random.chance(15)) {
    Type other = anyType();
    return cast(expression(other, depth - 1), other, type);
  }
  Operand x = expression(type, depth - 1);
  int64_t kind = random.below(20);
  if (kind < 2)
    return product(type, x, depth);
  if (kind < 7)
    return quotient(type, x, depth);
  if (kind < 9)
    return shift(type, x, depth);
  if (kind < 10)
    return count(type, x);
  if (kind < 11) {
    std::string choice = condition(0);
    return cast({emit(std::string("arith.") + random.pick({"extui", "extsi"}) +
                      " " + choice + " : i1 to i32"),
                 1},
                Type::I32, type);
  }
  Operand y = expression(type, depth - 1);
  if (kind < 14)
    return sum(type, x, y);
  if (kind < 16)
    return bits(type, x, y);
  if (kind < 18)
    return {
        binary(random.pick({"minsi", "maxsi", "minui", "maxui"}), x, y, type),
        std::max(x.bound, y.bound)};
  return selection(type, x, y, depth);
}

std::string Generator::compare(int depth) {
  Type type = anyType();
  Operand x = expression(type, depth);
  Operand y = random.chance(40) ? uniform(type) : expression(type, depth - 1);
  if (random.chance(50))
    std::swap(x, y);
  std::string predicate = random.pick(
      {"slt", "sle", "sgt", "sge", "eq", "ne", "ult", "ule", "ugt", "uge"});
  return emit("arith.cmpi " + predicate + ", " + x.name + ", " + y.name +
              " : " + getName(type));
}

std::string Generator::condition(int depth) {
  if (depth <= 0 || random.chance(25)) {
    if (random.chance(6)) {
      readsPositions = true;
      return emit("tensor.extract %p[%b, " +
                  std::string(random.pick({"%i", "%j"})) +
                  "] : tensor<?x?xi1>");
    }
    if (random.chance(4)) {
      Type type = random.pick({Type::I64, Type::I32});
      return emit("arith.trunci " + expression(type, 1).name + " : " +
                  getName(type) + " to i1");
    }
    if (random.chance(10))
      return emit("arith.cmpi sge, %i, %j : index");
    return compare(int(random.between(0, 3)));
  }
  std::string x = condition(depth - 1);
  if (random.chance(12))
    return emit("arith.xori " + x + ", " + emit("arith.constant true") +
                " : i1");
  std::string y = condition(depth - 1);
  if (random.chance(10))
    return emit("arith.select " + compare(1) + ", " + x + ", " + y + " : i1");
  if (random.chance(6))
    return emit(std::string("arith.cmpi ") +
                random.pick({"eq", "ne", "ult", "uge", "slt", "sle"}) + ", " +
                x + ", " + y + " : i1");
  return emit(std::string("arith.") +
              random.pick({"andi", "andi", "andi", "ori", "ori", "xori",
                           "minsi", "maxui"}) +
              " " + x + ", " + y + " : i1");
}

RandomMask fovea::test::makeRandomMask(Random &random) {
  Generator generator(random);
  std::string result = generator.condition(int(random.between(0, 2)));
  RandomMask mask;
  mask.readsPositions = generator.readsPositions;
  mask.source =
      "!t = tensor<?x?x?x16xf32>\n"
      "func.func @mask(%q: !t, %lse: tensor<?x?x?xf32>, %w: i32, %x: index, "
      "%l: tensor<?xi32>, "
      "%d: tensor<?x?xi32>, %e: tensor<?xi8>, %p: tensor<?x?xi1>) -> !t {\n"
      "  %o = attn.backward %q, %q, %q, %q, %lse, %q gradients(k) "
      "captures(%w, %x, %l, %d, %e, %p : i32, "
      "index, tensor<?xi32>, tensor<?x?xi32>, tensor<?xi8>, tensor<?x?xi1>)\n"
      "    mask_mod(%b: index, %h: index, %i: index, %j: index, %w: i32, "
      "%x: index, %l: tensor<?xi32>, %d: tensor<?x?xi32>, %e: tensor<?xi8>, "
      "%p: tensor<?x?xi1>) {\n" +
      generator.body + "      attn.yield " + result +
      " : i1\n"
      "    } : !t, !t, !t, !t, tensor<?x?x?xf32>, !t -> !t\n"
      "  return %o : !t\n"
      "}\n";
  return mask;
}
