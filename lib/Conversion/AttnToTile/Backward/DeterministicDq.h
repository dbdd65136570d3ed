//===- DeterministicDq.h - Ordered accumulation of dQ -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deterministic gradients: key tiles add to each query block's dq_accum in a
// fixed order, by a semaphore per block. DeterministicDq.cpp describes the
// order and why it cannot deadlock.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_DETERMINISTICDQ_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_DETERMINISTICDQ_H

#include "Backward/BackwardKernel.h"

namespace fovea {

/// Consecutive semaphore slots that one CTA computes.
inline constexpr int64_t kSlotsPerCta = 32;

/// The slot of the kernel's key tile at a query block.
struct SemaphoreSlot {
  /// The block's semaphore: indices for batch entry, head and block.
  llvm::SmallVector<mlir::Value, 3> semaphore;
  /// True if the tile has a slot there, i1; null if it always has.
  mlir::Value exists;
};

SemaphoreSlot makeSemaphoreSlot(const BackwardKernel &kernel,
                                const QueryPlace &place, mlir::Value exists);
/// Waits until the tile may add to the block's dq_accum, and lets the next tile
/// do so. `part` is the dQ chunk that must be known before.
void emitSemaphoreWait(const BackwardKernel &kernel, const SemaphoreSlot &slot,
                       mlir::Value part);
void emitSemaphoreRelease(const BackwardKernel &kernel,
                          const SemaphoreSlot &slot, mlir::Value part);

/// In the preprocess kernel: resets the semaphore of the tile's query block.
void zeroSemaphores(const BackwardKernel &kernel);

/// Emits the body of the kernel that counts, for each key tile and query block,
/// the tiles before it in the order that add to the block. `part` is the plan
/// of that kernel.
mlir::LogicalResult emitSlotCounts(KernelBuilder &kb, attn::BackwardOp op,
                                   const BackwardKernelPlan &part,
                                   const BackwardScratch &memory);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_DETERMINISTICDQ_H
