//===- BackwardKernelPlan.h - Plan of one backward kernel -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The facts about one kernel of the backward pass that are known before any IR
// is emitted: its plan, and the properties of the op that its plan cannot know.
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
  /// With `addsQuery`: how the keys kernel adds to dq_accum.
  plan::StorePlan dqAccum = {};
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
  int64_t getStrips() const { return kind == Keys ? plan->rowChunks : 1; }
  /// Ordered accumulation of dQ, controlled by semaphores.
  bool ordersSums() const { return dqAccum.isOrdered; }
  /// dK's dot reads dS from registers, not from shared memory.
  bool keepsGradients() const {
    return !addsQuery || plan.getDot("dk").aInRegisters;
  }
  /// One role computes dS and dQ.
  bool computesDqFromDs() const { return haveSameOwner("ds", "dq"); }
  /// dS is computed from the P that another role sends.
  bool receivesProbabilities() const {
    return plan.hasRoles() && !haveSameOwner("s", "ds");
  }
  /// P passes through a stream: another role or warp reads it.
  bool streamsProbabilities() const {
    return receivesProbabilities() || !plan.warpsHaveRows() ||
           (plan.hasRoles() && !haveSameOwner("s", "dv"));
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
  /// True if one role owns both names. M-chunks have the same division.
  bool haveSameOwner(llvm::StringRef one, llvm::StringRef other) const {
    return plan.haveSameOwner(getStripName(one, 0), getStripName(other, 0));
  }
  /// The name of a stream or dot, with the chunk's index if there are several.
  std::string getStripName(llvm::StringRef name, int64_t strip) const {
    return getStrips() == 1 ? name.str()
                            : (name + "." + llvm::Twine(strip)).str();
  }
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDKERNELPLAN_H
