//===- BackwardPlans.h - Plans of backward kernels --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The problem and the plans of a backward pass: which kernels there are, how
// tiles of keys are divided among roles, and how dQ is accumulated. Planners
// make the plans; `attn-to-tile` generates the kernels from them.
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

/// Rows and columns of a dQ chunk if registers are scarce. Chunks are small so
/// that the role that accumulates them needs few registers.
inline constexpr int64_t kDqChunkRows = 64, kDqChunkColumns = 64;

/// How roles divide the work on a key tile.
enum class KeyRoles {
  /// The warp groups that accumulate dK and dV of their keys compute all inputs
  /// of these sums, or the kernel has no roles.
  Joint,
  /// One role computes P and dS and sends them through streams to a role that
  /// accumulates dV and a role that accumulates dK.
  Scores,
  /// The role that accumulates dV computes P. The role that accumulates dK
  /// computes dS from P, which it receives through a stream.
  Pairs,
  /// The key tile has two M-chunks with a role each. A role computes P and dS
  /// of its chunk, accumulates both dK and dV of its keys, and computes some
  /// columns of dQ.
  Strips,
};

/// Number of M-chunks of a key tile.
inline constexpr int64_t kKeyChunks = 2;

/// The structure of a backward pass, and the plans of its kernels.
struct BackwardPlans {
  /// Plans of the kernels over key tiles and of those over query tiles. `sums`
  /// is the plan of a separate kernel that computes the sums over pairs; null
  /// if another kernel computes them.
  plan::KernelAttr keys, queries, sums;
  /// One kernel over key tiles computes all gradients. It accumulates dQ in f32
  /// in memory (dq_accum), which a preprocess kernel clears and a postprocess
  /// kernel rounds.
  bool accumulatesDq = false;
  /// Accumulators in memory are in register order: the elements that a warp
  /// adds with one instruction are contiguous.
  bool storesByRegister = false;
  /// Key tiles accumulate into a block of dQ in a fixed order.
  bool ordersSums = false;
  /// Kernels over key tiles also compute the sums over pairs.
  bool keysFindSums = false;
  /// One kernel computes both dK and dV.
  bool sharesKeyTiles = true;
  /// dS stays in registers as the operand of dK's dot.
  bool keepsGradients = false;
  /// dV's dot is issued after dS is computed. Registers then hold P in f32
  /// until dS is known, and its rounded form after that, never both.
  bool delaysDv = false;
  /// dS is computed from the rounded P of dV's dot. Registers then hold no f32
  /// form of P besides the values that a score_mod needs.
  bool roundsProbabilities = false;
  /// dP's accumulator starts from -delta, which saves a subtraction per pair.
  bool startsFromDelta = false;
  /// The LSE term and the delta of queries are loaded before the adjacent dots
  /// are issued. After them, the loads would wait for the operands of the dots.
  bool loadsLseFirst = false, deltaFirst = false;
  /// The derivative of score_mod is computed together with P, and its product
  /// with P is kept, both rounded, instead of their inputs.
  bool slopesFirst = false;
  KeyRoles keyRoles = KeyRoles::Joint;
  /// A chunk of a block's dQ is computed while the previous chunk is
  /// accumulated.
  bool addsAhead = false;
  /// Rows and columns of a dQ chunk.
  int64_t partRows = kDqChunkRows, partColumns = kDqChunkColumns;
};

} // namespace fovea

#endif // FOVEA_SCHEDULE_BACKWARDPLANS_H
