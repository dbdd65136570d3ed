//===- BackwardKernelPlan.h - Plan of one backward kernel -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decisions about one kernel of the backward pass, made before any IR is
// emitted. BackwardPlan.cpp fills it from the planner's BackwardPlans.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNELPLAN_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNELPLAN_H

#include "fovea/Schedule/BackwardPlans.h"

namespace fovea {

/// The plan of one kernel. Contains no IR.
struct BackwardKernelPlan {
  /// - Delta: preprocess over query tiles: delta; clears dq_accum and
  ///   semaphores if the keys kernel accumulates dQ.
  /// - Queries: query tiles over their keys: dQ and sums over pairs; delta.
  /// - Round: postprocess over query tiles: dq_accum to dQ.
  /// - Keys: key tiles over their queries: dK, dV, and contributions to dQ.
  /// - SlotCounts: semaphore slots of each key tile at each query block.
  enum Kind { Delta, Queries, Round, Keys, SlotCounts };
  Kind kind;
  llvm::StringRef suffix;
  /// For SlotCounts, the plan of the keys kernel whose slots are counted.
  plan::KernelAttr plan = {};
  /// Head dims, padded to the reduction step of the MMA.
  int64_t headDim = 0, valueHeadDim = 0;
  /// Keys: computes dK, dV.
  bool key = false, value = false;
  /// Queries or Delta: computes dQ, computes the gradient of the sinks, stores
  /// delta for other kernels.
  bool query = false, sinks = false, storesDelta = false;
  /// Queries or Round: computes the gradient of the scale from unscaled dQ.
  bool scale = false;
  /// Computes sums over pairs: gradients with respect to captured tensors, and
  /// with respect to the scale if no kernel computes that from dQ.
  bool sums = false;
  /// dQ is accumulated in memory (dq_accum).
  bool addsQuery = false;
  /// With `addsQuery`: fragments are stored register by register, one element
  /// per lane, to match a scalar atomic add.
  bool storesByRegister = false;
  /// With `addsQuery`: ordered accumulation, controlled by semaphores.
  bool ordersSums = false;
  /// With `addsQuery`: dS stays in registers for dK's MMA; the next chunk of dQ
  /// is computed while the previous one is added.
  bool keepsGradients = false, addsAhead = false;
  /// Keys: dV's MMA is issued after dS is computed; dP's accumulator starts
  /// from -delta.
  bool delaysDv = false, startsFromDelta = false;
  /// Keys: dS is computed from rounded P.
  bool roundsProbabilities = false;
  KeyRoles keyRoles = KeyRoles::Joint;
  /// Rows and columns of a dQ chunk.
  int64_t partRows = kDqChunkRows, partColumns = kDqChunkColumns;
  /// The scaled LSE and delta are loaded before the MMAs that run at the
  /// same time, not at their first use.
  bool loadsLseFirst = false, deltaFirst = false;
  /// The derivative of score_mod is computed with P, not with dS.
  bool slopesFirst = false;
  /// A key tile processes a query block of all heads of its group before the
  /// next block: tiles of a head stay close together and share data in L2.
  bool visitsGroups = false;
  /// Ordered accumulation starts at each tile's first visible block; the
  /// previous tile in the order starts one block later.
  bool followsDiagonal = false;
  /// Each of those tiles starts at a different block. Otherwise, as in a
  /// bidirectional document mask, tiles start at one block and wait for each
  /// other.
  bool beginsApart = false;

  /// True if the kernel's tiles are queries, else they are keys.
  bool hasQueryTiles() const { return kind != Keys && kind != SlotCounts; }
  /// True if the kernel writes whole blocks of fragments, at least one.
  bool fillsFragments() const { return kind == Delta && addsQuery; }

  /// Rows of the kernel's tile.
  int64_t getTileRows() const { return plan->tileM; }
  /// M-chunks of the tile, each processed by one role.
  int64_t getStrips() const {
    return keyRoles == KeyRoles::Strips ? kKeyChunks : 1;
  }
  /// Extents of a score tile.
  int64_t getRows() const { return getTileRows() / getStrips(); }
  int64_t getColumns() const { return plan->tileN; }
  /// Queries and keys of a score tile.
  int64_t countQueries() const {
    return hasQueryTiles() ? getRows() : getColumns();
  }
  int64_t countKeys() const {
    return hasQueryTiles() ? getColumns() : getRows();
  }
  /// The name of a stream or dot, with the chunk's index if there are several.
  std::string getStripName(llvm::StringRef name, int64_t strip) const {
    return getStrips() == 1 ? name.str()
                            : (name + "." + llvm::Twine(strip)).str();
  }
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNELPLAN_H
