//===- InstructionsConvert.cpp - cvt --------------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions between integers and floats of all widths, with rounding and
// saturation.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "fovea/PTX/Units/Numeric.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace fovea::ptx;
using llvm::StringRef;

namespace {
/// A type of cvt: an integer, or a float with `count` elements per register.
struct Format {
  bool integer = false, isSigned = false;
  ElementType element = ElementType::F32;
  /// Bits per element and in total.
  unsigned bits = 0, count = 1;
  unsigned total() const { return bits * count; }
};

struct Conversion {
  Format to, from;
  /// Width of the registers.
  unsigned toBits = 0, fromBits = 0;
  /// Operands with one element each: cvt.bf16x2.f32 d, high, low.
  unsigned sources = 1;
  Rounding rounding = Rounding::NearestEven;
  /// .rni and similar modifiers: round to an integral value.
  bool integral = false;
  bool flush = false, saturate = false, finite = false, relu = false;
};

template <class T, class F>
T resize(F x) {
  return T(x);
}

uint32_t packBFloats(float high, float low) {
  return uint32_t(floatToBFloat(high)) << 16 | floatToBFloat(low);
}
uint32_t packHalves(float high, float low) {
  return uint32_t(floatToHalf(high)) << 16 | floatToHalf(low);
}
uint16_t narrowBFloat(float x) { return floatToBFloat(x); }
uint16_t narrowHalf(float x) { return floatToHalf(x); }
float widenBFloat(uint16_t x) { return canonicalize(bfloatToFloat(x)); }
float widenHalf(uint16_t x) { return canonicalize(halfToFloat(x)); }
float fromSigned(int32_t x) { return float(x); }
float fromUnsigned(uint32_t x) { return float(x); }
} // namespace

static double roundIntegral(double x, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(x);
  case Rounding::Down:
    return std::floor(x);
  case Rounding::Up:
    return std::ceil(x);
  default:
    // The host rounds to nearest even.
    return std::nearbyint(x);
  }
}

/// Out-of-range values are clamped; NaN becomes 0, or the top bit for 64-bit
/// results.
static uint64_t toInteger(const Conversion &c, double x) {
  unsigned bits = c.to.bits;
  if (std::isnan(x))
    return bits == 64 ? uint64_t(1) << 63 : 0;
  x = roundIntegral(x, c.rounding);
  if (c.to.isSigned) {
    double limit = std::ldexp(1.0, bits - 1);
    if (x >= limit)
      return (uint64_t(1) << (bits - 1)) - 1;
    if (x < -limit)
      return uint64_t(-1) << (bits - 1);
    return uint64_t(int64_t(x));
  }
  if (x >= std::ldexp(1.0, bits))
    return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  return x <= 0 ? 0 : uint64_t(x);
}

static llvm::APFloat::roundingMode toMode(Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return llvm::APFloat::rmTowardZero;
  case Rounding::Down:
    return llvm::APFloat::rmTowardNegative;
  case Rounding::Up:
    return llvm::APFloat::rmTowardPositive;
  default:
    return llvm::APFloat::rmNearestTiesToEven;
  }
}

static const llvm::fltSemantics &semanticsOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return llvm::APFloat::IEEEhalf();
  case ElementType::BF16:
    return llvm::APFloat::BFloat();
  case ElementType::F32:
    return llvm::APFloat::IEEEsingle();
  default:
    return llvm::APFloat::IEEEdouble();
  }
}

/// A 64-bit integer does not fit in a double: rounds once, directly.
static uint64_t integerToFloat(const Conversion &c, uint64_t value) {
  llvm::APFloat result(semanticsOf(c.to.element));
  result.convertFromAPInt(llvm::APInt(64, value), c.from.isSigned,
                          toMode(c.rounding));
  return result.bitcastToAPInt().getZExtValue();
}

static uint64_t clampInteger(const Conversion &c, uint64_t value) {
  bool negative = c.from.isSigned && int64_t(value) < 0;
  if (c.to.isSigned) {
    int64_t most = int64_t((uint64_t(1) << (c.to.bits - 1)) - 1);
    if (negative)
      return std::max(int64_t(value), -most - 1);
    return std::min(value, uint64_t(most));
  }
  if (negative)
    return 0;
  return c.to.bits == 64 ? value
                         : std::min(value, (uint64_t(1) << c.to.bits) - 1);
}

/// Converts one element; the result is in the lowest bits.
static uint64_t convertElement(const Conversion &c, uint64_t bits) {
  if (c.from.integer) {
    if (c.from.bits < 64)
      bits = c.from.isSigned ? uint64_t(llvm::SignExtend64(bits, c.from.bits))
                             : bits & ((uint64_t(1) << c.from.bits) - 1);
    if (!c.to.integer)
      return integerToFloat(c, bits);
    return c.saturate ? clampInteger(c, bits) : bits;
  }
  double value = convertToDouble(bits, c.from.element);
  if (c.flush && c.from.element == ElementType::F32 &&
      std::abs(value) < 0x1p-126)
    value = std::copysign(0.0, value);
  if (c.to.integer)
    return toInteger(c, value);
  if (c.integral)
    value = roundIntegral(value, c.rounding);
  if (c.saturate)
    value = std::isnan(value) || value <= 0 ? 0 : std::min(value, 1.0);
  ConvertOptions options;
  options.rounding = c.rounding;
  options.saturateFinite = c.finite;
  options.relu = c.relu;
  uint64_t result = convertFromDouble(value, c.to.element, options);
  if (c.flush && c.to.element == ElementType::F32 && !(result & 0x7f800000u))
    result &= 0x80000000u;
  return result;
}

static uint64_t readLane(Warp &warp, Slot slot, unsigned bits, unsigned lane) {
  return bits == 64   ? warp.at<uint64_t>(slot)[lane]
         : bits == 32 ? warp.at<uint32_t>(slot)[lane]
                      : warp.at<uint16_t>(slot)[lane];
}

static Step runConversion(Warp &warp, const Inst &inst, uint32_t mask) {
  const auto &c = *static_cast<const Conversion *>(inst.data);
  forLanes(mask, [&](unsigned l) {
    uint64_t result = 0;
    for (unsigned e = 0; e < c.to.count; ++e) {
      // The first operand is the highest element.
      unsigned source = c.sources > 1 ? c.sources - 1 - e : 0;
      uint64_t bits = readLane(warp, inst.ops[1 + source], c.fromBits, l);
      if (c.sources == 1)
        bits >>= e * c.from.bits;
      uint64_t element = convertElement(c, bits);
      if (c.to.count > 1)
        element = (element & ((uint64_t(1) << c.to.bits) - 1))
                  << (e * c.to.bits);
      result |= element;
    }
    // Results of a narrower type are sign-extended to the register.
    if (c.to.count == 1 && c.to.bits < 64)
      result = c.to.integer && c.to.isSigned
                   ? uint64_t(llvm::SignExtend64(result, c.to.bits))
                   : result & ((uint64_t(1) << c.to.bits) - 1);
    if (c.toBits == 64)
      warp.at<uint64_t>(inst.ops[0])[l] = result;
    else if (c.toBits == 32)
      warp.at<uint32_t>(inst.ops[0])[l] = result;
    else
      warp.at<uint16_t>(inst.ops[0])[l] = result;
  });
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

static bool parseNarrow(StringRef name, Format &format) {
  StringRef rest = name;
  format.count = rest.consume_back("x2") ? 2 : rest.consume_back("x4") ? 4 : 1;
  if (rest == "tf32" && format.count == 1) {
    format.element = ElementType::TF32;
    format.bits = 32;
    return true;
  }
  if (format.count == 1)
    return false;
  format.bits = rest == "e2m1" ? 4 : 8;
  if (rest == "e4m3")
    format.element = ElementType::E4M3;
  else if (rest == "e5m2")
    format.element = ElementType::E5M2;
  else if (rest == "e2m1")
    format.element = ElementType::E2M1;
  else if (rest == "e2m3")
    format.element = ElementType::E2M3;
  else if (rest == "e3m2")
    format.element = ElementType::E3M2;
  else if (rest == "ue8m0")
    format.element = ElementType::UE8M0;
  else
    return false;
  return true;
}

static bool takeFormat(Build &b, Format &format) {
  StringRef next = b.nextModifier();
  if (parseNarrow(next, format)) {
    b.take(next);
    return true;
  }
  Type type = b.takeType();
  if (!type)
    return false;
  format.count = type.packed ? 2 : 1;
  format.bits = type.bits / format.count;
  format.integer = type.isInteger();
  format.isSigned = type.kind == Type::Signed;
  if (type.kind == Type::BFloat)
    format.element = ElementType::BF16;
  else if (type.kind == Type::Float)
    format.element = format.bits == 16   ? ElementType::F16
                     : format.bits == 32 ? ElementType::F32
                                         : ElementType::F64;
  else if (!type.isInteger() || type.packed) {
    b.unsupportedType(type);
    return false;
  }
  return true;
}

static void takeRounding(Build &b, Conversion &c) {
  StringRef name =
      b.takeOneOf({"rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"});
  c.integral = name.size() == 3 && name.back() == 'i';
  c.rounding = llvm::StringSwitch<Rounding>(name)
                   .Cases({"rz", "rzi"}, Rounding::Zero)
                   .Cases({"rm", "rmi"}, Rounding::Down)
                   .Cases({"rp", "rpi"}, Rounding::Up)
                   .Case("rna", Rounding::NearestAway)
                   .Default(Rounding::NearestEven);
}

/// The register width of a format, at least 16.
static unsigned widthOf(Build &b, const Operand &operand, const Format &f) {
  unsigned width = b.widthOf(operand);
  return std::max(16u, width ? width : f.total());
}

static Handler getFast(const Conversion &c) {
  bool plain = !c.flush && !c.saturate && !c.finite && !c.relu && !c.integral &&
               c.rounding == Rounding::NearestEven;
  const Format &to = c.to, &from = c.from;
  bool full = c.fromBits == from.total() && c.toBits == to.total();
  if (!plain || !full)
    return nullptr;
  if (to.integer && from.integer) {
    if (from.bits == 32 && to.bits == 64)
      return from.isSigned ? map<resize<int64_t, int32_t>>
                           : map<resize<uint64_t, uint32_t>>;
    if (from.bits == 64 && to.bits == 32)
      return map<resize<uint32_t, uint64_t>>;
    if (from.bits == 16 && to.bits == 32)
      return from.isSigned ? map<resize<int32_t, int16_t>>
                           : map<resize<uint32_t, uint16_t>>;
    if (from.bits == 32 && to.bits == 16)
      return map<resize<uint16_t, uint32_t>>;
    return nullptr;
  }
  bool fromF32 = !from.integer && from.element == ElementType::F32;
  bool toF32 = !to.integer && to.element == ElementType::F32;
  if (fromF32 && !to.integer && c.sources == 2 && to.count == 2)
    return to.element == ElementType::BF16  ? map<packBFloats>
           : to.element == ElementType::F16 ? map<packHalves>
                                            : Handler();
  if (fromF32 && !to.integer && to.count == 1)
    return to.element == ElementType::BF16  ? map<narrowBFloat>
           : to.element == ElementType::F16 ? map<narrowHalf>
                                            : Handler();
  if (toF32 && from.integer && from.bits == 32)
    return from.isSigned ? map<fromSigned> : map<fromUnsigned>;
  if (toF32 && !from.integer && from.count == 1)
    return from.element == ElementType::BF16  ? map<widenBFloat>
           : from.element == ElementType::F16 ? map<widenHalf>
                                              : Handler();
  return nullptr;
}

static void buildCvt(Build &b) {
  Conversion c;
  if (b.hasModifier("pack"))
    return b.error("'cvt.pack' is not modelled");
  takeRounding(b, c);
  c.flush = b.take("ftz");
  c.finite = b.take("satfinite");
  c.relu = b.take("relu");
  c.saturate = b.take("sat");
  if (!takeFormat(b, c.to) || !takeFormat(b, c.from))
    return;
  bool gathers = c.to.count > 1 && c.from.count == 1;
  c.sources = gathers ? c.to.count : 1;
  if (c.to.count != c.from.count && !gathers)
    return b.error("'cvt' between these types is not modelled");
  if (gathers && c.to.count == 4)
    return b.error("'cvt' to four elements is not modelled");
  if (!b.expectOperands(c.sources + 1, c.sources + 1))
    return;
  auto bits = [](const Format &f) {
    return Type{Type::Bits, uint16_t(f.total() < 8 ? 8 : f.total())};
  };
  c.toBits = widthOf(b, b.operand(0), c.to);
  c.fromBits = widthOf(b, b.operand(1), c.from);
  // A literal has the type's width, not that of a wider register.
  b.write(b.operand(0), bits(c.to), true);
  for (unsigned n = 1; n <= c.sources; ++n) {
    if (widthOf(b, b.operand(n), c.from) != c.fromBits)
      return b.error(b.operand(n).loc,
                     "operands of 'cvt' must have the same width", "type");
    b.read(b.operand(n), bits(c.from), true);
  }
  if (Handler fast = getFast(c))
    return b.set(fast);
  b.attach(c);
  b.set(runConversion);
}

llvm::ArrayRef<Entry> fovea::ptx::getConvertEntries() {
  static const Entry entries[] = {{"cvt", buildCvt}};
  return entries;
}
