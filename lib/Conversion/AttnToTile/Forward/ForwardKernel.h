//===- ForwardKernel.h - A forward kernel and its tile ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDKERNEL_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDKERNEL_H

#include "Forward/ForwardPlan.h"
#include "Kernel/KernelBuilder.h"
#include "Regions/RegionContext.h"

namespace fovea {

/// The kernel's arguments; LSE is null where it is not asked for.
struct ForwardArguments {
  mlir::Value q, k, v, o, lse;
  llvm::SmallVector<mlir::Value> captures;

  static ForwardArguments of(KernelBuilder &kb, attn::ForwardOp op);
};

/// One tile of queries, and the keys that it meets.
struct QueryTile {
  KernelBuilder::Work work;
  /// The head of K and V; lengths of the sequence.
  mlir::Value keyHead, queries, keys;
  /// Where the sequence lies: a batch index of the tensors, and its first key's
  /// row there, null where that is 0.
  mlir::Value memoryBatch, firstKey;
  /// The tile's first row in memory, along the dimension that rows run along;
  /// where rows and keys end there, if others follow.
  mlir::Value firstRow, rowLimit, keyLimit;
};

/// What every part of a forward kernel's program is emitted from. The builder
/// stands in the loop over tiles.
struct ForwardKernel {
  KernelBuilder &kb;
  attn::ForwardOp op;
  const ForwardPlan &plan;
  ForwardArguments arguments;
  QueryTile tile;

  /// Starts the loop over tiles of queries.
  static ForwardKernel begin(KernelBuilder &kb, attn::ForwardOp op,
                             const ForwardPlan &plan);

  mlir::Location getLoc() const { return kb.getLoc(); }
  /// Row of memory of a key.
  mlir::Value toMemory(mlir::Value key) const;
  /// Indices of the tile's first row in Q, O and, but for the last, LSE.
  llvm::SmallVector<mlir::Value> getRowPlace() const;
  /// The dimension of those that rows run along, and what is folded into it.
  int64_t getRowDim() const { return plan.packedHeads ? 1 : 2; }
  mlir::DenseI64ArrayAttr getFold() const;
  /// The block of scores whose first key is `key`, or null.
  RegionContext makeContext(mlir::Value key) const;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDKERNEL_H
