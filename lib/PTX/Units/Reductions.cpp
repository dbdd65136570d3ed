//===- Reductions.cpp - Elements of asynchronous reductions -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Units/Numeric.h"
#include "fovea/PTX/Units/TensorMap.h"

#include "UnitError.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <cstring>

using namespace fovea::ptx;

static constexpr llvm::StringLiteral kNames[] = {"add", "min", "max", "inc",
                                                 "dec", "and", "or",  "xor"};

llvm::Expected<ReduceOp> fovea::ptx::parseReduceOp(llvm::StringRef name) {
  for (auto [index, known] : llvm::enumerate(kNames))
    if (known == name)
      return ReduceOp(index);
  return makeError("reduction must be add, min, max, inc, dec, and, or or xor, "
                   "found '" +
                   name + "'");
}

static bool isReducible(ReduceOp op, TensorDataType type) {
  using Type = TensorDataType;
  bool isWide = type == Type::UInt64 || type == Type::Int64;
  bool isInteger = type == Type::UInt32 || type == Type::Int32 || isWide;
  bool isShort = type == Type::Float16 || type == Type::BFloat16;
  switch (op) {
  case ReduceOp::Add:
    return isInteger || isShort || type == Type::Float32 ||
           type == Type::Float64;
  case ReduceOp::Min:
  case ReduceOp::Max:
    return isInteger || isShort;
  case ReduceOp::Inc:
  case ReduceOp::Dec:
    return type == Type::UInt32;
  case ReduceOp::And:
  case ReduceOp::Or:
  case ReduceOp::Xor:
    return isInteger;
  }
  llvm_unreachable("unknown reduction");
}

llvm::Error fovea::ptx::checkReduction(ReduceOp op, TensorDataType type) {
  if (isReducible(op, type))
    return llvm::Error::success();
  return makeError("there is no asynchronous reduction '" +
                   kNames[unsigned(op)] + "' of " + getName(type));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

template <typename T>
static T reduceInteger(ReduceOp op, T a, T b) {
  using Bits = std::make_unsigned_t<T>;
  switch (op) {
  case ReduceOp::Add:
    return T(Bits(a) + Bits(b));
  case ReduceOp::Min:
    return std::min(a, b);
  case ReduceOp::Max:
    return std::max(a, b);
  case ReduceOp::Inc:
    return a >= b ? 0 : T(a + 1);
  case ReduceOp::Dec:
    return a == 0 || a > b ? b : T(a - 1);
  case ReduceOp::And:
    return T(Bits(a) & Bits(b));
  case ReduceOp::Or:
    return T(Bits(a) | Bits(b));
  case ReduceOp::Xor:
    return T(Bits(a) ^ Bits(b));
  }
  llvm_unreachable("unknown reduction");
}

/// A double holds sums and extrema of all narrower types exactly enough for a
/// single rounding.
static double reduceDouble(ReduceOp op, double a, double b) {
  switch (op) {
  case ReduceOp::Add:
    return a + b;
  case ReduceOp::Min:
    // -0 is less than +0.
    return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
  case ReduceOp::Max:
    return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
  default:
    llvm_unreachable("not a reduction of floats");
  }
}

template <typename T, typename Function>
static void forEach(void *target, const void *source, size_t count,
                    Function reduce) {
  auto *out = static_cast<uint8_t *>(target);
  auto *in = static_cast<const uint8_t *>(source);
  for (size_t at = 0; at < count * sizeof(T); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, out + at, sizeof(T));
    std::memcpy(&b, in + at, sizeof(T));
    a = reduce(a, b);
    std::memcpy(out + at, &a, sizeof(T));
  }
}

template <typename T>
static void reduceIntegers(ReduceOp op, void *target, const void *source,
                           size_t count) {
  forEach<T>(target, source, count,
             [&](T a, T b) { return reduceInteger<T>(op, a, b); });
}

static void reduceShorts(ReduceOp op, ElementType type, void *target,
                         const void *source, size_t count) {
  forEach<uint16_t>(target, source, count, [&](uint16_t a, uint16_t b) {
    double result =
        reduceDouble(op, convertToDouble(a, type), convertToDouble(b, type));
    return uint16_t(convertFromDouble(result, type));
  });
}

void fovea::ptx::reduceElements(ReduceOp op, TensorDataType type, void *target,
                                const void *source, size_t count) {
  switch (type) {
  case TensorDataType::UInt32:
    return reduceIntegers<uint32_t>(op, target, source, count);
  case TensorDataType::Int32:
    return reduceIntegers<int32_t>(op, target, source, count);
  case TensorDataType::UInt64:
    return reduceIntegers<uint64_t>(op, target, source, count);
  case TensorDataType::Int64:
    return reduceIntegers<int64_t>(op, target, source, count);
  case TensorDataType::Float16:
    return reduceShorts(op, ElementType::F16, target, source, count);
  case TensorDataType::BFloat16:
    return reduceShorts(op, ElementType::BF16, target, source, count);
  case TensorDataType::Float32:
    return forEach<float>(target, source, count,
                          [](float a, float b) { return canonicalize(a + b); });
  case TensorDataType::Float64:
    return forEach<double>(target, source, count,
                           [](double a, double b) { return a + b; });
  default:
    llvm_unreachable("checkReduction refuses the type");
  }
}
