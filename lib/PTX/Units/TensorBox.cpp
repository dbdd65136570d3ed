//===- TensorBox.cpp - Copies of tensor map boxes -------------------------===//
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
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <cstring>

using namespace fovea::ptx;
using llvm::Twine;

static constexpr unsigned kSharedAlignment = 128;

uint64_t fovea::ptx::getBoxBytes(const TensorMap &map) {
  uint64_t bytes = getByteWidth(map.type);
  for (unsigned dim = 0; dim < map.rank; ++dim)
    bytes *= map.getCopied(dim);
  return bytes;
}

static llvm::Error checkAlignment(uint64_t sharedAddress) {
  if (sharedAddress % kSharedAlignment == 0)
    return llvm::Error::success();
  return makeError("shared memory of a tensor copy must lie at a multiple of "
                   "128 bytes, found address 0x" +
                   Twine::utohexstr(sharedAddress));
}

llvm::Error fovea::ptx::checkBoxCopy(const TensorMap &map, unsigned coordinates,
                                     uint64_t sharedAddress) {
  if (coordinates != map.rank)
    return makeError("a copy of " + Twine(coordinates) +
                     " dimensions must have a tensor map of as many, found "
                     "rank " +
                     Twine(map.rank));
  return checkAlignment(sharedAddress);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

// Store granularity in bytes, as observed on an H200.
static constexpr int64_t kStoreGranule = 16;

namespace {
/// Enumerates the rows of a box, split at the tensor's end and at swizzle
/// atoms.
struct RowWalk {
  const TensorMap &map;
  /// Stores write the last granule of a row entirely.
  BoxUse use;
  llvm::function_ref<void(const BoxRun &)> visit;

  /// Enumerates a row that starts at column `column` of the tensor's row at
  /// `global`, if `inside`; `shared` is the row's address before swizzling.
  void walk(int64_t column, uint64_t global, bool inside, uint32_t shared) {
    int64_t width = getByteWidth(map.type), end = column + map.box[0];
    int64_t size = int64_t(map.sizes[0]);
    if (use == BoxUse::Store)
      size = llvm::alignTo(size * width, kStoreGranule) / width;
    int64_t first = std::clamp<int64_t>(column, 0, size);
    int64_t last = std::clamp<int64_t>(end, 0, size);
    if (!inside || first >= last)
      return emit(0, shared, uint32_t((end - column) * width), false);
    auto before = uint32_t((first - column) * width);
    auto middle = uint32_t((last - first) * width);
    emit(0, shared, before, false);
    emit(global + uint64_t(first * width), shared + before, middle, true);
    emit(0, shared + before + middle, uint32_t((end - last) * width), false);
  }

private:
  void emit(uint64_t global, uint32_t shared, uint32_t bytes, bool inside) {
    if (map.swizzle == SwizzleMode::None) {
      if (bytes)
        visit({global, shared, bytes, inside});
      return;
    }
    unsigned atom = getSwizzleAtom(map.swizzle);
    while (bytes) {
      uint32_t part = std::min<uint32_t>(bytes, atom - shared % atom);
      visit({global, applySwizzle(map.swizzle, shared), part, inside});
      global += inside ? part : 0, shared += part, bytes -= part;
    }
  }
};
} // namespace

void fovea::ptx::forEachRun(const TensorMap &map,
                            llvm::ArrayRef<int32_t> coordinates,
                            uint32_t sharedAddress, BoxUse use,
                            llvm::function_ref<void(const BoxRun &)> visit) {
  assert(coordinates.size() == map.rank && "checked by checkBoxCopy");
  RowWalk rows{map, use, visit};
  std::array<unsigned, kMaxTensorRank> index{};
  uint32_t pitch = map.box[0] * getByteWidth(map.type), shared = sharedAddress;
  while (true) {
    uint64_t global = map.address;
    bool inside = true;
    for (unsigned dim = 1; dim < map.rank; ++dim) {
      int64_t place = int64_t(coordinates[dim]) +
                      int64_t(index[dim]) * map.elementStrides[dim];
      inside &= place >= 0 && uint64_t(place) < map.sizes[dim];
      global += uint64_t(place) * map.strides[dim];
    }
    rows.walk(coordinates[0], global, inside, shared);
    shared += pitch;
    unsigned dim = 1;
    for (; dim < map.rank && ++index[dim] == map.getCopied(dim); ++dim)
      index[dim] = 0;
    if (dim >= map.rank)
      return;
  }
}

llvm::Error fovea::ptx::checkGather(const TensorMap &map, unsigned coordinates,
                                    uint64_t sharedAddress) {
  if (map.rank != 2 || map.box[1] != 1)
    return makeError("gather4 and scatter4 must have a tensor map of rank 2 "
                     "with boxes of one row, found rank " +
                     Twine(map.rank) + " and " +
                     Twine(map.rank > 1 ? map.box[1] : 1) + " rows");
  if (coordinates != 5)
    return makeError("gather4 and scatter4 must have five coordinates, found " +
                     Twine(coordinates));
  return checkAlignment(sharedAddress);
}

void fovea::ptx::forEachGatherRun(
    const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
    uint32_t sharedAddress, BoxUse use,
    llvm::function_ref<void(const BoxRun &)> visit) {
  RowWalk rows{map, use, visit};
  uint32_t pitch = map.box[0] * getByteWidth(map.type);
  for (auto [index, row] : llvm::enumerate(coordinates.drop_front())) {
    bool inside = row >= 0 && uint64_t(row) < map.sizes[1];
    rows.walk(coordinates[0],
              map.address + uint64_t(int64_t(row)) * map.strides[1], inside,
              sharedAddress + uint32_t(index) * pitch);
  }
}

template <typename T>
static void fill(void *target, unsigned bytes, T value) {
  auto *out = static_cast<uint8_t *>(target);
  for (unsigned at = 0; at < bytes; at += sizeof(T))
    std::memcpy(out + at, &value, std::min<size_t>(sizeof(T), bytes - at));
}

void fovea::ptx::writeFill(const TensorMap &map, void *target, unsigned bytes) {
  if (!map.fillNaN) {
    std::memset(target, 0, bytes);
    return;
  }
  switch (getByteWidth(map.type)) {
  case 2:
    return fill<uint16_t>(target, bytes, 0x7fff);
  case 4:
    return fill<uint32_t>(target, bytes, 0x7fffffff);
  default:
    return fill<uint64_t>(target, bytes, 0x7fffffffffffffff);
  }
}
