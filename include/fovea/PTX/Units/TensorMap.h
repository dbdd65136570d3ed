//===- TensorMap.h - Tensor maps and the boxes they copy --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A tensor map is opaque: only the driver knows NVIDIA's encoding. The one here
// is the emulator's own. All 128 bytes count: a checksum tells a map from what
// is none.
//
//   bytes   what (little endian)
//   0-7     "FoveaTM1"
//   8-15    global address
//   16-35   sizes, less one, of 5 dimensions, 4 bytes each
//   36-67   strides in bytes of dimensions 1 to 4, 8 bytes each
//   68-77   box extents, 2 bytes each
//   78-82   element strides
//   83-88   data type, rank, interleave, swizzle, L2 promotion, fill
//   89-123  zero
//   124-127 checksum of the bytes before (FNV-1a)
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

/// CUtensorMapDataType, with its values.
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

/// What cuTensorMapEncodeTiled is given, with the dimension that is contiguous
/// first.
struct TensorMap {
  TensorDataType type = TensorDataType::UInt8;
  unsigned rank = 0;
  uint64_t address = 0;
  std::array<uint64_t, kMaxTensorRank> sizes{};
  /// In bytes; the first is an element's.
  std::array<uint64_t, kMaxTensorRank> strides{};
  std::array<uint32_t, kMaxTensorRank> box{};
  std::array<uint32_t, kMaxTensorRank> elementStrides{};
  /// CUtensorMapInterleave, CUtensorMapL2promotion.
  unsigned interleave = 0;
  unsigned l2Promotion = 0;
  SwizzleMode swizzle = SwizzleMode::None;
  /// Outside elements of float types are NaN instead of zero.
  bool fillNaN = false;

  /// Elements of a box that are copied in dimension `dim`. The contiguous
  /// dimension's element stride is ignored, as the driver says.
  unsigned getCopied(unsigned dim) const {
    return dim == 0
               ? box[0]
               : (box[dim] + elementStrides[dim] - 1) / elementStrides[dim];
  }
};

/// The driver's numbers to SwizzleMode (CUtensorMapSwizzle), or an error.
llvm::Expected<SwizzleMode> getTensorMapSwizzle(unsigned value);

/// What the driver demands of a map, in its terms; what is legal but not
/// modelled is an error that says so: interleaved layouts, types that change
/// values on the way (packed, .ftz, tf32), rows narrower than the swizzle.
llvm::Error checkTensorMap(const TensorMap &map);

/// From the arguments of cuTensorMapEncodeTiled, in its order and with its
/// numbers: `strides` has one entry less than the others. Checked.
llvm::Expected<TensorMap> makeTensorMap(unsigned dataType, unsigned rank,
                                        uint64_t address, const uint64_t *sizes,
                                        const uint64_t *strides,
                                        const uint32_t *box,
                                        const uint32_t *elementStrides,
                                        unsigned interleave, unsigned swizzle,
                                        unsigned l2Promotion, unsigned fill);

/// Checks and writes the 128 bytes, which must lie at a multiple of 64.
llvm::Error encodeTensorMap(const TensorMap &map, void *bytes);

/// Fails for bytes that encodeTensorMap has not written.
llvm::Expected<TensorMap> decodeTensorMap(const void *bytes);

/// cuTensorMapReplaceAddress, tensormap.replace .global_address.
llvm::Error replaceTensorMapAddress(void *bytes, uint64_t address);

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// Bytes of a box in shared memory, which is also what it counts at an
/// mbarrier: elements outside count too.
uint64_t getBoxBytes(const TensorMap &map);

/// cp.async.bulk.tensor and friends: shared memory must be aligned to 128
/// bytes, and coordinates must be as many as dimensions.
llvm::Error checkBoxCopy(const TensorMap &map, unsigned coordinates,
                         uint64_t sharedAddress);

/// Neighbouring elements: `bytes` at `global` (an address) and at `shared` (an
/// address in the CTA's window, swizzled). Outside the tensor `inside` is
/// false and `global` means nothing: a load writes the fill, a store nothing.
struct BoxRun {
  uint64_t global;
  uint32_t shared;
  uint32_t bytes;
  bool inside;
};

/// A load leaves out single elements, a store no less than 16 bytes: of a row's
/// last ones it writes all, also what lies past the tensor's end.
enum class BoxUse { Load, Store };

/// All runs of the box at `coordinates` (contiguous dimension first, may lie
/// outside in part or whole), in the order of shared memory before swizzling.
/// The runs cover the box's shared bytes once.
void forEachRun(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                uint32_t sharedAddress, BoxUse use,
                llvm::function_ref<void(const BoxRun &)> visit);

/// .tile::gather4 and .tile::scatter4: `coordinates` are the column and four
/// rows of a map of rank 2, whose box has one row. Row i lies at
/// i * (box bytes) of shared memory before swizzling.
llvm::Error checkGather(const TensorMap &map, unsigned coordinates,
                        uint64_t sharedAddress);
void forEachGatherRun(const TensorMap &map, llvm::ArrayRef<int32_t> coordinates,
                      uint32_t sharedAddress, BoxUse use,
                      llvm::function_ref<void(const BoxRun &)> visit);

/// Writes `bytes` of what lies outside: zeros or NaNs of the type.
void writeFill(const TensorMap &map, void *target, unsigned bytes);

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

enum class ReduceOp : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };

/// "add" and so on.
llvm::Expected<ReduceOp> parseReduceOp(llvm::StringRef name);

/// Whether cp.reduce.async.bulk(.tensor) has the operation on the type.
llvm::Error checkReduction(ReduceOp op, TensorDataType type);

/// target[i] = target[i] op source[i] of `count` elements, one after another.
/// Floats: add rounds to nearest even; min and max ignore a NaN if the other is
/// a number.
void reduceElements(ReduceOp op, TensorDataType type, void *target,
                    const void *source, size_t count);

} // namespace fovea::ptx

#endif // FOVEA_PTX_UNITS_TENSORMAP_H
