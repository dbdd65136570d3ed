//===- TensorMap.h - Tensor maps and their boxes ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A tensor map is opaque: only NVIDIA's driver knows its encoding. The emulator
// has its own encoding, in which all 128 bytes are significant; a checksum
// detects other data.
//
//   bytes   contents (little endian)
//   0-7     "FoveaTM1"
//   8-15    global address
//   16-35   sizes minus one of 5 dimensions, 4 bytes each
//   36-67   strides in bytes of dimensions 1 to 4, 8 bytes each
//   68-77   box extents, 2 bytes each
//   78-82   element strides
//   83-88   data type, rank, interleave, swizzle, L2 promotion, fill
//   89-123  zero
//   124-127 checksum of the preceding bytes (FNV-1a)
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PTX_UNITS_TENSORMAP_H
#define FOVEA_PTX_UNITS_TENSORMAP_H

#include "fovea/PTX/Units/Swizzle.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <array>

namespace fovea::ptx {

inline constexpr unsigned kMaxTensorRank = 5;
inline constexpr unsigned kTensorMapBytes = 128;

/// CUtensorMapDataType, with the same values.
enum class TensorDataType : uint8_t {
  UInt8,
  UInt16,
  UInt32,
  Int32,
  UInt64,
  Int64,
  Float16,
  Float32,
  Float64,
  BFloat16,
  Float32FTZ,
  TFloat32,
  TFloat32FTZ,
  U4Align8,
  U4Align16,
  U6Align16,
};

/// 0 for the packed types.
unsigned getByteWidth(TensorDataType type);
llvm::StringRef getName(TensorDataType type);

/// The arguments of cuTensorMapEncodeTiled, with the contiguous dimension
/// first.
struct TensorMap {
  TensorDataType type = TensorDataType::UInt8;
  unsigned rank = 0;
  uint64_t address = 0;
  std::array<uint64_t, kMaxTensorRank> sizes{};
  /// In bytes; the first is the element size.
  std::array<uint64_t, kMaxTensorRank> strides{};
  std::array<uint32_t, kMaxTensorRank> box{};
  std::array<uint32_t, kMaxTensorRank> elementStrides{};
  /// CUtensorMapInterleave, CUtensorMapL2promotion.
  unsigned interleave = 0;
  unsigned l2Promotion = 0;
  SwizzleMode swizzle = SwizzleMode::None;
  /// Out-of-bounds elements of float types are NaN instead of zero.
  bool fillNaN = false;

  /// Copied elements of a box in dimension `dim`. The element stride of the
  /// contiguous dimension is ignored, as the driver documents.
  unsigned getCopied(unsigned dim) const {
    return dim == 0
               ? box[0]
               : (box[dim] + elementStrides[dim] - 1) / elementStrides[dim];
  }
};

/// Converts CUtensorMapSwizzle to SwizzleMode, or fails.
llvm::Expected<SwizzleMode> getTensorMapSwizzle(unsigned value);

/// Checks the driver's requirements of a map. Legal but unsupported maps are
/// errors that say so: interleaved layouts, types with conversions during the
/// copy (packed, .ftz, tf32), rows narrower than the swizzle.
llvm::Error checkTensorMap(const TensorMap &map);

/// Converts and checks the arguments of cuTensorMapEncodeTiled, in its order
/// and with its values. `strides` has one entry fewer than the other arrays.
llvm::Expected<TensorMap> makeTensorMap(unsigned dataType, unsigned rank,
                                        uint64_t address, const uint64_t *sizes,
                                        const uint64_t *strides,
                                        const uint32_t *box,
                                        const uint32_t *elementStrides,
                                        unsigned interleave, unsigned swizzle,
                                        unsigned l2Promotion, unsigned fill);

/// Checks the map and writes the 128 bytes; `bytes` must be aligned to 64.
llvm::Error encodeTensorMap(const TensorMap &map, void *bytes);

/// Fails for bytes that encodeTensorMap did not write.
llvm::Expected<TensorMap> decodeTensorMap(const void *bytes);

/// cuTensorMapReplaceAddress, tensormap.replace .global_address.
llvm::Error replaceTensorMapAddress(void *bytes, uint64_t address);

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// Size of a box in shared memory, which is also its transaction count at an
/// mbarrier, including out-of-bounds elements.
uint64_t getBoxBytes(const TensorMap &map);

/// For cp.async.bulk.tensor and similar instructions: shared memory must be
/// aligned to 128 bytes, and the number of coordinates must be the rank.
llvm::Error checkBoxCopy(const TensorMap &map, unsigned coordinates,
                         uint64_t sharedAddress);

/// Contiguous elements: `bytes` at the address `global` and at `shared`, an
/// address in the CTA's window after swizzling. Outside of the tensor `inside`
/// is false and `global` is meaningless: a load writes the fill value, a store
/// writes nothing.
struct BoxRun {
  uint64_t global;
  uint32_t shared;
  uint32_t bytes;
  bool inside;
};

/// Loads skip single out-of-bounds elements. Stores have a granularity of 16
/// bytes: the last granule of a row is written entirely, even beyond the
/// tensor's end.
enum class BoxUse { Load, Store };

/// Calls `visit` for all runs of the box at `coordinates` (contiguous dimension
/// first; may be partly or entirely out of bounds), in the order of shared
/// memory before swizzling. Each of the box's shared bytes is in one run.
void forEachRun(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                uint32_t sharedAddress, BoxUse use,
                llvm::function_ref<void(const BoxRun &)> visit);

/// .tile::gather4 and .tile::scatter4: `coordinates` are the column and four
/// rows of a map of rank 2, whose box has one row. Row i is at offset i * (box
/// bytes) of shared memory before swizzling.
llvm::Error checkGather(const TensorMap &map, unsigned coordinates,
                        uint64_t sharedAddress);
void forEachGatherRun(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                      uint32_t sharedAddress, BoxUse use,
                      llvm::function_ref<void(const BoxRun &)> visit);

/// Writes `bytes` of the out-of-bounds fill value: zeros or NaNs of the type.
void writeFill(const TensorMap &map, void *target, unsigned bytes);

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

enum class ReduceOp : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };

/// Parses "add" and so on.
llvm::Expected<ReduceOp> parseReduceOp(llvm::StringRef name);

/// Checks that cp.reduce.async.bulk(.tensor) supports the operation on the
/// type.
llvm::Error checkReduction(ReduceOp op, TensorDataType type);

/// target[i] = target[i] op source[i] for `count` elements in order. For
/// floats, add rounds to nearest even; min and max ignore a NaN if the other
/// operand is a number.
void reduceElements(ReduceOp op, TensorDataType type, void *target,
                    const void *source, size_t count);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_TENSORMAP_H
