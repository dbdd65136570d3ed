//===- SequenceOrder.h - Packed sequences, longest first --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A prologue kernel that sorts packed sequences by their number of keys, so
// that the longest ones are processed first.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_SEQUENCEORDER_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_SEQUENCEORDER_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// The packed sequences of a kernel's loop over tiles.
struct PackedWork {
  /// Operand index of the offsets of the queries, and the queries' memref.
  unsigned offsets;
  mlir::Value queries;
  /// Heads, each with tiles of its own, and the tile rows of a query.
  mlir::Value heads;
  int64_t rowsPerQuery = 1;
  /// Operand index of the offsets of keys, or else of the numbers of keys; only
  /// for an order of sequences.
  std::optional<unsigned> keys = {};
  bool keysAreOffsets = true;
};

// Rows of the scratch memory of the order. For each position, and one past the
// last:
/// - the number of tiles of the sequences before it,
constexpr int64_t kFirstSlots = 0;
/// - the index of the sequence at that position.
constexpr int64_t kSequences = 1;

/// Declares the order of the sequences of `work`, for tiles of `tileM` rows.
/// Returns its scratch memory.
mlir::Value declareSequenceOrder(KernelBuilder &kb, const PackedWork &work,
                                 int64_t tileM);

/// Creates the prologue kernel that computes the declared order, with its ABI,
/// next to the kernel whose ABI is `main`.
void buildSequenceOrder(const KernelBuilder &kb, launch::AbiOp main);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_SEQUENCEORDER_H
