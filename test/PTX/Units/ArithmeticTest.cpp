//===- ArithmeticTest.cpp - Products of matrices ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "fovea/PTX/Units/MatrixArithmetic.h"

#include <cmath>
#include <limits>
#include <vector>

using namespace fovea::ptx;
using namespace fovea::ptx::test;

static std::vector<AccumulationModel> getModels() {
  return {AccumulationModel::getWide(),
          getGPUModel(MmaUnit::MmaSync, 80, ElementType::F16),
          getGPUModel(MmaUnit::MmaSync, 80, ElementType::TF32),
          getGPUModel(MmaUnit::MmaSync, 89, ElementType::BF16),
          getGPUModel(MmaUnit::Wgmma, 90, ElementType::BF16),
          getGPUModel(MmaUnit::Tcgen05, 100, ElementType::E4M3)};
}

/// d = the 1x1 product of two short lists, plus the start value.
static float dot(std::vector<float> a, std::vector<float> b, float start,
                 const AccumulationModel &model) {
  multiplyFloats({1, 1, unsigned(a.size())}, a.data(), b.data(), &start, true,
                 model);
  return start;
}

/// Integers are exact, whatever the model.
static void testIntegers() {
  Random random(2);
  ProductShape shape = {16, 24, 32};
  std::vector<float> a(16 * 32), b(32 * 24), d(16 * 24), start(16 * 24);
  for (float &value : a)
    value = float(random.next(-8, 8));
  for (float &value : b)
    value = float(random.next(-8, 8));
  for (float &value : start)
    value = float(random.next(-1000, 1000));
  for (const AccumulationModel &model : getModels())
    for (bool accumulate : {false, true}) {
      d = start;
      multiplyFloats(shape, a.data(), b.data(), d.data(), accumulate, model);
      for (unsigned i = 0; i < shape.m; ++i)
        for (unsigned j = 0; j < shape.n; ++j) {
          int64_t sum = accumulate ? int64_t(start[i * 24 + j]) : 0;
          for (unsigned x = 0; x < shape.k; ++x)
            sum += int64_t(a[i * 32 + x]) * int64_t(b[x * 24 + j]);
          CHECK_EQUAL(d[i * 24 + j], float(sum));
        }
    }
}

/// The differences between the models, computed by hand.
static void testModels() {
  AccumulationModel wide, nearest;
  nearest.rounding = Rounding::NearestEven;
  AccumulationModel hopper = getGPUModel(MmaUnit::Wgmma, 90, ElementType::F16);
  AccumulationModel ampere =
      getGPUModel(MmaUnit::MmaSync, 80, ElementType::F16);
  AccumulationModel coarse = getGPUModel(MmaUnit::Wgmma, 90, ElementType::E4M3);
  // Towards zero, not to nearest.
  for (const AccumulationModel &model : {wide, hopper, ampere})
    for (float sign : {1.0f, -1.0f})
      CHECK_EQUAL(dot({0.75f}, {sign * 0x1p-23f}, sign, model), sign);
  CHECK_EQUAL(dot({0.75f}, {0x1p-23f}, 1, nearest), 1 + 0x1p-23f);
  // A sum keeps 25 bits below the largest term on Hopper and 24 on earlier
  // GPUs; lower bits are truncated before they can add up.
  std::vector<float> ones(8, 1.0f), tiny25(8, 0x1p-25f), tiny26(8, 0x1p-26f);
  CHECK_EQUAL(dot(ones, tiny25, 1, hopper), 1 + 0x1p-22f);
  CHECK_EQUAL(dot(ones, tiny26, 1, hopper), 1.0f);
  CHECK_EQUAL(dot(ones, tiny25, 1, ampere), 1.0f);
  CHECK_EQUAL(dot(ones, tiny26, 1, wide), 1 + 0x1p-23f);
  // fp8 on Hopper: 13 bits, of terms and of the sum.
  CHECK_EQUAL(
      dot({0.25f, 0.25f, 0.25f}, {0x1p-13f, 0x1p-13f, 0x1p-13f}, 1, coarse),
      1.0f);
  CHECK_EQUAL(dot({1.0f}, {0x1p-13f}, 1, coarse), 1 + 0x1p-13f);
  CHECK_EQUAL(dot({1.0f}, {0x1p-13f}, 2, coarse), 2.0f);
  CHECK_EQUAL(dot({1.0f}, {0x1p-13f}, 2,
                  getGPUModel(MmaUnit::MmaSync, 90, ElementType::E4M3)),
              2 + 0x1p-13f);
  // Half of m16n8k16's k at a time on Ampere: the second half sees the sum.
  std::vector<float> sixteen(16, 0.0f), sixteenOnes(16, 1.0f);
  sixteen[0] = 0x1p24f, sixteen[1] = 1, sixteen[8] = -0x1p24f;
  CHECK_EQUAL(dot(sixteen, sixteenOnes, 0, hopper), 1.0f);
  CHECK_EQUAL(dot(sixteen, sixteenOnes, 0, ampere), 0.0f);
  // Subnormal operands count with the type's smallest exponent.
  CHECK_EQUAL(dot({0x1p-24f, 0x1p-24f}, {0x1p-24f, 0x1p-24f}, 0, hopper),
              0x1p-47f);
}

/// Random numbers: models differ by no more than they say.
static void testDistance() {
  Random random(3);
  AccumulationModel wide;
  for (const AccumulationModel &model : getModels())
    for (unsigned round = 0; round < 500; ++round) {
      std::vector<float> a(16), b(16);
      double largest = 0, sum = 0;
      for (unsigned x = 0; x < 16; ++x) {
        a[x] = halfToFloat(uint16_t(random.next(0x3000, 0x4000)));
        b[x] = halfToFloat(uint16_t(random.next(0x3000, 0x4000)));
        if (random.next() % 2)
          a[x] = -a[x];
        largest = std::max(largest, std::fabs(double(a[x]) * b[x]));
        sum += std::fabs(double(a[x]) * b[x]);
      }
      auto start = float(random.next(-64, 64)) / 16;
      sum += std::fabs(start);
      double distance = std::fabs(double(dot(a, b, start, wide)) -
                                  double(dot(a, b, start, model)));
      CHECK_TRUE(distance <= getModelDistance(wide, model, 16, sum));
    }
  CHECK_TRUE(getModelDistance(wide, wide, 16, 1) < 0x1p-20);
}

static void testSpecialValues() {
  float infinity = std::numeric_limits<float>::infinity();
  for (const AccumulationModel &model : getModels()) {
    CHECK_EQUAL(dot({infinity, 1}, {1, 1}, 0, model), infinity);
    CHECK_EQUAL(floatToBits(dot({infinity, 1}, {0, 1}, 0, model)), 0x7fffffffu);
    CHECK_EQUAL(floatToBits(dot({infinity, infinity}, {1, -1}, 0, model)),
                0x7fffffffu);
    CHECK_EQUAL(floatToBits(dot({1}, {1}, std::nanf(""), model)), 0x7fffffffu);
    CHECK_EQUAL(dot({0x1p127f, 0x1p127f}, {1, 1}, 0, model), infinity);
    CHECK_EQUAL(dot({0, 0}, {1, 1}, 0, model), 0.0f);
    CHECK_EQUAL(dot({0}, {1}, -5, model), -5.0f);
  }
}

static void testHalfAccumulators() {
  for (const AccumulationModel &model : getModels()) {
    float a[] = {1, 1}, b[] = {2048, 1}, d = 0;
    multiplyFloatsToHalf({1, 1, 2}, a, b, &d, false, model);
    CHECK_EQUAL(d, 2048.0f); // Halfway, to even.
    float c[] = {2048, 3};
    multiplyFloatsToHalf({1, 1, 2}, a, c, &d, false, model);
    CHECK_EQUAL(d, 2052.0f);
    float e[] = {65504, 65504};
    multiplyFloatsToHalf({1, 1, 2}, a, e, &d, false, model);
    CHECK_EQUAL(d, std::numeric_limits<float>::infinity());
  }
}

static void testIntegerUnits() {
  int32_t a[] = {-128, 127}, b[] = {127, -128}, d = 7;
  multiplyIntegers({1, 1, 2}, a, b, &d, true, false);
  CHECK_EQUAL(d, 7 - 2 * 127 * 128);
  d = INT32_MAX;
  int32_t one[] = {1}, two[] = {2};
  multiplyIntegers({1, 1, 1}, one, two, &d, true, false);
  CHECK_EQUAL(d, INT32_MIN + 1);
  d = INT32_MAX;
  multiplyIntegers({1, 1, 1}, one, two, &d, true, true);
  CHECK_EQUAL(d, INT32_MAX);
  double x[] = {0x1p-53, 1}, y[] = {1, 1}, sum = 1;
  // 1 + 2^-53 is rounded before 1 is added.
  multiplyDoubles({1, 1, 2}, x, y, &sum, true);
  CHECK_EQUAL(sum, 2.0);
}

static void testScales() {
  float a[] = {1, 2, 3, 4, 5, 6, 7, 8}, rows[] = {2, 0.5f, 1, 4};
  scaleRows(2, 4, 2, rows, a);
  const float expected[] = {2, 4, 1.5f, 2, 5, 6, 28, 32};
  for (unsigned i = 0; i < 8; ++i)
    CHECK_EQUAL(a[i], expected[i]);
  float b[] = {1, 2, 3, 4, 5, 6, 7, 8}, columns[] = {2, 1, 0.5f, 4};
  scaleColumns(2, 4, 2, columns, b);
  const float scaled[] = {2, 2, 6, 4, 2.5f, 24, 3.5f, 32};
  for (unsigned i = 0; i < 8; ++i)
    CHECK_EQUAL(b[i], scaled[i]);
}

void fovea::ptx::test::testArithmetic() {
  testIntegers();
  testModels();
  testDistance();
  testSpecialValues();
  testHalfAccumulators();
  testIntegerUnits();
  testScales();
}
