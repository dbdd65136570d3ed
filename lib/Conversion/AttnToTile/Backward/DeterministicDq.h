//===- DeterministicDq.h - The order in which dQ is summed ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where gradients are to be deterministic, tiles of keys take turns at the sums
// of each block of queries. BackwardTurns.cpp says in which order, and why no
// one waits for ever.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_DETERMINISTICDQ_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_DETERMINISTICDQ_H

#include "Backward/BackwardKernel.h"

namespace fovea {

/// So many turns, one behind the other, one CTA finds.
inline constexpr int64_t kTurnsOfWarp = 32;

/// The turn of the kernel's tile of keys at a block of queries.
struct BackwardTurn {
  /// The block's semaphore: batch entry, head and number of the block.
  llvm::SmallVector<mlir::Value, 3> semaphore;
  /// Whether the tile has a turn there, i1; or null: it has.
  mlir::Value exists;
};

BackwardTurn emitTurn(const BackwardKernel &kernel, const QueryPlace &place,
                      mlir::Value exists);
/// Waits until the tile may add to the block's sums; and lets the next tile do
/// so. `part` of what is added is known by then.
void emitStartOfTurn(const BackwardKernel &kernel, const BackwardTurn &turn,
                     mlir::Value part);
void emitEndOfTurn(const BackwardKernel &kernel, const BackwardTurn &turn,
                   mlir::Value part);

/// In a kernel before: the tile's block of queries has had no turn.
void emitNoTurnsYet(const BackwardKernel &kernel);

/// Emits the body of the kernel that counts, for each tile of keys and block of
/// queries, the tiles that have a turn before it. `part` is that kernel's.
mlir::LogicalResult emitTurns(KernelBuilder &kb, attn::BackwardOp op,
                              const BackwardKernelPlan &part,
                              const BackwardScratch &memory);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_DETERMINISTICDQ_H
