//===- TensorMap.cpp - Tensor maps ------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/PTX/Units/TensorMap.h"

#include "UnitError.h"

#include "llvm/Support/Endian.h"

#include <cstring>

using namespace fovea::ptx;
using llvm::Twine;
namespace endian = llvm::support::endian;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

unsigned fovea::ptx::getByteWidth(TensorDataType type) {
  switch (type) {
  case TensorDataType::UInt8:
    return 1;
  case TensorDataType::UInt16:
  case TensorDataType::Float16:
  case TensorDataType::BFloat16:
    return 2;
  case TensorDataType::UInt32:
  case TensorDataType::Int32:
  case TensorDataType::Float32:
  case TensorDataType::Float32FTZ:
  case TensorDataType::TFloat32:
  case TensorDataType::TFloat32FTZ:
    return 4;
  case TensorDataType::UInt64:
  case TensorDataType::Int64:
  case TensorDataType::Float64:
    return 8;
  default:
    return 0;
  }
}

llvm::StringRef fovea::ptx::getName(TensorDataType type) {
  static constexpr llvm::StringLiteral names[] = {"u8",
                                                  "u16",
                                                  "u32",
                                                  "s32",
                                                  "u64",
                                                  "s64",
                                                  "f16",
                                                  "f32",
                                                  "f64",
                                                  "bf16",
                                                  "f32.ftz",
                                                  "tf32",
                                                  "tf32.ftz",
                                                  "16u4 (8 bytes)",
                                                  "16u4 (16 bytes)",
                                                  "16u6 (16 bytes)"};
  return names[unsigned(type)];
}

static bool isFloatType(TensorDataType type) {
  return type == TensorDataType::Float16 ||
         (type >= TensorDataType::Float32 &&
          type <= TensorDataType::TFloat32FTZ);
}

static bool changesValues(TensorDataType type) {
  return type >= TensorDataType::Float32FTZ;
}

llvm::Expected<SwizzleMode> fovea::ptx::getTensorMapSwizzle(unsigned value) {
  static constexpr SwizzleMode modes[] = {
      SwizzleMode::None,       SwizzleMode::B32,
      SwizzleMode::B64,        SwizzleMode::B128,
      SwizzleMode::B128Atom32, SwizzleMode::B128Atom32Flip8,
      SwizzleMode::B128Atom64};
  if (value < std::size(modes))
    return modes[value];
  return makeError("swizzle of a tensor map must be in [0, 6], found " +
                   Twine(value));
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static constexpr uint64_t kGranule = 16;

static llvm::Error checkRank(unsigned rank) {
  if (rank == 0 || rank > kMaxTensorRank)
    return makeError("rank of a tensor map must be in [1, 5], found " +
                     Twine(rank));
  return llvm::Error::success();
}

static llvm::Error checkKinds(const TensorMap &map) {
  constexpr unsigned kMostInterleave = 2, kMostPromotion = 3;
  if (llvm::Error error = checkRank(map.rank))
    return error;
  if (map.interleave > kMostInterleave)
    return makeError("interleave of a tensor map must be in [0, 2], found " +
                     Twine(map.interleave));
  if (map.l2Promotion > kMostPromotion)
    return makeError("L2 promotion of a tensor map must be in [0, 3], found " +
                     Twine(map.l2Promotion));
  if (map.interleave)
    return makeError("interleaved tensor maps aren't modelled");
  if (changesValues(map.type))
    return makeError("tensor maps of " + getName(map.type) +
                     " aren't modelled: copies change values");
  if (map.fillNaN && !isFloatType(map.type))
    return makeError("tensor maps of " + getName(map.type) +
                     " can't be filled with NaN: it isn't a float type");
  return llvm::Error::success();
}

static llvm::Error checkTensor(const TensorMap &map) {
  constexpr uint64_t kMostElements = uint64_t(1) << 32,
                     kStrideLimit = uint64_t(1) << 40;
  if (map.address % kGranule)
    return makeError("address of a tensor map must be a multiple of 16, found "
                     "0x" +
                     Twine::utohexstr(map.address));
  for (unsigned dim = 0; dim < map.rank; ++dim) {
    if (map.sizes[dim] == 0 || map.sizes[dim] > kMostElements)
      return makeError("size of dimension " + Twine(dim) +
                       " of a tensor map must be in [1, 2^32], found " +
                       Twine(map.sizes[dim]));
    if (dim == 0)
      continue;
    if (map.strides[dim] % kGranule || map.strides[dim] >= kStrideLimit)
      return makeError("stride of dimension " + Twine(dim) +
                       " of a tensor map must be a multiple of 16 below 2^40, "
                       "found " +
                       Twine(map.strides[dim]));
  }
  return llvm::Error::success();
}

static llvm::Error checkBox(const TensorMap &map) {
  constexpr uint32_t kMostBox = 256, kMostStep = 8;
  for (unsigned dim = 0; dim < map.rank; ++dim) {
    if (map.box[dim] == 0 || map.box[dim] > kMostBox)
      return makeError("box of dimension " + Twine(dim) +
                       " of a tensor map must be in [1, 256], found " +
                       Twine(map.box[dim]));
    if (map.elementStrides[dim] == 0 || map.elementStrides[dim] > kMostStep)
      return makeError("element stride of dimension " + Twine(dim) +
                       " of a tensor map must be in [1, 8], found " +
                       Twine(map.elementStrides[dim]));
  }
  uint32_t row = map.box[0] * getByteWidth(map.type);
  if (row % kGranule)
    return makeError("rows of a tensor map's box must be a multiple of 16 "
                     "bytes, found " +
                     Twine(row));
  unsigned span = getSwizzleSpan(map.swizzle);
  if (!span)
    return llvm::Error::success();
  if (row > span)
    return makeError("rows of a tensor map's box must have at most " +
                     Twine(span) + " bytes for a " + getName(map.swizzle) +
                     ", found " + Twine(row));
  if (row < span && map.rank > 1)
    return makeError("rows of a tensor map's box that are narrower than its " +
                     getName(map.swizzle) + " aren't modelled, found " +
                     Twine(row) + " bytes");
  return llvm::Error::success();
}

llvm::Error fovea::ptx::checkTensorMap(const TensorMap &map) {
  if (llvm::Error error = checkKinds(map))
    return error;
  if (llvm::Error error = checkTensor(map))
    return error;
  return checkBox(map);
}

llvm::Expected<TensorMap>
fovea::ptx::makeTensorMap(unsigned dataType, unsigned rank, uint64_t address,
                          const uint64_t *sizes, const uint64_t *strides,
                          const uint32_t *box, const uint32_t *elementStrides,
                          unsigned interleave, unsigned swizzle,
                          unsigned l2Promotion, unsigned fill) {
  // Checks only what the fields' types can't hold; checkTensorMap does the
  // rest.
  if (dataType > unsigned(TensorDataType::U6Align16))
    return makeError("data type of a tensor map must be in [0, 15], found " +
                     Twine(dataType));
  if (llvm::Error error = checkRank(rank))
    return error;
  if (fill > 1)
    return makeError("fill of a tensor map must be 0 or 1, found " +
                     Twine(fill));
  auto mode = getTensorMapSwizzle(swizzle);
  if (!mode)
    return mode.takeError();
  TensorMap map;
  map.type = TensorDataType(dataType);
  map.rank = rank;
  map.address = address;
  for (unsigned dim = 0; dim < rank; ++dim) {
    map.sizes[dim] = sizes[dim];
    map.strides[dim] = dim ? strides[dim - 1] : getByteWidth(map.type);
    map.box[dim] = box[dim];
    map.elementStrides[dim] = elementStrides[dim];
  }
  map.interleave = interleave;
  map.l2Promotion = l2Promotion;
  map.swizzle = *mode;
  map.fillNaN = fill;
  if (llvm::Error error = checkTensorMap(map))
    return error;
  return map;
}

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kMagic = "FoveaTM1";
static constexpr unsigned kMapAlignment = 64;
// Field offsets; see the header.
static constexpr unsigned kAddressAt = 8, kSizesAt = 16, kStridesAt = 36,
                          kBoxAt = 68, kStepsAt = 78, kKindsAt = 83,
                          kChecksumAt = 124;

static uint32_t getChecksum(const uint8_t *bytes) {
  uint32_t sum = 0x811c9dc5;
  for (unsigned at = 0; at < kChecksumAt; ++at)
    sum = (sum ^ bytes[at]) * 0x01000193;
  return sum;
}

static void seal(uint8_t *bytes) {
  endian::write32le(bytes + kChecksumAt, getChecksum(bytes));
}

static llvm::Error checkMapBytes(const void *bytes) {
  if (reinterpret_cast<uintptr_t>(bytes) % kMapAlignment)
    return makeError("a tensor map must lie at a multiple of 64 bytes");
  return llvm::Error::success();
}

llvm::Error fovea::ptx::encodeTensorMap(const TensorMap &map, void *bytes) {
  if (llvm::Error error = checkMapBytes(bytes))
    return error;
  if (llvm::Error error = checkTensorMap(map))
    return error;
  auto *out = static_cast<uint8_t *>(bytes);
  std::memset(out, 0, kTensorMapBytes);
  std::memcpy(out, kMagic.data(), kMagic.size());
  endian::write64le(out + kAddressAt, map.address);
  for (unsigned dim = 0; dim < map.rank; ++dim) {
    endian::write32le(out + kSizesAt + 4 * dim, uint32_t(map.sizes[dim] - 1));
    if (dim)
      endian::write64le(out + kStridesAt + 8 * (dim - 1), map.strides[dim]);
    endian::write16le(out + kBoxAt + 2 * dim, uint16_t(map.box[dim]));
    out[kStepsAt + dim] = uint8_t(map.elementStrides[dim]);
  }
  const uint8_t kinds[] = {uint8_t(map.type),        uint8_t(map.rank),
                           uint8_t(map.interleave),  uint8_t(map.swizzle),
                           uint8_t(map.l2Promotion), uint8_t(map.fillNaN)};
  std::memcpy(out + kKindsAt, kinds, sizeof(kinds));
  seal(out);
  return llvm::Error::success();
}

llvm::Expected<TensorMap> fovea::ptx::decodeTensorMap(const void *bytes) {
  auto *in = static_cast<const uint8_t *>(bytes);
  if (std::memcmp(in, kMagic.data(), kMagic.size()) ||
      endian::read32le(in + kChecksumAt) != getChecksum(in))
    return makeError("no tensor map is there");
  TensorMap map;
  map.type = TensorDataType(in[kKindsAt]);
  map.rank = in[kKindsAt + 1];
  map.interleave = in[kKindsAt + 2];
  map.swizzle = SwizzleMode(in[kKindsAt + 3]);
  map.l2Promotion = in[kKindsAt + 4];
  map.fillNaN = in[kKindsAt + 5];
  map.address = endian::read64le(in + kAddressAt);
  for (unsigned dim = 0; dim < map.rank; ++dim) {
    map.sizes[dim] = uint64_t(endian::read32le(in + kSizesAt + 4 * dim)) + 1;
    map.strides[dim] = dim ? endian::read64le(in + kStridesAt + 8 * (dim - 1))
                           : getByteWidth(map.type);
    map.box[dim] = endian::read16le(in + kBoxAt + 2 * dim);
    map.elementStrides[dim] = in[kStepsAt + dim];
  }
  return map;
}

llvm::Error fovea::ptx::replaceTensorMapAddress(void *bytes, uint64_t address) {
  if (llvm::Error error = checkMapBytes(bytes))
    return error;
  auto map = decodeTensorMap(bytes);
  if (!map)
    return map.takeError();
  if (address % kGranule)
    return makeError("address of a tensor map must be a multiple of 16, found "
                     "0x" +
                     Twine::utohexstr(address));
  auto *out = static_cast<uint8_t *>(bytes);
  endian::write64le(out + kAddressAt, address);
  seal(out);
  return llvm::Error::success();
}
