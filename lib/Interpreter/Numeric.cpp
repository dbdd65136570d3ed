//===- Numeric.cpp - Number formats -----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rounding and encoding of floats of 8 to 64 bits, wrapping of integers, and
// strided accesses to memory.
//
//===----------------------------------------------------------------------===//

#include "fovea/Interpreter/Numeric.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace fovea::interp;
using llvm::APFloat;

std::optional<ElementKind> fovea::interp::getElementKind(Type type) {
  if (type.isIndex())
    return ElementKind::I64;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    switch (integer.getWidth()) {
    case 1:
      return ElementKind::I1;
    case 8:
      return ElementKind::I8;
    case 16:
      return ElementKind::I16;
    case 32:
      return ElementKind::I32;
    case 64:
      return ElementKind::I64;
    default:
      return std::nullopt;
    }
  }
  if (isa<Float8E4M3FNType>(type))
    return ElementKind::F8E4M3FN;
  if (isa<Float8E5M2Type>(type))
    return ElementKind::F8E5M2;
  if (type.isF16())
    return ElementKind::F16;
  if (type.isBF16())
    return ElementKind::BF16;
  if (type.isF32())
    return ElementKind::F32;
  if (type.isF64())
    return ElementKind::F64;
  return std::nullopt;
}

unsigned fovea::interp::getByteWidth(ElementKind kind) {
  switch (kind) {
  case ElementKind::I1:
  case ElementKind::I8:
  case ElementKind::F8E4M3FN:
  case ElementKind::F8E5M2:
    return 1;
  case ElementKind::I16:
  case ElementKind::F16:
  case ElementKind::BF16:
    return 2;
  case ElementKind::I32:
  case ElementKind::F32:
    return 4;
  case ElementKind::I64:
  case ElementKind::F64:
    return 8;
  }
  llvm_unreachable("unknown element kind");
}

bool fovea::interp::isFloat(ElementKind kind) {
  return kind >= ElementKind::F8E4M3FN;
}

static const llvm::fltSemantics &getSemantics(ElementKind kind) {
  switch (kind) {
  case ElementKind::F8E4M3FN:
    return APFloat::Float8E4M3FN();
  case ElementKind::F8E5M2:
    return APFloat::Float8E5M2();
  case ElementKind::F16:
    return APFloat::IEEEhalf();
  case ElementKind::BF16:
    return APFloat::BFloat();
  case ElementKind::F32:
    return APFloat::IEEEsingle();
  default:
    return APFloat::IEEEdouble();
  }
}

unsigned fovea::interp::getPrecisionBits(ElementKind kind) {
  return APFloat::semanticsPrecision(getSemantics(kind));
}

int fovea::interp::getMinExponent(ElementKind kind) {
  return APFloat::semanticsMinExponent(getSemantics(kind));
}

double fovea::interp::ulpAt(ElementKind kind, double magnitude) {
  int exponent = getMinExponent(kind);
  if (magnitude > 0 && std::isfinite(magnitude))
    exponent = std::max(exponent, std::ilogb(magnitude));
  return std::ldexp(1.0, exponent - int(getPrecisionBits(kind)) + 1);
}

//===----------------------------------------------------------------------===//
// Narrow floats
//===----------------------------------------------------------------------===//

static uint16_t encodeBF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40;
  return (bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded;
}

static float decodeBF16(uint16_t bits) {
  return llvm::bit_cast<float>(uint32_t(bits) << 16);
}

static uint16_t encodeF16(float value) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00;
  // Halfway between the largest number and the next one, which would be
  // infinity.
  if (magnitude >= 0x477ff000)
    return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // A subnormal is a multiple of 2^-24: adding 0.5f, whose last place is
    // 2^-24, rounds it to one.
    float shifted = llvm::bit_cast<float>(magnitude) + 0.5f;
    return sign | (llvm::bit_cast<uint32_t>(shifted) - 0x3f000000);
  }
  uint32_t rebased = magnitude - 0x38000000;
  return sign | ((rebased + 0xfff + ((rebased >> 13) & 1)) >> 13);
}

static float decodeF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00)
    return llvm::bit_cast<float>(sign | 0x7f800000 |
                                 ((magnitude & 0x3ff) << 13));
  if (magnitude < 0x400) {
    float value = float(magnitude) * 0x1p-24f;
    return sign ? -value : value;
  }
  return llvm::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000));
}

/// Rounds a double to a float with round-to-odd, so that a second rounding to a
/// narrower kind gives the result of a single rounding: inexact results get an
/// odd last bit.
static float roundToOdd(double value) {
  float nearest = float(value);
  if (double(nearest) == value || std::isnan(value) || std::isinf(nearest))
    return nearest;
  uint32_t bits = llvm::bit_cast<uint32_t>(nearest);
  if (std::fabs(double(nearest)) > std::fabs(value))
    --bits; // towards zero
  return llvm::bit_cast<float>(bits | 1);
}

uint64_t fovea::interp::encodeFloat(ElementKind kind, double value) {
  switch (kind) {
  case ElementKind::F64:
    return llvm::bit_cast<uint64_t>(value);
  case ElementKind::F32:
    return llvm::bit_cast<uint32_t>(float(value));
  case ElementKind::BF16:
    return encodeBF16(roundToOdd(value));
  case ElementKind::F16:
    return encodeF16(roundToOdd(value));
  default: {
    APFloat number(value);
    bool losesInfo;
    number.convert(getSemantics(kind), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return number.bitcastToAPInt().getZExtValue();
  }
  }
}

double fovea::interp::decodeFloat(ElementKind kind, uint64_t bits) {
  switch (kind) {
  case ElementKind::F64:
    return llvm::bit_cast<double>(bits);
  case ElementKind::F32:
    return llvm::bit_cast<float>(uint32_t(bits));
  case ElementKind::BF16:
    return decodeBF16(uint16_t(bits));
  case ElementKind::F16:
    return decodeF16(uint16_t(bits));
  default:
    return APFloat(getSemantics(kind), llvm::APInt(8, bits & 0xff))
        .convertToDouble();
  }
}

template <typename T>
static void roundAll(ElementKind kind, T *values, int64_t count) {
  auto each = [&](auto round) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = round(values[i]);
  };
  switch (kind) {
  case ElementKind::F64:
    return;
  case ElementKind::F32:
    if constexpr (std::is_same_v<T, double>)
      each([](T v) { return T(float(v)); });
    return;
  case ElementKind::BF16:
    if constexpr (std::is_same_v<T, float>)
      return each([](T v) { return decodeBF16(encodeBF16(v)); });
    return each([](T v) { return decodeBF16(encodeBF16(roundToOdd(v))); });
  case ElementKind::F16:
    if constexpr (std::is_same_v<T, float>)
      return each([](T v) { return decodeF16(encodeF16(v)); });
    return each([](T v) { return decodeF16(encodeF16(roundToOdd(v))); });
  default:
    return each(
        [&](T v) { return T(decodeFloat(kind, encodeFloat(kind, v))); });
  }
}

void fovea::interp::roundTo(ElementKind kind, float *values, int64_t count) {
  roundAll(kind, values, count);
}
void fovea::interp::roundTo(ElementKind kind, double *values, int64_t count) {
  roundAll(kind, values, count);
}
float fovea::interp::roundTo(ElementKind kind, float value) {
  roundAll(kind, &value, 1);
  return value;
}
double fovea::interp::roundTo(ElementKind kind, double value) {
  roundAll(kind, &value, 1);
  return value;
}

IntegerWrap::IntegerWrap(ElementKind kind)
    : width(kind == ElementKind::I1 ? 1 : 8 * getByteWidth(kind)),
      shift(64 - width), mask(width == 1 ? 1 : -1) {}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

template <typename Memory, typename T, typename Convert>
static void readAll(const void *source, int64_t stride, int64_t count,
                    T *target, Convert convert) {
  auto *memory = static_cast<const Memory *>(source);
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i)
      target[i] = convert(memory[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    target[i] = convert(memory[i * stride]);
}

template <typename Memory, typename T, typename Convert>
static void writeAll(const T *source, int64_t count, void *target,
                     int64_t stride, Convert convert) {
  auto *memory = static_cast<Memory *>(target);
  for (int64_t i = 0; i < count; ++i)
    memory[i * stride] = convert(source[i]);
}

void fovea::interp::readElements(ElementKind kind, const void *source,
                                 int64_t stride, int64_t count,
                                 int64_t *target) {
  auto read = [&](auto like) {
    using Memory = decltype(like);
    readAll<Memory>(source, stride, count, target,
                    [](Memory v) { return int64_t(v); });
  };
  switch (kind) {
  case ElementKind::I1:
    return readAll<uint8_t>(source, stride, count, target,
                            [](uint8_t v) { return int64_t(v != 0); });
  case ElementKind::I8:
    return read(int8_t());
  case ElementKind::I16:
    return read(int16_t());
  case ElementKind::I32:
    return read(int32_t());
  case ElementKind::I64:
    return read(int64_t());
  default:
    llvm_unreachable("integers are read from integer memory");
  }
}

template <typename T>
static void readFloats(ElementKind kind, const void *source, int64_t stride,
                       int64_t count, T *target) {
  switch (kind) {
  case ElementKind::F64:
    return readAll<double>(source, stride, count, target,
                           [](double v) { return T(v); });
  case ElementKind::F32:
    return readAll<float>(source, stride, count, target,
                          [](float v) { return T(v); });
  case ElementKind::BF16:
    return readAll<uint16_t>(source, stride, count, target,
                             [](uint16_t v) { return T(decodeBF16(v)); });
  case ElementKind::F16:
    return readAll<uint16_t>(source, stride, count, target,
                             [](uint16_t v) { return T(decodeF16(v)); });
  case ElementKind::F8E4M3FN:
  case ElementKind::F8E5M2:
    return readAll<uint8_t>(source, stride, count, target,
                            [&](uint8_t v) { return T(decodeFloat(kind, v)); });
  default:
    llvm_unreachable("floats are read from float memory");
  }
}

void fovea::interp::readElements(ElementKind kind, const void *source,
                                 int64_t stride, int64_t count, float *target) {
  readFloats(kind, source, stride, count, target);
}
void fovea::interp::readElements(ElementKind kind, const void *source,
                                 int64_t stride, int64_t count,
                                 double *target) {
  readFloats(kind, source, stride, count, target);
}

void fovea::interp::writeElements(ElementKind kind, const int64_t *source,
                                  int64_t count, void *target, int64_t stride) {
  auto write = [&](auto like) {
    using Memory = decltype(like);
    writeAll<Memory>(source, count, target, stride,
                     [](int64_t v) { return Memory(v); });
  };
  switch (kind) {
  case ElementKind::I1:
  case ElementKind::I8:
    return write(int8_t());
  case ElementKind::I16:
    return write(int16_t());
  case ElementKind::I32:
    return write(int32_t());
  case ElementKind::I64:
    return write(int64_t());
  default:
    llvm_unreachable("integers are written to integer memory");
  }
}

template <typename T>
static void writeFloats(ElementKind kind, const T *source, int64_t count,
                        void *target, int64_t stride) {
  switch (kind) {
  case ElementKind::F64:
    return writeAll<double>(source, count, target, stride,
                            [](T v) { return double(v); });
  case ElementKind::F32:
    return writeAll<float>(source, count, target, stride,
                           [](T v) { return float(v); });
  case ElementKind::BF16:
  case ElementKind::F16:
    return writeAll<uint16_t>(source, count, target, stride, [&](T v) {
      return uint16_t(encodeFloat(kind, v));
    });
  case ElementKind::F8E4M3FN:
  case ElementKind::F8E5M2:
    return writeAll<uint8_t>(source, count, target, stride, [&](T v) {
      return uint8_t(encodeFloat(kind, v));
    });
  default:
    llvm_unreachable("floats are written to float memory");
  }
}

void fovea::interp::writeElements(ElementKind kind, const float *source,
                                  int64_t count, void *target, int64_t stride) {
  writeFloats(kind, source, count, target, stride);
}
void fovea::interp::writeElements(ElementKind kind, const double *source,
                                  int64_t count, void *target, int64_t stride) {
  writeFloats(kind, source, count, target, stride);
}
