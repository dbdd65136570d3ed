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

#include "fovea/Support/NarrowFloats.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

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

static FloatFormat getFormat(ElementKind kind) {
  switch (kind) {
  case ElementKind::F8E4M3FN:
    return FloatFormat::E4M3;
  case ElementKind::F8E5M2:
    return FloatFormat::E5M2;
  case ElementKind::F16:
    return FloatFormat::F16;
  case ElementKind::BF16:
    return FloatFormat::BF16;
  case ElementKind::F32:
    return FloatFormat::F32;
  default:
    return FloatFormat::F64;
  }
}

unsigned fovea::interp::getPrecisionBits(ElementKind kind) {
  return fovea::getPrecisionBits(getFormat(kind));
}

int fovea::interp::getMinExponent(ElementKind kind) {
  return fovea::getMinExponent(getFormat(kind));
}

double fovea::interp::ulpAt(ElementKind kind, double magnitude) {
  int exponent = getMinExponent(kind);
  if (magnitude > 0 && std::isfinite(magnitude))
    exponent = std::max(exponent, std::ilogb(magnitude));
  return std::ldexp(1.0, exponent - int(getPrecisionBits(kind)) + 1);
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

uint64_t fovea::interp::encodeFloat(ElementKind kind, double value) {
  switch (kind) {
  // Keep the payloads of NaNs.
  case ElementKind::F64:
    return llvm::bit_cast<uint64_t>(value);
  case ElementKind::F32:
    return floatToBits(float(value));
  case ElementKind::BF16:
    return floatToBFloat(roundToOdd(value));
  case ElementKind::F16:
    return floatToHalf(roundToOdd(value));
  default:
    ConvertOptions options;
    options.overflowToNaN = true;
    return fovea::encodeFloat(value, getFormat(kind), options);
  }
}

double fovea::interp::decodeFloat(ElementKind kind, uint64_t bits) {
  switch (kind) {
  case ElementKind::F64:
    return llvm::bit_cast<double>(bits);
  case ElementKind::F32:
    return bitsToFloat(uint32_t(bits));
  default:
    return fovea::decodeFloat(bits, getFormat(kind));
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
    return each([](T v) { return T(float(v)); });
  case ElementKind::BF16:
    return each(
        [](T v) { return bfloatToFloat(floatToBFloat(roundToOdd(v))); });
  case ElementKind::F16:
    return each([](T v) { return halfToFloat(floatToHalf(roundToOdd(v))); });
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
                             [](uint16_t v) { return T(bfloatToFloat(v)); });
  case ElementKind::F16:
    return readAll<uint16_t>(source, stride, count, target,
                             [](uint16_t v) { return T(halfToFloat(v)); });
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
