//===- MathHandlers.cpp - Executes math ops ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of math ops. With `afn` they model the error of the GPU's
// instructions.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "fovea/Interpreter/Handlers.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir;
using namespace fovea::interp;

/// Predicates on floats.
template <typename OpTy, typename Fn>
static void addFloatPredicate(InterpreterRegistry &registry, Fn fn) {
  registry.add<OpTy>([fn](Operation *op, Frame &frame) {
    return withFloatStorage(frame, op->getOperand(0).getType(), [&](auto like) {
      using T = decltype(like);
      return mapOperation<int64_t, T>(op, frame,
                                      [=](T a) { return int64_t(fn(a)); });
    });
  });
}

/// Rounds `value` to `bits` significant bits.
static float roundToBits(float value, int bits) {
  if (!std::isfinite(value))
    return value;
  int exponent = 0;
  float fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)),
                    exponent - bits);
}

static LogicalResult executeFPowI(Operation *op, Frame &frame) {
  return withFloatStorage(frame, op->getResult(0).getType(), [&](auto like) {
    using T = decltype(like);
    return mapOperation<T, T, int64_t>(op, frame, [](T a, int64_t n) {
      return T(std::pow(double(a), double(n)));
    });
  });
}

static int64_t integerPower(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  uint64_t result = 1, factor = base;
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return result;
}

static void registerExponentials(InterpreterRegistry &registry) {
  addFloatUnary<math::ExpOp>(registry, [](auto a) { return std::exp(a); });
  addFloatUnary<math::Exp2Op>(registry, [](auto a) { return std::exp2(a); });
  addFloatUnary<math::ExpM1Op>(registry, [](auto a) { return std::expm1(a); });
  addFloatUnary<math::LogOp>(registry, [](auto a) { return std::log(a); });
  addFloatUnary<math::Log2Op>(registry, [](auto a) { return std::log2(a); });
  addFloatUnary<math::Log10Op>(registry, [](auto a) { return std::log10(a); });
  addFloatUnary<math::Log1pOp>(registry, [](auto a) { return std::log1p(a); });
  // The GPU's square root has an error of up to 1 ulp, as has a product with
  // the reciprocal square root.
  addFloatUnary<math::SqrtOp>(
      registry, [](auto a) { return std::sqrt(a); },
      [](float a) {
        float root = std::sqrt(a);
        return root > 0 && std::isfinite(root) ? a * (1 / root) : root;
      });
  addFloatUnary<math::RsqrtOp>(registry,
                               [](auto a) { return 1 / std::sqrt(a); });
  addFloatUnary<math::CbrtOp>(registry, [](auto a) { return std::cbrt(a); });
  addFloatBinary<math::PowFOp>(registry,
                               [](auto a, auto b) { return std::pow(a, b); });
  registry.add<math::FPowIOp>(executeFPowI);
  addFloatUnary<math::ErfOp>(registry, [](auto a) { return std::erf(a); });
  addFloatUnary<math::ErfcOp>(registry, [](auto a) { return std::erfc(a); });
}

static void registerTrigonometry(InterpreterRegistry &registry) {
  addFloatUnary<math::SinOp>(registry, [](auto a) { return std::sin(a); });
  addFloatUnary<math::CosOp>(registry, [](auto a) { return std::cos(a); });
  addFloatUnary<math::TanOp>(registry, [](auto a) { return std::tan(a); });
  addFloatUnary<math::AsinOp>(registry, [](auto a) { return std::asin(a); });
  addFloatUnary<math::AcosOp>(registry, [](auto a) { return std::acos(a); });
  addFloatUnary<math::AtanOp>(registry, [](auto a) { return std::atan(a); });
  addFloatBinary<math::Atan2Op>(
      registry, [](auto a, auto b) { return std::atan2(a, b); });
  addFloatUnary<math::SinhOp>(registry, [](auto a) { return std::sinh(a); });
  addFloatUnary<math::CoshOp>(registry, [](auto a) { return std::cosh(a); });
  // The ISA guarantees a relative error of 2^-11; an H200 has errors up to
  // 2^-16.5.
  addFloatUnary<math::TanhOp>(
      registry, [](auto a) { return std::tanh(a); },
      [](float a) { return roundToBits(std::tanh(a), 16); });
  addFloatUnary<math::AsinhOp>(registry, [](auto a) { return std::asinh(a); });
  addFloatUnary<math::AcoshOp>(registry, [](auto a) { return std::acosh(a); });
  addFloatUnary<math::AtanhOp>(registry, [](auto a) { return std::atanh(a); });
}

static void registerRounding(InterpreterRegistry &registry) {
  addFloatUnary<math::AbsFOp>(registry, [](auto a) { return std::fabs(a); });
  addFloatUnary<math::FloorOp>(registry, [](auto a) { return std::floor(a); });
  addFloatUnary<math::CeilOp>(registry, [](auto a) { return std::ceil(a); });
  addFloatUnary<math::TruncOp>(registry, [](auto a) { return std::trunc(a); });
  addFloatUnary<math::RoundOp>(registry, [](auto a) { return std::round(a); });
  addFloatUnary<math::RoundEvenOp>(registry,
                                   [](auto a) { return std::nearbyint(a); });
  addFloatBinary<math::CopySignOp>(
      registry, [](auto a, auto b) { return std::copysign(a, b); });
  addFloatTernary<math::FmaOp>(
      registry, [](auto a, auto b, auto c) { return std::fma(a, b, c); });
  addFloatTernary<math::ClampFOp>(registry, [](auto a, auto low, auto high) {
    auto above = a > low || a != a ? a : low;
    return above < high || above != above ? above : high;
  });
  addFloatPredicate<math::IsNaNOp>(registry, [](auto a) { return a != a; });
  addFloatPredicate<math::IsInfOp>(registry,
                                   [](auto a) { return std::isinf(a); });
  addFloatPredicate<math::IsFiniteOp>(registry,
                                      [](auto a) { return std::isfinite(a); });
}

void fovea::interp::registerMathHandlers(InterpreterRegistry &registry) {
  registerExponentials(registry);
  registerTrigonometry(registry);
  registerRounding(registry);
  using W = IntegerWrap;
  addIntegerUnary<math::AbsIOp>(registry, [](W, int64_t a) {
    return a < 0 ? int64_t(0 - uint64_t(a)) : a;
  });
  addIntegerUnary<math::CtPopOp>(registry, [](W w, int64_t a) {
    return int64_t(llvm::popcount(w.toUnsigned(a)));
  });
  addIntegerUnary<math::CountLeadingZerosOp>(registry, [](W w, int64_t a) {
    return int64_t(llvm::countl_zero(w.toUnsigned(a))) - int64_t(w.shift);
  });
  addIntegerUnary<math::CountTrailingZerosOp>(registry, [](W w, int64_t a) {
    return std::min<int64_t>(llvm::countr_zero(w.toUnsigned(a)), w.width);
  });
  addIntegerBinary<math::IPowIOp>(
      registry, [](W, int64_t a, int64_t b) { return integerPower(a, b); });
}
