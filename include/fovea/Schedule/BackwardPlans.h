//===- BackwardPlans.h - Plans of kernels that find gradients ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_SCHEDULE_BACKWARDPLANS_H
#define FOVEA_SCHEDULE_BACKWARDPLANS_H

#include "fovea/Schedule/Schedule.h"

namespace fovea {

/// What the plans of a backward pass depend on.
struct BackwardProblem {
  const TargetInfo *target;
  /// Bits of an element of what is multiplied.
  int64_t elementBits;
  /// Head dims of Q and K, and of V, padded to what instructions need.
  int64_t headDim, valueHeadDim;
  /// The gradients that are asked for.
  bool query = true, key = true, value = true;
  /// There are sums over pairs, too: by captured values and scale.
  bool sums = false;
  /// Tiles of keys can find all of those on their way: what pairs add is known
  /// with their derivatives.
  bool tilesFindSums = false;
  /// Then: the places of some differ by key, head and batch entry at most; the
  /// places of some by the distance of query and key.
  bool sumsByKey = false, sumsByDistance = false;
  /// What the latter add for each pair, beside its derivative by the score.
  int64_t distanceShares = 0;
  /// Numbers that scores, or derivatives by them, take by distance: each is
  /// found once for each diagonal of a block.
  int64_t diagonals = 0;
  /// Buffers of each: with two the next block's are there.
  int64_t diagonalStages = 1;
  /// Sequences are packed: the device alone knows how many rows each has.
  bool isPacked = false;
  /// Something is computed for each pair beside its score and the sum of that
  /// and diagonals: what score_mod makes of it, or whether it is dropped.
  bool modifies = false;
  /// There is a score_mod, whatever it computes.
  bool hasScoreMod = false;
  /// Derivatives by scores need more of a pair than its weight: the score, or
  /// whether it was dropped.
  bool readsScores = false;
  /// Unequal numbers of blocks of queries may see tiles of keys.
  bool isUneven = false;
  /// Sums have one order.
  bool isDeterministic = false;
  /// Kernels can tell which blocks of queries see a tile of keys, one by one.
  bool classifies = false;
  /// Queries and keys of the blocks that lists say to visit, or 0.
  int64_t queryBlock = 0, keyBlock = 0;

  /// Tiles of keys find no sums over pairs.
  void leaveSums() {
    tilesFindSums = sumsByKey = sumsByDistance = false;
    distanceShares = 0;
  }
  /// Who computes scores finds their diagonals.
  void leaveDiagonals() {
    modifies |= diagonals > 0;
    diagonals = 0;
  }
  int64_t getWidestHead() const { return std::max(headDim, valueHeadDim); }
  /// Columns of dK and dV together.
  int64_t getColumns() const { return headDim + valueHeadDim; }
  int64_t getElementBytes() const { return elementBits / 8; }
};

/// What may be said of a backward pass's schedule; the rest is open.
struct BackwardFields {
  std::optional<int64_t> tileM, tileN, stages, keyStages, producerRegisters;
  std::optional<plan::WorkSchedule> work;
  /// How what is added to dQ's sums gets to memory.
  std::optional<plan::OutputPath> output;
};

/// Rows of a product for dQ, and columns where registers are short: few, so
/// that who adds them up needs few registers.
inline constexpr int64_t kQueryPartRows = 64, kQueryPartColumns = 64;

/// Who finds what of a tile of keys.
enum class KeyRoles {
  /// The warp groups that sum up dK and dV of their keys find all that these
  /// need, or there are no roles.
  Joint,
  /// One role finds weights and derivatives by scores, which go through streams
  /// to one that sums up dV and one that sums up dK.
  Scores,
  /// The role that sums up dV finds the weights, the one that sums up dK the
  /// derivatives, from weights that come through a stream.
  Pairs,
  /// The tile's keys are two strips with a role each, which finds all that the
  /// strip's pairs give, both sums of its keys, and some columns of dQ.
  Strips,
};

/// Strips of a tile's keys.
inline constexpr int64_t kKeyStrips = 2;

/// The form of a backward pass, and the plans of its kernels.
struct BackwardPlans {
  /// Of kernels whose tiles are keys, and of those whose tiles are queries; of
  /// one that meets all pairs again for the problem's sums, or null: others
  /// find them on the way.
  plan::KernelAttr keys, queries, sums;
  /// One kernel of keys finds all gradients: it adds what it knows of dQ to
  /// sums in memory, which a kernel before it sets to zero and one behind it
  /// rounds.
  bool sumsQueries = false;
  /// Sums in memory have one register of all lanes behind the other: where an
  /// instruction adds an element of each lane, it reaches one piece.
  bool sumsByRegister = false;
  /// Tiles of keys add to a block's sums one after the other, in one order.
  bool ordersSums = false;
  /// Tiles of keys find the problem's sums over pairs, too.
  bool keysFindSums = false;
  /// One kernel finds dK and dV.
  bool sharesKeyTiles = true;
  /// dS stays in registers for dK's product.
  bool keepsGradients = false;
  /// dV's product is issued after dS is computed: registers then hold P in f32
  /// until dS is known, and its rounded form after that, never both.
  bool valuesLate = false;
  /// dS is computed from P as it was rounded for dV's product: registers hold
  /// neither form of P beside what a score_mod needs.
  bool roundsWeights = false;
  /// dP's product starts from -delta, instead of a subtraction for each pair.
  bool startsFromDelta = false;
  /// What queries add to exponents, and their D, are read before the products
  /// beside them are issued: behind those they would wait for their operands.
  bool exponentsFirst = false, deltaFirst = false;
  /// Score_mod's derivative is found with the weights, and its product with
  /// them kept, both rounded: not what both are made of.
  bool slopesFirst = false;
  KeyRoles keyRoles = KeyRoles::Joint;
  /// A part of dQ's share of a block is found while the one before is added.
  bool addsAhead = false;
  /// Rows and columns of a part.
  int64_t partRows = kQueryPartRows, partColumns = kQueryPartColumns;
};

/// The plans for `problem`. `overrides` is "auto" or a list of the fields
/// 'tile_n', 'stages', 'key_stages', 'work', 'output' and 'producer_registers',
/// which is 0 where one program is wanted of all warps. Fails with a diagnostic
/// on other fields, and on what does not fit the problem or the target.
mlir::FailureOr<BackwardPlans>
chooseBackwardPlans(mlir::MLIRContext *context, const BackwardProblem &problem,
                    llvm::StringRef overrides,
                    llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace fovea

#endif // FOVEA_SCHEDULE_BACKWARDPLANS_H
