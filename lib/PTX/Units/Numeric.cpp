//===- Numeric.cpp - Numeric formats of PTX -------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Units/Numeric.h"

#include "llvm/Support/ErrorHandling.h"

#include <array>
#include <cstring>

using namespace fovea;
using namespace fovea::ptx;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

unsigned fovea::ptx::getBitWidth(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::S64:
  case ElementType::U64:
    return 64;
  case ElementType::F32:
  case ElementType::TF32:
  case ElementType::S32:
  case ElementType::U32:
    return 32;
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::S16:
  case ElementType::U16:
    return 16;
  case ElementType::E4M3:
  case ElementType::E5M2:
  case ElementType::UE8M0:
  case ElementType::UE4M3:
  case ElementType::S8:
  case ElementType::U8:
    return 8;
  case ElementType::E2M3:
  case ElementType::E3M2:
    return 6;
  case ElementType::E2M1:
    return 4;
  }
  llvm_unreachable("unknown element type");
}

llvm::StringRef fovea::ptx::getName(ElementType type) {
  static constexpr llvm::StringLiteral names[] = {
      "f64",  "f32",  "tf32", "f16",   "bf16",  "e4m3", "e5m2",
      "e2m3", "e3m2", "e2m1", "ue8m0", "ue4m3", "s64",  "u64",
      "s32",  "u32",  "s16",  "u16",   "s8",    "u8"};
  return names[unsigned(type)];
}

bool fovea::ptx::isFloat(ElementType type) { return type < ElementType::S64; }

//===----------------------------------------------------------------------===//
// Conversions of memory
//===----------------------------------------------------------------------===//

template <ElementType type>
static const auto &getTable() {
  static const auto table = [] {
    constexpr unsigned bits =
        type == ElementType::E2M1                                ? 4
        : type == ElementType::E2M3 || type == ElementType::E3M2 ? 6
                                                                 : 8;
    std::array<float, 1u << bits> values;
    for (unsigned index = 0; index < values.size(); ++index)
      values[index] = float(convertToDouble(index, type));
    return values;
  }();
  return table;
}

template <typename Storage, typename Function>
static void unpack(const uint8_t *source, size_t count, float *result,
                   Function convert) {
  for (size_t index = 0; index < count; ++index) {
    Storage value;
    std::memcpy(&value, source + index * sizeof(Storage), sizeof(Storage));
    result[index] = convert(value);
  }
}

template <ElementType type>
static void unpackBytes(const uint8_t *source, size_t count, float *result) {
  const auto &table = getTable<type>();
  for (size_t index = 0; index < count; ++index)
    result[index] = table[source[index]];
}

/// Unpacks elements of 4 and 6 bits, which may cross byte boundaries.
template <ElementType type, unsigned bits>
static void unpackBits(const uint8_t *source, size_t count, float *result) {
  const auto &table = getTable<type>();
  for (size_t index = 0; index < count; ++index) {
    size_t first = index * bits, byte = first / 8;
    unsigned value = source[byte] >> (first % 8);
    if (first % 8 + bits > 8)
      value |= unsigned(source[byte + 1]) << (8 - first % 8);
    result[index] = table[value & ((1u << bits) - 1)];
  }
}

void fovea::ptx::unpackToFloats(const void *source, ElementType type,
                                size_t count, float *result) {
  auto *bytes = static_cast<const uint8_t *>(source);
  switch (type) {
  case ElementType::F32:
    std::memcpy(result, source, count * sizeof(float));
    return;
  case ElementType::TF32:
    return unpack<uint32_t>(bytes, count, result, [](uint32_t value) {
      return bitsToFloat(value & 0xffffe000u);
    });
  case ElementType::F16:
    return unpack<uint16_t>(bytes, count, result, halfToFloat);
  case ElementType::BF16:
    return unpack<uint16_t>(bytes, count, result, bfloatToFloat);
  case ElementType::S16:
    return unpack<int16_t>(bytes, count, result,
                           [](int16_t value) { return float(value); });
  case ElementType::U16:
    return unpack<uint16_t>(bytes, count, result,
                            [](uint16_t value) { return float(value); });
  case ElementType::S8:
    return unpack<int8_t>(bytes, count, result,
                          [](int8_t value) { return float(value); });
  case ElementType::U8:
    return unpack<uint8_t>(bytes, count, result,
                           [](uint8_t value) { return float(value); });
  case ElementType::E4M3:
    return unpackBytes<ElementType::E4M3>(bytes, count, result);
  case ElementType::E5M2:
    return unpackBytes<ElementType::E5M2>(bytes, count, result);
  case ElementType::UE8M0:
    return unpackBytes<ElementType::UE8M0>(bytes, count, result);
  case ElementType::UE4M3:
    // The sign bit is ignored.
    return unpack<uint8_t>(bytes, count, result, [](uint8_t value) {
      return getTable<ElementType::UE4M3>()[value & 0x7f];
    });
  case ElementType::E2M3:
    return unpackBits<ElementType::E2M3, 6>(bytes, count, result);
  case ElementType::E3M2:
    return unpackBits<ElementType::E3M2, 6>(bytes, count, result);
  case ElementType::E2M1:
    return unpackBits<ElementType::E2M1, 4>(bytes, count, result);
  case ElementType::F64:
  case ElementType::S64:
  case ElementType::U64:
  case ElementType::S32:
  case ElementType::U32:
    llvm_unreachable("a float does not hold all values of the type");
  }
}

void fovea::ptx::unpackContainersToFloats(const void *source, ElementType type,
                                          size_t count, float *result) {
  auto *bytes = static_cast<const uint8_t *>(source);
  switch (type) {
  case ElementType::E2M3:
    return unpack<uint8_t>(bytes, count, result, [](uint8_t value) {
      return getTable<ElementType::E2M3>()[value & 0x3f];
    });
  case ElementType::E3M2:
    return unpack<uint8_t>(bytes, count, result, [](uint8_t value) {
      return getTable<ElementType::E3M2>()[value & 0x3f];
    });
  case ElementType::E2M1:
    return unpack<uint8_t>(bytes, count, result, [](uint8_t value) {
      return getTable<ElementType::E2M1>()[(value >> 2) & 0xf];
    });
  default:
    return unpackToFloats(source, type, count, result);
  }
}
