//===- BackwardPlans.h - Plans of backward kernels --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The problem of a backward pass, as planners see it, and the plans of its
// kernels. Planners make the plans; `attn-to-tile` generates the kernels from
// them.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_BACKWARDPLANS_H
#define FOVEA_SCHEDULE_BACKWARDPLANS_H

#include "fovea/Dialect/Launch/IR/Launch.h"
#include "fovea/Support/Target.h"

namespace fovea {

/// The properties of a problem that determine the plans of its backward pass.
struct BackwardProblem {
  const TargetInfo *target;
  /// Bits of an MMA operand element.
  int64_t elementBits;
  /// Head dims of Q and K, and of V, padded to the requirements of the
  /// instructions.
  int64_t headDim, valueHeadDim;
  /// The requested gradients.
  bool query = true, key = true, value = true;
  /// The problem also has gradients with respect to captured values or the
  /// scale, which are sums over pairs of query and key.
  bool sums = false;
  /// Kernels over key tiles can compute all of these sums: the contribution of
  /// a pair is known once its dS is.
  bool keyTilesComputeSums = false;
  /// If `keyTilesComputeSums`: the addresses of some sums depend on at most
  /// key, head and batch entry; the addresses of some depend on the relative
  /// position of query and key.
  bool sumsByKey = false, sumsByRelativePosition = false;
  /// Number of contributions per pair to sums by relative position, in addition
  /// to dS.
  int64_t relativePositionShares = 0;
  /// Number of values that scores or dS read per relative position. Each is
  /// computed once per relative position of a block.
  int64_t diagonals = 0;
  /// Number of buffers for each of these values: with two, the next block's
  /// values are prefetched.
  int64_t diagonalStages = 1;
  /// Sequences are packed: their lengths are known only on the device.
  bool isPacked = false;
  /// Something besides the score, and values by relative position added to it,
  /// is computed per pair: the result of a score_mod, or dropout.
  bool modifies = false;
  /// There is a score_mod, of any kind.
  bool hasScoreMod = false;
  /// Pairs are dropped at random.
  bool hasDropout = false;
  /// dS of a pair depends on more than P: on the score, or on whether the pair
  /// is dropped.
  bool readsScores = false;
  /// Key tiles may be visible to different numbers of query blocks.
  bool isUneven = false;
  /// Gradients must be deterministic: sums have a fixed order.
  bool isDeterministic = false;
  /// Kernels can evaluate, block by block, which query blocks see a key tile.
  bool classifies = false;
  /// Size in queries and keys of the blocks of block-sparse lists, or 0.
  int64_t queryBlock = 0, keyBlock = 0;

  /// Leaves the sums over pairs to another kernel.
  void omitSums() {
    keyTilesComputeSums = sumsByKey = sumsByRelativePosition = false;
    relativePositionShares = 0;
  }
  /// Lets the role that computes scores also compute the values by relative
  /// position.
  void omitRelativePositions() {
    modifies |= diagonals > 0;
    diagonals = 0;
  }
  int64_t getWidestHead() const { return std::max(headDim, valueHeadDim); }
  /// Columns of dK and dV in total.
  int64_t getColumns() const { return headDim + valueHeadDim; }
  int64_t getElementBytes() const { return elementBits / 8; }
};

/// The user-specified fields of a backward schedule; the planner chooses the
/// others.
struct BackwardFields {
  std::optional<int64_t> tileM, tileN, stages, keyStages, producerRegisters;
  std::optional<plan::WorkSchedule> work;
  /// How contributions to dq_accum are written to memory.
  std::optional<plan::OutputPath> output;
};

/// The plans of the kernels of a backward pass. Which kernels there are follows
/// from the plans and the requested gradients:
///
/// - If `keys` has a store "dq_sum" that accumulates, its kernel computes all
///   gradients. A preprocess kernel clears dq_accum, and a postprocess kernel
///   rounds it. Otherwise a kernel over query tiles computes dQ.
/// - If `keys` has 'pair_sums', its kernel also computes the sums over pairs.
struct BackwardPlans {
  /// Kernels over key tiles; null if no gradient of keys and values is
  /// requested.
  plan::KernelAttr keys;
  /// A separate kernel for dV; null: the kernel of `keys` computes dV, too.
  plan::KernelAttr values;
  /// Kernels over query tiles.
  plan::KernelAttr queries;
  /// A separate kernel for the sums over pairs; null: another kernel computes
  /// them.
  plan::KernelAttr sums;

  /// How kernels over key tiles add to dq_accum.
  plan::StorePlan getDqAccum() const { return keys.getStore("dq_sum"); }
  bool accumulatesDq() const { return getDqAccum().accumulates; }
};

} // namespace fovea

#endif // FOVEA_SCHEDULE_BACKWARDPLANS_H
