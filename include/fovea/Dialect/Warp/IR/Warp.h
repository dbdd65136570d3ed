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

namespace fovea::warp {
/// A static memref whose memory space is #warp.shared.
bool isSharedBuffer(mlir::Type type);

/// Rows of tensor memory, and its columns of 32 bits.
constexpr int64_t kTmemRows = 128, kTmemColumns = 512;
/// A static memref of 128 rows whose memory space is #warp.tmem.
bool isTmemBuffer(mlir::Type type);
/// Columns of 32 bits that a matrix in tensor memory takes.
int64_t getTmemColumns(mlir::MemRefType type);

/// Bytes of a panel's row, for a buffer with `columns` columns of `bits` bits:
/// the most of 128, 64 and 32 that divide a row.
int64_t getDividingRowBytes(int64_t columns, int64_t bits);
/// As above for buffers that the copy engine fills: wide panels, the last one
/// in part zero; and how many columns those have.
int64_t getBoxRowBytes(int64_t columns, int64_t bits);
int64_t getBoxPanelColumns(int64_t columns, int64_t bits);

/// Of a shared buffer, or of a stage of it: bytes and columns of a panel's row,
/// and the CTAs of a cluster that part its rows.
int64_t getRowBytes(mlir::MemRefType type);
int64_t getPanelColumns(mlir::MemRefType type);
int64_t getCtas(mlir::MemRefType type);

/// Whether a shared buffer has one number a row, and so no panels.
bool isRowVector(mlir::MemRefType type);
/// Whether it is a vector: of such, or one row of 32-bit elements, which no box
/// and no dot reads.
bool isVector(mlir::MemRefType type);
/// Bytes that a shared buffer takes, its last panel whole, and what its address
/// is a multiple of.
/// No more than `kTooManyBytes`, which no chip has: sums of some don't
/// overflow.
int64_t getStorageBytes(mlir::MemRefType type);
inline constexpr int64_t kTooManyBytes = int64_t(1) << 48;
int64_t getStorageAlignment(mlir::MemRefType type);
/// Rows of a shared buffer, or of a stage of it, that one CTA keeps.
int64_t getRowsOfCta(mlir::MemRefType type);
/// What panels' addresses are a multiple of: where the swizzle repeats.
inline constexpr int64_t kSharedAlignment = 1024;
/// Bytes at the end of a specialised kernel's shared memory that hold nothing.
inline constexpr int64_t kSpareSharedBytes = 16;

/// Stages of a pipeline, and slots of a mailbox: as many as plans may say.
inline constexpr int64_t kMostStages = 32;
/// Warp groups that take turns: a CTA's named barriers, but for the one at
/// which all of its threads meet.
inline constexpr int64_t kMostTurns = 15;

/// What is done to a stage of a pipeline.
enum class PipelineVerb { Acquire, Commit, Wait, Release };

/// The tile that a value of the type is or will be; null if it is none.
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
/// Whether a value of the type is in every warp: no tile, or one of which each
/// warp holds all.
bool isWholeInWarps(mlir::Type type);
/// Whether the tile has a layout, and that has fragments for matrix stores.
bool hasStoreFragments(mlir::RankedTensorType tile);

/// The asynchronous dots that may give `pending`, through loops and branches
/// that carry it. Fails if it may come from anywhere else.
llvm::FailureOr<llvm::SmallVector<DotOp>> findDots(mlir::Value pending);

/// How many dots surely were issued after the one that gives `pending`, when
/// `op` is executed; none if it gives nothing that is outstanding. `pending`
/// must be a value that `findDots` follows.
std::optional<int64_t> countYoungerDots(mlir::Value pending,
                                        mlir::Operation *op);
} // namespace fovea::warp

#endif // FOVEA_DIALECT_WARP_IR_WARP_H
