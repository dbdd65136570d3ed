//===- ForwardKernel.h - State of a forward kernel --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state shared by all emitters of a forward kernel: its plan, arguments and
// current query tile.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDKERNEL_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDKERNEL_H

#include "Forward/ForwardPlan.h"
#include "Kernel/BlockPosition.h"
#include "Regions/RegionContext.h"

namespace fovea {

/// The kernel's arguments; `lse` is null if the op has no such result, `v` if
/// the values are columns of K.
struct ForwardArguments {
  mlir::Value q, k, v, o, lse;
  llvm::SmallVector<mlir::Value> captures;

  static ForwardArguments of(KernelBuilder &kb, attn::ForwardOp op);
};

/// The pieces of an item whose cuts do not depend on the shares.
struct FixedPieces {
  /// Most pieces of the item, and the slot of the first one in the memory of
  /// partial states.
  mlir::Value most, slot;
};

/// One query tile and its keys.
struct QueryTile {
  KernelBuilder::Work work;
  /// The head of K and V, and the first one of Q; lengths of the sequence.
  mlir::Value keyHead, head, queries, keys;
  /// The position of the tile's rows in Q and O, along the row dimension of the
  /// kernel, and those of the keys in K and V.
  BlockPosition rows;
  KeyAddressing keyAddressing;
  FixedPieces pieces = {};
};

/// A forward kernel under construction. The builder is inside the loop over
/// tiles.
struct ForwardKernel {
  KernelBuilder &kb;
  attn::ForwardOp op;
  const ForwardPlan &plan;
  ForwardArguments arguments;
  QueryTile tile;
  /// With shares: the first tile of a group of items, in the region for its
  /// number of blocks.
  std::optional<QueryTile> group = {};
  /// The kernel's first row within the query tile, if its plan has a part of
  /// the tile's rows; null for 0.
  mlir::Value firstRow = {};

  /// Starts the loop over query tiles.
  static ForwardKernel begin(KernelBuilder &kb, attn::ForwardOp op,
                             const ForwardPlan &plan);

  mlir::Location getLoc() const { return kb.getLoc(); }
  /// The position in K and V of the block that begins with `key`.
  BlockPosition locateKeys(mlir::Value key) const;
  /// Loads the block of K whose first key is `key`.
  mlir::Value loadKeys(mlir::Value key) const;
  /// The scale `name` of the tile's sequence and key head, an f32; null if the
  /// op does not have it.
  mlir::Value loadScale(llvm::StringRef name) const;
  /// The mean of V that the op adds to the output, 1xDv; or null.
  mlir::Value loadMean() const;
  /// Indices of the tile's first row in Q and O; without the last one, in LSE.
  llvm::SmallVector<mlir::Value> getRowPlace() const;
  /// The dimension of Q and O that rows run along, and the dimension folded
  /// into it by PackGQA.
  int64_t getRowDim() const { return plan.packedHeads.hasAllQueries() ? 1 : 2; }
  mlir::DenseI64ArrayAttr getFold() const;
  /// The query of the tile's first row.
  mlir::Value getFirstQuery() const;
  /// Context of the score block whose first key is `key`, or null.
  RegionContext makeContext(mlir::Value key) const;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDKERNEL_H
