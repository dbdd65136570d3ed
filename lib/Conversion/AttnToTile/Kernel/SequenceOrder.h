//===- SequenceOrder.h - Packed sequences, longest first --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_SEQUENCEORDER_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_SEQUENCEORDER_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

// Rows of the scratch memory that holds the order. For each place in it, and
// one behind the last:
/// - how many tiles the sequences before it have,
constexpr int64_t kFirstSlots = 0;
/// - which sequence is there.
constexpr int64_t kSequences = 1;

/// Declares that a prologue finds the order of packed sequences whose operands
/// are those from `firstOffsets` on, for tiles of `tileM` queries. Returns the
/// memory that it is in.
mlir::Value declareSequenceOrder(KernelBuilder &kb, unsigned firstOffsets,
                                 int64_t tileM);

/// Makes the kernel that finds the order which `kb` has declared, with its ABI,
/// beside the kernel whose ABI is `main`; one more kernel of its prologue.
void buildSequenceOrder(const KernelBuilder &kb, launch::AbiOp main);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_SEQUENCEORDER_H
