//===- Warp.h - The warp dialect --------------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_WARP_H
#define FOVEA_DIALECT_WARP_IR_WARP_H

#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Support/Warps.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include "llvm/ADT/BitmaskEnum.h"

namespace fovea::warp {
/// Returns true for a static memref in the memory space #warp.shared.
bool isSharedBuffer(mlir::Type type);

/// Rows of tensor memory and its 32-bit columns.
constexpr int64_t kTmemRows = 128, kTmemColumns = 512;
/// Returns true for a static memref of 128 rows in the memory space #warp.tmem.
bool isTmemBuffer(mlir::Type type);
/// Number of 32-bit columns that a matrix in tensor memory occupies.
int64_t getTmemColumns(mlir::MemRefType type);

/// Bytes of a panel row of a buffer with `columns` columns of `bits` bits: the
/// largest of 128, 64 and 32 that divides a row.
int64_t getDividingRowBytes(int64_t columns, int64_t bits);
/// The same for buffers that TMA fills, and the columns of their panels. Panels
/// are wide; the last one may be padded with zeros.
int64_t getBoxRowBytes(int64_t columns, int64_t bits);
int64_t getBoxPanelColumns(int64_t columns, int64_t bits);

/// Properties of a shared buffer or of a stage of it: bytes and columns of a
/// panel row, and the number of CTAs of a cluster that divide its rows.
int64_t getRowBytes(mlir::MemRefType type);
int64_t getPanelColumns(mlir::MemRefType type);
int64_t getCtas(mlir::MemRefType type);

/// Returns true if a shared buffer has one element per row, and so no panels.
bool isRowVector(mlir::MemRefType type);
/// Returns true if a shared buffer is a vector: one element per row, or one row
/// of 32-bit elements. Neither TMA tiles nor dots access vectors.
bool isVector(mlir::MemRefType type);
/// Size of a shared buffer in bytes, with its last panel in full, and its
/// alignment. The size is at most `kTooManyBytes`, which exceeds the memory of
/// any GPU, so that sums of sizes do not overflow.
int64_t getStorageBytes(mlir::MemRefType type);
inline constexpr int64_t kTooManyBytes = int64_t(1) << 48;
int64_t getStorageAlignment(mlir::MemRefType type);
/// Number of rows of a shared buffer, or of a stage of it, that one CTA keeps.
int64_t getRowsOfCta(mlir::MemRefType type);
/// Alignment of panels: the swizzle pattern repeats after so many bytes.
inline constexpr int64_t kSharedAlignment = 1024;
/// Bytes at the end of the shared memory of a kernel with roles that no buffer
/// uses. `warp-to-nvvm` keeps the address of tensor memory there.
inline constexpr int64_t kSpareSharedBytes = 16;

/// Maximum number of stages of a pipeline and of slots of a mailbox, as in
/// plans.
inline constexpr int64_t kMostStages = 32;
/// Maximum number of warp groups in a ping-pong order. Each needs a named
/// barrier of the CTA; one more is used to synchronise all threads.
inline constexpr int64_t kMaxPingPongGroups = 15;

/// Kinds of pipeline ops.
enum class PipelineOpKind { Acquire, Commit, Wait, Release };

/// Fences that each lane executes before the lanes of its warp synchronise.
enum class LaneFence : unsigned {
  None = 0,
  /// Stores to shared memory become visible to the async proxy: TMA and MMA
  /// units.
  AsyncProxy = 1,
  /// Loads from and stores to tensor memory complete.
  TmemLoads = 2,
  TmemStores = 4,
  LLVM_MARK_AS_BITMASK_ENUM(/*LargestValue=*/TmemStores)
};
LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();
/// Returns true if `fences` contains all of `needed`.
inline bool containsAll(LaneFence fences, LaneFence needed) {
  return (fences & needed) == needed;
}

/// Returns the tile type of a tile or of an outstanding dot; null for other
/// types.
mlir::RankedTensorType getDeliveredType(mlir::Type type);
} // namespace fovea::warp

#include "fovea/Dialect/Warp/IR/WarpDialect.h.inc"

#include "fovea/Dialect/Warp/IR/WarpAttrInterfaces.h.inc"
#include "fovea/Dialect/Warp/IR/WarpOpInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Warp/IR/WarpAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "fovea/Dialect/Warp/IR/WarpTypes.h.inc"

#define GET_OP_CLASSES
#include "fovea/Dialect/Warp/IR/WarpOps.h.inc"

namespace fovea::warp {
/// Returns the region of the role that contains the op, or null.
mlir::Region *getRole(mlir::Operation *op);
/// Returns the value that the kernel created, seen through role arguments and
/// views of stages.
mlir::Value getShared(mlir::Value value);

/// Returns true if every warp holds a value of this type as a whole: it is no
/// tile, or a tile that is replicated in each warp.
bool isReplicatedPerWarp(mlir::Type type);
/// Returns true if the tile has a layout whose fragments `stmatrix` accepts.
bool hasStoreFragments(mlir::RankedTensorType tile);

/// Returns the asynchronous dots that may produce `pending`, through loops and
/// branches that carry it. Fails if it may come from any other op.
llvm::FailureOr<llvm::SmallVector<DotOp>> findDots(mlir::Value pending);

/// Returns a lower bound on the number of dots issued between the dot that
/// produces `pending` and the execution of `op`, or none if no such dot is
/// outstanding. `findDots` must succeed for `pending`.
std::optional<int64_t> countYoungerDots(mlir::Value pending,
                                        mlir::Operation *op);
} // namespace fovea::warp

#endif // FOVEA_DIALECT_WARP_IR_WARP_H
