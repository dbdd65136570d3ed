//===- ReductionTest.cpp - Asynchronous reductions --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "fovea/PTX/Units/Numeric.h"
#include "fovea/PTX/Units/TensorMap.h"

#include <cmath>
#include <limits>

using namespace fovea::ptx;
using namespace fovea::ptx::test;
using Type = TensorDataType;
using Op = ReduceOp;

template <typename T>
static T reduce(Op op, Type type, T target, T source) {
  CHECK_SUCCESS(checkReduction(op, type));
  reduceElements(op, type, &target, &source, 1);
  return target;
}

static void testIntegers() {
  CHECK_EQUAL(reduce<uint32_t>(Op::Add, Type::UInt32, ~0u, 2), 1u);
  CHECK_EQUAL(reduce<int32_t>(Op::Add, Type::Int32, INT32_MAX, 1), INT32_MIN);
  CHECK_EQUAL(reduce<int32_t>(Op::Min, Type::Int32, -1, 1), -1);
  CHECK_EQUAL(reduce<uint32_t>(Op::Min, Type::UInt32, ~0u, 1), 1u);
  CHECK_EQUAL(reduce<int64_t>(Op::Max, Type::Int64, -5, 1), int64_t(1));
  CHECK_EQUAL(reduce<uint64_t>(Op::Max, Type::UInt64, ~uint64_t(0), 1),
              ~uint64_t(0));
  // inc: d >= b ? 0 : d + 1; dec: d == 0 || d > b ? b : d - 1.
  CHECK_EQUAL(reduce<uint32_t>(Op::Inc, Type::UInt32, 4, 5), 5u);
  CHECK_EQUAL(reduce<uint32_t>(Op::Inc, Type::UInt32, 5, 5), 0u);
  CHECK_EQUAL(reduce<uint32_t>(Op::Dec, Type::UInt32, 0, 5), 5u);
  CHECK_EQUAL(reduce<uint32_t>(Op::Dec, Type::UInt32, 6, 5), 5u);
  CHECK_EQUAL(reduce<uint32_t>(Op::Dec, Type::UInt32, 5, 5), 4u);
  CHECK_EQUAL(reduce<uint32_t>(Op::Dec, Type::UInt32, 3, 5), 2u);
  CHECK_EQUAL(reduce<uint32_t>(Op::And, Type::UInt32, 12, 10), 8u);
  CHECK_EQUAL(reduce<uint64_t>(Op::Or, Type::UInt64, 12, 10), uint64_t(14));
  CHECK_EQUAL(reduce<int32_t>(Op::Xor, Type::Int32, 12, 10), 6);
}

static void testFloats() {
  float sums[] = {1, 2, -3}, terms[] = {0.5f, 0x1p-30f, 3};
  reduceElements(Op::Add, Type::Float32, sums, terms, 3);
  CHECK_EQUAL(sums[0], 1.5f);
  CHECK_EQUAL(sums[1], 2.0f);
  CHECK_EQUAL(sums[2], 0.0f);
  CHECK_EQUAL(reduce<double>(Op::Add, Type::Float64, 1, 0.5), 1.5);
  auto half = [](Op op, double a, double b) {
    auto bits = [](double v) {
      return uint16_t(convertFromDouble(v, ElementType::F16));
    };
    return convertToDouble(reduce(op, Type::Float16, bits(a), bits(b)),
                           ElementType::F16);
  };
  double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_EQUAL(half(Op::Add, 2048, 1), 2048.0); // Halfway, to even.
  CHECK_EQUAL(half(Op::Add, 2048, 3), 2052.0);
  CHECK_EQUAL(half(Op::Min, 1, -2), -2.0);
  CHECK_EQUAL(half(Op::Max, nan, -2), -2.0);
  CHECK_EQUAL(half(Op::Min, -2, nan), -2.0);
  CHECK_TRUE(std::signbit(half(Op::Min, 0.0, -0.0)));
  CHECK_TRUE(!std::signbit(half(Op::Max, -0.0, 0.0)));
  CHECK_EQUAL(reduce<uint16_t>(Op::Add, Type::BFloat16, 0x3f80, 0x3f80),
              uint16_t(0x4000));
}

static void testChecks() {
  CHECK_ERROR(checkReduction(Op::Inc, Type::UInt64),
              "there is no asynchronous reduction 'inc' of u64");
  CHECK_ERROR(checkReduction(Op::Min, Type::Float32), "'min' of f32");
  CHECK_ERROR(checkReduction(Op::And, Type::Float16), "'and' of f16");
  CHECK_ERROR(checkReduction(Op::Add, Type::UInt8), "'add' of u8");
  auto op = parseReduceOp("xor");
  CHECK_TRUE(bool(op) && *op == Op::Xor);
  CHECK_ERROR(parseReduceOp("mul").takeError(),
              "reduction must be add, min, max, inc, dec, and, or or xor, "
              "found 'mul'");
}

void fovea::ptx::test::testReduction() {
  testIntegers();
  testFloats();
  testChecks();
}
