//===- WarpGroupBackwardLimits.h - Backward limits on Hopper ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Register, tile and buffer limits of the backward planner for wgmma. They are
// measured on Hopper, not derived.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_SCHEDULE_WARPGROUPBACKWARDLIMITS_H
#define FOVEA_LIB_SCHEDULE_WARPGROUPBACKWARDLIMITS_H

#include <cstdint>

namespace fovea::wgmma_backward {

/// How roles divide the work on a key tile.
enum class KeyRoles {
  /// The warp groups that accumulate dK and dV of their keys compute all inputs
  /// of these sums.
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

// Rows and columns of a dQ chunk if registers are scarce. Chunks are small so
// that the role that accumulates them needs few registers.
inline constexpr int64_t kDqChunkRows = 64, kDqChunkColumns = 64;
// Number of M-chunks of a key tile with Strips roles.
inline constexpr int64_t kKeyChunks = 2;

// dK and dV of 64 keys both stay in a warp group's registers, together with
// scores, up to this head dim. One of them alone fits for all supported head
// dims.
inline constexpr int64_t kWidestJoint = 128;
// Up to this number of columns of dK and dV, registers also hold dS.
inline constexpr int64_t kMostColumnsBesideGradients = 128;
// Up to this number of columns, persistent CTAs pay off: + 2 to 3 % up to head
// dim 80.
inline constexpr int64_t kMostColumnsThatGoOn = 160;
// Minimum number of queries in a block; number of warp groups, and keys per
// warp group.
inline constexpr int64_t kFewestQueries = 64, kGroups = 2, kGroupKeys = 64;
// Maximum number of queries in a block, if registers hold the scores and dP of
// that many. Synchronisation per block is then half as frequent, and MMAs read
// less shared memory per clock.
inline constexpr int64_t kMostQueries = 128;
// Registers per thread of the load role, of roles with accumulators, and of the
// role that computes dQ. Four warp groups have 128 each on average.
inline constexpr int64_t kLoadRegisters = 24, kComputeRegisters = 208,
                         kReduceRegisters = 72;
inline constexpr int64_t kRegisters = 512;
// Registers per thread of a role that has both accumulators of an M-chunk and
// all other work on it, and the most columns of dK and dV that leave enough
// registers for that work.
inline constexpr int64_t kStripRegisters = 240, kMostStripColumns = 320;
// Keys of a block, and registers per thread, in the kernel that computes sums
// over pairs. Three warp groups have 168 registers on average.
inline constexpr int64_t kSumsKeys = 128, kSumsRegisters = 240;
// Number of buffers per block. The larger number allows earlier loads, if
// blocks are short or memory is left over. Blocks are short up to the given
// number of columns of dK and dV.
inline constexpr int64_t kStages = 2, kMostStages = 3,
                         kMostColumnsOfShortBlocks = 192;
// Bytes of a per-row value, of an element of dq_accum, and of barriers and
// mailboxes.
inline constexpr int64_t kValueBytes = 4, kSumBytes = 4, kBarrierBytes = 512;
// Registers that the intermediate values of a score_mod take for blocks of 64
// queries.
inline constexpr int64_t kModifierRegisters = 32;
// Registers that a thread needs besides accumulators so that ptxas does not
// serialise its wgmmas (C7512). Most accumulators of the role with scores:
// those of the next block and of a dQ chunk. Accumulators of the scores, or of
// dP, of a block alone.
inline constexpr int64_t kBesideAccumulators = 32, kScoreAccumulators = 96,
                         kBlockAccumulators = 32;
// Registers per thread of a role that computes two chunks of dQ at a time.
inline constexpr int64_t kTwoPartsRegisters = 96;
// Upper limit for the role with scores, including score_mods and random
// numbers.
inline constexpr int64_t kMostScoreRegisters = 208;

} // namespace fovea::wgmma_backward

#endif // FOVEA_LIB_SCHEDULE_WARPGROUPBACKWARDLIMITS_H
