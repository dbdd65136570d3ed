//===- InstructionsFloat.cpp - Floating point -----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arithmetic on floats: a fast path for f32 rounded to nearest even, APFloat
// for other formats and roundings, and approximate functions within the error
// bounds of the ISA.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "fovea/PTX/Units/Numeric.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace fovea::ptx;
using llvm::APFloat;
using llvm::APInt;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Fast forms: f32 rounded to nearest even
//===----------------------------------------------------------------------===//

// The host rounds to nearest even and keeps subnormal values. NaNs become
// canonical; .ftz flushes operands and results.
namespace {
template <bool flush>
float in(float x) {
  return flush ? flushSubnormal(x) : x;
}
template <bool flush>
float out(float x) {
  return canonicalize(flush ? flushSubnormal(x) : x);
}
template <bool f>
float addF32(float a, float b) {
  return out<f>(in<f>(a) + in<f>(b));
}
template <bool f>
float subF32(float a, float b) {
  return out<f>(in<f>(a) - in<f>(b));
}
template <bool f>
float mulF32(float a, float b) {
  return out<f>(in<f>(a) * in<f>(b));
}
template <bool f>
float divF32(float a, float b) {
  return out<f>(in<f>(a) / in<f>(b));
}
template <bool f>
float rcpF32(float a) {
  return out<f>(1.0f / in<f>(a));
}
template <bool f>
float sqrtF32(float a) {
  return out<f>(std::sqrt(in<f>(a)));
}
template <bool f>
float negF32(float a) {
  return bitsToFloat(floatToBits(in<f>(a)) ^ 0x80000000u);
}
template <bool f>
float absF32(float a) {
  return bitsToFloat(floatToBits(in<f>(a)) & 0x7fffffffu);
}
double addF64(double a, double b) { return a + b; }
double subF64(double a, double b) { return a - b; }
double mulF64(double a, double b) { return a * b; }
double divF64(double a, double b) { return a / b; }
double rcpF64(double a) { return 1.0 / a; }
double sqrtF64(double a) { return std::sqrt(a); }
double fmaF64(double a, double b, double c) { return std::fma(a, b, c); }

template <bool f, bool largest, bool nan>
float pick(float a, float b) {
  return pickFloat<largest, nan>(in<f>(a), in<f>(b));
}
template <bool f, bool largest, bool nan, bool magnitudes>
float pickOfThree(float a, float b, float c) {
  if (magnitudes)
    a = std::abs(a), b = std::abs(b), c = std::abs(c);
  return pick<f, largest, nan>(pick<f, largest, nan>(a, b), c);
}
} // namespace

#if defined(__x86_64__)
#define FOVEA_FMA __attribute__((target("fma,avx2")))
#else
#define FOVEA_FMA
#endif

/// d = a * b + c for 32 lanes, rounded once.
template <bool flush, class Fma>
static inline __attribute__((always_inline)) void
fmaLanes(const float *a, const float *b, const float *c, float *d, Fma fma) {
  for (int l = 0; l < 32; ++l)
    d[l] = out<flush>(fma(in<flush>(a[l]), in<flush>(b[l]), in<flush>(c[l])));
}

template <bool flush>
FOVEA_FMA static void fmaLanesNative(const float *a, const float *b,
                                     const float *c, float *d) {
  for (int l = 0; l < 32; ++l) {
    float x = a[l], y = b[l], z = c[l];
    if (flush) {
      x = floatToBits(x) & 0x7f800000u
              ? x
              : bitsToFloat(floatToBits(x) & 0x80000000u);
      y = floatToBits(y) & 0x7f800000u
              ? y
              : bitsToFloat(floatToBits(y) & 0x80000000u);
      z = floatToBits(z) & 0x7f800000u
              ? z
              : bitsToFloat(floatToBits(z) & 0x80000000u);
    }
    float r = __builtin_fmaf(x, y, z);
    if (flush)
      r = floatToBits(r) & 0x7f800000u
              ? r
              : bitsToFloat(floatToBits(r) & 0x80000000u);
    d[l] = r == r ? r : bitsToFloat(kCanonicalNaN);
  }
}

static bool hasNativeFma() {
#if defined(__x86_64__)
  static const bool has =
      __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  return has;
#else
  return true;
#endif
}

template <bool flush>
static Step runFmaF32(Warp &warp, const Inst &inst, uint32_t mask) {
  const float *a = warp.at<float>(inst.ops[1]),
              *b = warp.at<float>(inst.ops[2]),
              *c = warp.at<float>(inst.ops[3]);
  Result<float> result;
  if (hasNativeFma())
    fmaLanesNative<flush>(a, b, c, result.lanes);
  else
    fmaLanes<flush>(a, b, c, result.lanes, [](float x, float y, float z) {
      return std::fma(x, y, z);
    });
  result.put(warp, inst.ops[0], mask);
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Any format, any rounding
//===----------------------------------------------------------------------===//

namespace {
enum class Operation : uint8_t {
  Add,
  Sub,
  Mul,
  Fma,
  Div,
  Sqrt,
  Rcp,
  Min,
  Max,
  Neg,
  Abs
};

struct General {
  Operation function;
  const llvm::fltSemantics *semantics;
  /// Bits per element; elements per register.
  unsigned bits, count, operands;
  APFloat::roundingMode rounding = APFloat::rmNearestTiesToEven;
  bool flush = false, saturate = false, relu = false, nan = false,
       xorSign = false;
};
} // namespace

static APFloat flushIf(const APFloat &value, bool flush) {
  if (flush && value.isDenormal())
    return APFloat::getZero(value.getSemantics(), value.isNegative());
  return value;
}

static APFloat squareRoot(const APFloat &a, APFloat::roundingMode rounding) {
  // For floats of at most 24 bits, the f64 root with a correction is
  // sufficient; f64 supports rounding to nearest only.
  bool lost;
  APFloat wide = a;
  wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  double value = wide.convertToDouble(), root = std::sqrt(value);
  APFloat result(root);
  if (&a.getSemantics() == &APFloat::IEEEdouble())
    return result;
  // Sticky bit: an inexact root must not look like a midpoint or an exact
  // value.
  if (std::isfinite(root) && root != 0) {
    double error = std::fma(root, root, -value);
    uint64_t bits = llvm::bit_cast<uint64_t>(root);
    if (error > 0)
      bits = (bits - 1) | 1;
    else if (error < 0)
      bits |= 1;
    result = APFloat(llvm::bit_cast<double>(bits));
  }
  result.convert(a.getSemantics(), rounding, &lost);
  return result;
}

static APFloat pickGeneral(const General &g, APFloat a, APFloat b) {
  if (a.isNaN() || b.isNaN()) {
    if (g.nan || (a.isNaN() && b.isNaN()))
      return APFloat::getNaN(a.getSemantics());
    return a.isNaN() ? b : a;
  }
  APFloat x = a, y = b;
  if (g.xorSign) {
    x.clearSign();
    y.clearSign();
  }
  bool less =
      x.isZero() && y.isZero() ? x.isNegative() && !y.isNegative() : x < y;
  APFloat result = (g.function == Operation::Max) != less ? x : y;
  if (g.xorSign && (a.isNegative() != b.isNegative()) != result.isNegative())
    result.changeSign();
  return result;
}

static APFloat compute(const General &g, APFloat a, const APFloat &b,
                       const APFloat &c) {
  switch (g.function) {
  case Operation::Add:
    a.add(b, g.rounding);
    return a;
  case Operation::Sub:
    a.subtract(b, g.rounding);
    return a;
  case Operation::Mul:
    a.multiply(b, g.rounding);
    return a;
  case Operation::Fma:
    a.fusedMultiplyAdd(b, c, g.rounding);
    return a;
  case Operation::Div:
    a.divide(b, g.rounding);
    return a;
  case Operation::Rcp: {
    APFloat one = APFloat::getOne(a.getSemantics());
    one.divide(a, g.rounding);
    return one;
  }
  case Operation::Sqrt:
    return squareRoot(a, g.rounding);
  case Operation::Min:
  case Operation::Max:
    return pickGeneral(g, a, b);
  case Operation::Neg:
    a.changeSign();
    return a;
  case Operation::Abs:
    a.clearSign();
    return a;
  }
  return a;
}

static uint64_t computeBits(const General &g, uint64_t x, uint64_t y,
                            uint64_t z) {
  auto load = [&](uint64_t bits) {
    return flushIf(APFloat(*g.semantics, APInt(g.bits, bits, false, true)),
                   g.flush);
  };
  APFloat result = compute(g, load(x), load(y), load(z));
  bool moves = g.function == Operation::Neg || g.function == Operation::Abs;
  if (result.isNaN() && !moves)
    // .sat converts NaN to zero.
    return g.saturate ? 0 : (uint64_t(1) << (g.bits - 1)) - 1;
  result = flushIf(result, g.flush);
  if ((g.saturate || g.relu) && !result.isNaN() &&
      (result.isNegative() || result.isZero()))
    return 0;
  if (g.saturate) {
    APFloat one = APFloat::getOne(*g.semantics);
    if (!(result < one))
      result = one;
  }
  return result.bitcastToAPInt().getZExtValue();
}

template <class T>
static Step runGeneral(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &g = *static_cast<const General *>(inst.data);
  const T *in[3] = {};
  for (unsigned n = 0; n < g.operands; ++n)
    in[n] = warp.at<T>(inst.ops[n + 1]);
  T *to = warp.at<T>(inst.ops[0]);
  uint64_t part = g.bits == 64 ? ~uint64_t(0) : (uint64_t(1) << g.bits) - 1;
  forLanes(mask, [&](unsigned l) {
    uint64_t result = 0;
    for (unsigned e = 0; e < g.count; ++e) {
      uint64_t x[3] = {};
      for (unsigned n = 0; n < g.operands; ++n)
        x[n] = uint64_t(in[n][l]) >> (e * g.bits) & part;
      result |= computeBits(g, x[0], x[1], x[2]) << (e * g.bits);
    }
    to[l] = T(result);
  });
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Builders of exact functions
//===----------------------------------------------------------------------===//

static APFloat::roundingMode takeRounding(Build &b, bool &given) {
  StringRef name = b.takeOneOf({"rn", "rz", "rm", "rp"});
  given = !name.empty();
  return llvm::StringSwitch<APFloat::roundingMode>(name)
      .Case("rz", APFloat::rmTowardZero)
      .Case("rm", APFloat::rmTowardNegative)
      .Case("rp", APFloat::rmTowardPositive)
      .Default(APFloat::rmNearestTiesToEven);
}

/// Sets the format of `type`; returns false if it is not modelled.
static bool setFormat(General &g, Type type) {
  g.count = type.packed ? 2 : 1;
  g.bits = type.bits / g.count;
  if (type.kind == Type::BFloat)
    g.semantics = &APFloat::BFloat();
  else if (type.kind == Type::Float)
    g.semantics = g.bits == 16   ? &APFloat::IEEEhalf()
                  : g.bits == 32 ? &APFloat::IEEEsingle()
                                 : &APFloat::IEEEdouble();
  return type.kind == Type::BFloat || type.kind == Type::Float;
}

static void setGeneral(Build &b, const General &g, Type type) {
  if (b.failed())
    return;
  b.attach(g);
  b.set(type.bits == 16   ? runGeneral<uint16_t>
        : type.bits == 32 ? runGeneral<uint32_t>
                          : runGeneral<uint64_t>);
}

static void operands(Build &b, Type type, unsigned sources) {
  if (!b.expectOperands(sources + 1, sources + 1))
    return;
  b.write(0, type);
  for (unsigned n = 1; n <= sources; ++n)
    b.read(n, type);
}

static Handler getFast(const General &g, Type type) {
  if (type.packed || g.saturate || g.relu || g.xorSign ||
      g.rounding != APFloat::rmNearestTiesToEven || type.kind != Type::Float)
    return nullptr;
  if (type.bits == 64)
    switch (g.function) {
    case Operation::Add:
      return map<addF64>;
    case Operation::Sub:
      return map<subF64>;
    case Operation::Mul:
      return map<mulF64>;
    case Operation::Div:
      return map<divF64>;
    case Operation::Fma:
      return map<fmaF64>;
    case Operation::Rcp:
      return map<rcpF64>;
    case Operation::Sqrt:
      return map<sqrtF64>;
    default:
      return nullptr;
    }
  if (type.bits != 32)
    return nullptr;
#define BY_FLUSH(F) return g.flush ? map<F<true>> : map<F<false>>
#define PICK(LARGEST)                                                          \
  if (g.nan)                                                                   \
    return g.flush ? map<pick<true, LARGEST, true>>                            \
                   : map<pick<false, LARGEST, true>>;                          \
  return g.flush ? map<pick<true, LARGEST, false>>                             \
                 : map<pick<false, LARGEST, false>>
  switch (g.function) {
  case Operation::Add:
    BY_FLUSH(addF32);
  case Operation::Sub:
    BY_FLUSH(subF32);
  case Operation::Mul:
    BY_FLUSH(mulF32);
  case Operation::Div:
    BY_FLUSH(divF32);
  case Operation::Rcp:
    BY_FLUSH(rcpF32);
  case Operation::Sqrt:
    BY_FLUSH(sqrtF32);
  case Operation::Neg:
    BY_FLUSH(negF32);
  case Operation::Abs:
    BY_FLUSH(absF32);
  case Operation::Fma:
    return g.flush ? runFmaF32<true> : runFmaF32<false>;
  case Operation::Max:
    PICK(true);
  case Operation::Min:
    PICK(false);
  }
#undef BY_FLUSH
#undef PICK
  llvm_unreachable("not an operation");
}

template <bool flush, bool largest>
static Handler getPickOfThree(bool nan, bool magnitudes) {
  if (nan)
    return magnitudes ? map<pickOfThree<flush, largest, true, true>>
                      : map<pickOfThree<flush, largest, true, false>>;
  return magnitudes ? map<pickOfThree<flush, largest, false, true>>
                    : map<pickOfThree<flush, largest, false, false>>;
}

/// `max{.ftz}{.NaN}{.abs}.f32 d, a, b, c`, and min.
static void buildPickOfThree(Build &b, bool largest) {
  bool flush = b.take("ftz"), nan = b.take("NaN");
  if (b.hasModifier("xorsign"))
    return b.error("'" + b.name + "' of three inputs has no .xorsign",
                   "syntax");
  bool magnitudes = b.take("abs");
  Type type = b.takeType();
  if (!b.needFeature(Feature::ThreeInputMinMax,
                     "'" + b.name + "' of three inputs"))
    return;
  if (!(type == Type{Type::Float, 32}))
    return b.error("'" + b.name + "' of three inputs needs type .f32, found ." +
                       type.str(),
                   "syntax");
  operands(b, type, 3);
  if (largest)
    return b.set(flush ? getPickOfThree<true, true>(nan, magnitudes)
                       : getPickOfThree<false, true>(nan, magnitudes));
  b.set(flush ? getPickOfThree<true, false>(nan, magnitudes)
              : getPickOfThree<false, false>(nan, magnitudes));
}

static void buildArithmetic(Build &b, Operation function, unsigned sources) {
  General g{};
  g.function = function;
  bool rounded;
  g.rounding = takeRounding(b, rounded);
  g.flush = b.take("ftz");
  g.saturate = b.take("sat");
  bool picks = function == Operation::Min || function == Operation::Max;
  bool moves = function == Operation::Neg || function == Operation::Abs;
  if (picks) {
    g.nan = b.take("NaN");
    if (b.take("xorsign")) {
      b.need("abs");
      g.xorSign = true;
    }
  }
  if (function == Operation::Fma)
    g.relu = b.take("relu");
  Type type = b.takeType();
  g.operands = sources;
  if (!setFormat(g, type))
    return b.unsupportedType(type);
  if ((picks || moves) && (rounded || g.saturate))
    return b.error("'" + b.name + "' has neither rounding nor .sat", "syntax");
  if (g.flush && type.bits == 64 && !type.packed)
    return b.error("modifier .ftz of '" + b.name + ".f64' does not exist",
                   "syntax");
  if (function == Operation::Sqrt && type.bits == 64 &&
      g.rounding != APFloat::rmNearestTiesToEven)
    return b.error("'sqrt' of .f64 is modelled with .rn only");
  operands(b, type, sources);
  if (Handler fast = getFast(g, type))
    return b.set(fast);
  setGeneral(b, g, type);
}

//===----------------------------------------------------------------------===//
// Approximate functions
//===----------------------------------------------------------------------===//

namespace {
/// The function that an approximation computes, and its error bound in the ISA.
struct Approximation {
  double (*function)(double, double);
  /// The maximum relative error, or the maximum absolute error if that is
  /// larger.
  double relative, absolute;
  ElementType type;
  unsigned count;
  bool flush;
};
} // namespace

static double exponential(double x, double) { return std::exp2(x); }
static double logarithm(double x, double) { return std::log2(x); }
static double sine(double x, double) { return std::sin(x); }
static double cosine(double x, double) { return std::cos(x); }
static double tangent(double x, double) { return std::tanh(x); }
static double reciprocal(double x, double) { return 1.0 / x; }
static double root(double x, double) { return std::sqrt(x); }
static double reciprocalRoot(double x, double) { return 1.0 / std::sqrt(x); }
static double quotient(double x, double y) { return x / y; }

/// Perturbs the result by a fraction of the bound, determined by seed and
/// operand.
static double perturb(const Approximation &a, double result, uint64_t bits,
                      uint64_t seed) {
  uint64_t hash = (bits + 0x9e3779b97f4a7c15ull) * (seed * 2 + 1);
  hash ^= hash >> 31;
  hash *= 0xbf58476d1ce4e5b9ull;
  hash ^= hash >> 29;
  double part = double(int64_t(hash) >> 11) / double(int64_t(1) << 52);
  double bound = std::max(std::abs(result) * a.relative, a.absolute);
  // The final rounding needs the rest of the bound.
  return std::isfinite(result) ? result + part * bound * 0.75 : result;
}

template <class T>
static Step runApproximation(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &a = *static_cast<const Approximation *>(inst.data);
  const Launch &launch = warp.cluster->run->launch;
  const T *x = warp.at<T>(inst.ops[1]);
  const T *y = inst.numOps > 2 ? warp.at<T>(inst.ops[2]) : x;
  T *to = warp.at<T>(inst.ops[0]);
  unsigned bits = 8 * sizeof(T) / a.count;
  forLanes(mask, [&](unsigned l) {
    uint64_t all = 0;
    for (unsigned e = 0; e < a.count; ++e) {
      auto value = [&](T from) {
        double wide = convertToDouble(uint64_t(from) >> (e * bits), a.type);
        if (a.flush && std::abs(wide) < 0x1p-126)
          wide = std::copysign(0.0, wide);
        return wide;
      };
      double operand = value(x[l]);
      double result = a.function(operand, value(y[l]));
      if (launch.perturbApproximations)
        result = perturb(a, result, x[l] + (uint64_t(y[l]) << 32), launch.seed);
      uint64_t narrow = convertFromDouble(result, a.type);
      if (a.flush && !(narrow & 0x7f800000u) && a.type == ElementType::F32)
        narrow &= 0x80000000u;
      all |= narrow << (e * bits);
    }
    to[l] = T(all);
  });
  return Step::Next;
}

/// f32 without perturbation: the double result, rounded.
template <double (*F)(double, double), bool flush>
static Step runApproximateF32(Warp &warp, const Inst &inst, uint32_t mask) {
  if (warp.cluster->run->launch.perturbApproximations)
    return runApproximation<uint32_t>(warp, inst, mask);
  const float *x = warp.at<float>(inst.ops[1]);
  const float *y = inst.numOps > 2 ? warp.at<float>(inst.ops[2]) : x;
  float *to = warp.at<float>(inst.ops[0]);
  forLanes(mask, [&](unsigned l) {
    to[l] = out<flush>(float(F(in<flush>(x[l]), in<flush>(y[l]))));
  });
  return Step::Next;
}

/// Takes the type and builds the function. `relative` and `absolute` bound the
/// error for f32; narrower types have their own bounds.
template <double (*F)(double, double)>
static void buildApproximation(Build &b, double relative, double absolute,
                               unsigned sources = 1) {
  Approximation a{F, relative, absolute, ElementType::F32, 1, b.take("ftz")};
  Type type = b.takeType();
  operands(b, type, sources);
  a.count = type.packed ? 2 : 1;
  unsigned bits = type.bits / a.count;
  if (type.kind == Type::BFloat) {
    a.type = ElementType::BF16;
    a.relative = 0x1p-7;
    a.absolute = 0;
  } else if (type.kind == Type::Float && bits == 16) {
    a.type = ElementType::F16;
    a.relative = 0x1.1p-10;
    a.absolute = 0;
  } else if (type.kind != Type::Float || bits != 32 || type.packed) {
    return b.unsupportedType(type);
  }
  if (b.failed())
    return;
  b.attach(a);
  if (type.bits == 16)
    return b.set(runApproximation<uint16_t>);
  if (bits == 16)
    return b.set(runApproximation<uint32_t>);
  b.set(a.flush ? runApproximateF32<F, true> : runApproximateF32<F, false>);
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static void buildExp(Build &b) {
  b.need("approx");
  buildApproximation<exponential>(b, 0x1p-22, 0);
}
static void buildLog(Build &b) {
  b.need("approx");
  buildApproximation<logarithm>(b, 0x1p-22, 0x1p-22);
}
static void buildSin(Build &b) {
  b.need("approx");
  buildApproximation<sine>(b, 0, 0x1.6ap-21);
}
static void buildCos(Build &b) {
  b.need("approx");
  buildApproximation<cosine>(b, 0, 0x1.6ap-21);
}
static void buildTanh(Build &b) {
  b.need("approx");
  buildApproximation<tangent>(b, 0x1p-11, 0);
}
static void buildRcp(Build &b) {
  if (b.take("approx"))
    return buildApproximation<reciprocal>(b, 0x1p-23, 0);
  buildArithmetic(b, Operation::Rcp, 1);
}
static void buildSqrt(Build &b) {
  if (b.take("approx"))
    return buildApproximation<root>(b, 0x1p-23, 0);
  buildArithmetic(b, Operation::Sqrt, 1);
}
static void buildRsqrt(Build &b) {
  b.need("approx");
  buildApproximation<reciprocalRoot>(b, 0x1.12p-23, 0);
}
static void buildFma(Build &b) { buildArithmetic(b, Operation::Fma, 3); }

void fovea::ptx::buildFloat(Build &b) {
  // Both are within 2 ulp.
  if (b.name == "div" && (b.take("approx") || b.take("full")))
    return buildApproximation<quotient>(b, 0x1p-22, 0, 2);
  auto [function, sources] =
      llvm::StringSwitch<std::pair<Operation, unsigned>>(b.name)
          .Case("add", {Operation::Add, 2})
          .Case("sub", {Operation::Sub, 2})
          .Case("mul", {Operation::Mul, 2})
          .Case("mad", {Operation::Fma, 3})
          .Case("div", {Operation::Div, 2})
          .Case("min", {Operation::Min, 2})
          .Case("max", {Operation::Max, 2})
          .Case("neg", {Operation::Neg, 1})
          .Default({Operation::Abs, 1});
  if ((function == Operation::Min || function == Operation::Max) &&
      b.count() == 4)
    return buildPickOfThree(b, function == Operation::Max);
  buildArithmetic(b, function, sources);
}

static uint32_t copySign32(uint32_t a, uint32_t b) {
  return (b & 0x7fffffffu) | (a & 0x80000000u);
}
static uint64_t copySign64(uint64_t a, uint64_t b) {
  return (b << 1 >> 1) | (a >> 63 << 63);
}
static void buildCopysign(Build &b) {
  Type type = b.takeType();
  operands(b, type, 2);
  if (type.kind != Type::Float || type.bits < 32 || type.packed)
    return b.unsupportedType(type);
  b.set(type.bits == 64 ? map<copySign64> : map<copySign32>);
}

namespace {
enum Class { Finite, Infinite, Number, NotANumber, Normal, Subnormal };
template <class T>
bool testClass(uint32_t which, T x) {
  switch (which) {
  case Finite:
    return std::isfinite(x);
  case Infinite:
    return std::isinf(x);
  case Number:
    return !std::isnan(x);
  case NotANumber:
    return std::isnan(x);
  case Normal:
    return std::isnormal(x);
  }
  return std::fpclassify(x) == FP_SUBNORMAL;
}
} // namespace

static void buildTestp(Build &b) {
  StringRef which = b.needOneOf(
      {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  b.inst.flags = llvm::StringSwitch<uint32_t>(which)
                     .Case("finite", Finite)
                     .Case("infinite", Infinite)
                     .Case("number", Number)
                     .Case("notanumber", NotANumber)
                     .Case("normal", Normal)
                     .Default(Subnormal);
  Type type = b.takeType();
  if (type.kind != Type::Float || type.bits < 32 || type.packed)
    return b.unsupportedType(type);
  if (!b.expectOperands(2, 2))
    return;
  b.writePredicate(b.operand(0));
  b.read(1, type);
  b.set(type.bits == 64 ? mapWithFlags<testClass<double>>
                        : mapWithFlags<testClass<float>>);
}

llvm::ArrayRef<Entry> fovea::ptx::getFloatEntries() {
  static const Entry entries[] = {
      {"fma", buildFma},           {"ex2", buildExp},     {"lg2", buildLog},
      {"sin", buildSin},           {"cos", buildCos},     {"tanh", buildTanh},
      {"rcp", buildRcp},           {"sqrt", buildSqrt},   {"rsqrt", buildRsqrt},
      {"copysign", buildCopysign}, {"testp", buildTestp},
  };
  return entries;
}
