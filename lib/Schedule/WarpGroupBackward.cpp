//===- WarpGroupBackward.cpp - Backward schedules for wgmma -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans the roles, registers and buffers of backward kernels on Hopper. Key
// tiles accumulate dQ in memory; how roles divide dK, dV, dS and dQ depends on
// the head dims, on the sums over pairs and on the mask.
//
//===----------------------------------------------------------------------===//

#include "WarpGroupBackward.h"

#include "BackwardPlanEntries.h"
#include "Planner.h"
#include "WarpGroupBackwardLimits.h"
#include "WarpGroupBackwardOrder.h"

#include "fovea/Support/Warps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::wgmma_backward;

/// Returns true if dK and dV are accumulated by different warp groups: for wide
/// heads, and if small mask blocks require tiles of few keys.
static bool hasSeparateAccumulators(const BackwardProblem &problem) {
  return problem.getWidestHead() > kWidestJoint ||
         problem.keyBlock % (kGroups * kGroupKeys) != 0;
}

/// Bytes of a row of both head dims in shared memory, in complete panels.
static int64_t getRowBytes(const BackwardProblem &problem) {
  int64_t bits = problem.elementBits;
  return (padColumns(problem.headDim, bits) +
          padColumns(problem.valueHeadDim, bits)) *
         problem.getElementBytes();
}

namespace {
/// The division of a kernel over key tiles, and its numbers of buffers.
struct KeysBuffers {
  KeyRoles roles;
  int64_t queries = kFewestQueries;
  /// Buffers of K and V; of a query block; of P and dS if roles other than
  /// Joint have them.
  int64_t keyStages = 1, stages = kStages, pairStages = 1;
  /// Columns of a dQ chunk, which TMA adds to memory.
  int64_t partColumns = kDqChunkColumns;
  plan::OutputPath output = plan::OutputPath::Direct;
};
} // namespace

static int64_t getTileKeys(KeyRoles roles) {
  return roles == KeyRoles::Joint || roles == KeyRoles::Strips
             ? kGroups * kGroupKeys
             : kGroupKeys;
}

/// Buffers with one element per pair of a block: P and dS, if they leave
/// registers, and contributions to sums by relative position. A role that has
/// those and computes dQ, too, needs no buffer for them.
static int64_t countPairBuffers(const BackwardProblem &problem,
                                const KeysBuffers &buffers) {
  switch (buffers.roles) {
  case KeyRoles::Joint:
    return buffers.stages * (1 + problem.relativePositionShares);
  case KeyRoles::Scores:
    return 1 + kStages;
  case KeyRoles::Pairs:
    return buffers.pairStages * (2 + problem.relativePositionShares);
  case KeyRoles::Strips:
    return kStages;
  }
  llvm_unreachable("unknown KeyRoles");
}

/// Shared memory for dQ chunks; chunks of the same shape share a buffer.
static int64_t getPartBytes(const BackwardProblem &problem,
                            const KeysBuffers &buffers) {
  if (buffers.output == plan::OutputPath::Direct)
    return 0;
  int64_t whole = std::min(problem.headDim, buffers.partColumns);
  int64_t rest = problem.headDim > buffers.partColumns
                     ? problem.headDim % buffers.partColumns
                     : 0;
  return kDqChunkRows * (whole + rest) * kSumBytes;
}

/// Shared memory of a kernel over key tiles: K and V; Q, dO and two values per
/// query of each block; elements per pair; values by relative position; chunks
/// of dQ.
static int64_t getBytes(const BackwardProblem &problem,
                        const KeysBuffers &buffers) {
  int64_t keys = getTileKeys(buffers.roles), queries = buffers.queries;
  int64_t ofKeys = keys * getRowBytes(problem),
          ofQueries = queries * (getRowBytes(problem) + 2 * kValueBytes),
          ofPairs = queries * keys * problem.getElementBytes(),
          ofDiagonals = (queries + keys) * kValueBytes;
  return buffers.keyStages * ofKeys + buffers.stages * ofQueries +
         countPairBuffers(problem, buffers) * ofPairs +
         problem.diagonals * problem.diagonalStages * ofDiagonals +
         getPartBytes(problem, buffers) + kBarrierBytes;
}

static bool fits(const BackwardProblem &problem, const KeysBuffers &buffers) {
  return getBytes(problem, buffers) <= problem.target->sharedMemory;
}

/// Returns true if two warp groups, which share all registers with the load
/// role, can accumulate both dK and dV of 64 keys each and also compute half of
/// a block's dQ chunks each. Values that a score_mod keeps would be spilled.
/// Deterministic dQ and other sums are not supported either, because they need
/// a single accumulating role.
static bool fitsStrips(const BackwardProblem &problem) {
  constexpr int64_t kKeys = kKeyChunks * kGroupKeys;
  return problem.getWidestHead() > kWidestJoint &&
         problem.getColumns() <= kMostStripColumns &&
         problem.headDim > kDqChunkColumns && !problem.modifies &&
         problem.diagonals == 0 && !problem.readsScores &&
         !problem.isDeterministic && !problem.keyTilesComputeSums &&
         problem.keyBlock % kKeys == 0 && fits(problem, {KeyRoles::Strips});
}

/// Returns how roles divide a key tile. If one accumulator fills a warp group's
/// registers and dS needs only P, the work on a block is best divided among
/// three roles. Otherwise one role has all values of a pair.
static KeyRoles getKeyRoles(const BackwardProblem &problem,
                            const BackwardFields &asked = {}) {
  if (!hasSeparateAccumulators(problem))
    return KeyRoles::Joint;
  // Tiles of 64 keys, and dQ through shared memory, need another division.
  if (fitsStrips(problem) && asked.tileM != kGroupKeys &&
      asked.output != plan::OutputPath::Tma)
    return KeyRoles::Strips;
  return problem.readsScores ? KeyRoles::Scores : KeyRoles::Pairs;
}

/// Returns the names that the role with dS owns. If the addresses allow it,
/// this role accumulates the sums over pairs, and atomic adds have no names;
/// otherwise it sends its contributions to the role that does.
static SmallVector<StringRef>
getDsRoleNames(std::initializer_list<StringRef> names,
               const BackwardProblem &problem) {
  SmallVector<StringRef> owned(names);
  if (problem.relativePositionShares > 0)
    owned.push_back("share");
  if (problem.sumsByKey)
    owned.push_back("*");
  return owned;
}

/// Returns the names that the role with dQ owns.
static SmallVector<StringRef> getDqRoleNames(ArrayRef<StringRef> names,
                                             const BackwardProblem &problem) {
  SmallVector<StringRef> owned(names);
  owned.append({"dq", "dq_sum"});
  if (problem.sumsByRelativePosition)
    owned.push_back("distance_sum");
  return owned;
}

/// Returns the largest possible number of queries in a block. Shared memory has
/// complete panels, so few columns of both Q and dO may take as much memory as
/// many columns of one.
static int64_t getMostQueries(const BackwardProblem &problem) {
  if (hasSeparateAccumulators(problem) ||
      problem.getColumns() > kMostColumnsBesideGradients ||
      problem.queryBlock % kMostQueries != 0)
    return kFewestQueries;
  KeysBuffers buffers{KeyRoles::Joint, kMostQueries};
  buffers.output = plan::OutputPath::Tma;
  buffers.partColumns = problem.headDim;
  return fits(problem, buffers) ? kMostQueries : kFewestQueries;
}

/// Returns the number of queries in a block. With twice the scores, values that
/// a score_mod keeps would be spilled.
static int64_t getBlockQueries(const BackwardProblem &problem) {
  return problem.modifies ? kFewestQueries : getMostQueries(problem);
}

std::optional<std::string>
fovea::findWarpGroupObstacle(const BackwardProblem &problem) {
  auto explain = [](const Twine &reason) {
    return ("schedule has roles ('producer_registers'), which " + reason).str();
  };
  if (!problem.target->warpGroupDots)
    return explain("'" + problem.target->name + "' does not support");
  if (problem.elementBits != 16)
    return explain("multiply elements of 16 bits, found " +
                   Twine(problem.elementBits));
  if (problem.isDeterministic && problem.isPacked)
    return explain("accumulate dq of packed sequences in no fixed order, but "
                   "it must be deterministic");
  if (!problem.query || !problem.key || !problem.value)
    return explain("compute the gradients of q, k and v together");
  int64_t keys = getTileKeys(getKeyRoles(problem));
  if (problem.keyBlock % keys != 0 || problem.queryBlock % kFewestQueries != 0)
    return explain(
        "use tiles of " + Twine(kFewestQueries) + " queries and " +
        Twine(keys) + " keys, which must divide the blocks, found size = [" +
        Twine(problem.queryBlock) + ", " + Twine(problem.keyBlock) + "]");
  return std::nullopt;
}

/// Returns how tiles are assigned to CTAs. A persistent CTA prefetches the next
/// tile's queries and maybe its keys. This pays off if some tiles are short, or
/// if registers suffice for both loops. With M-chunks there are no registers
/// left for the outer loop.
static plan::WorkSchedule getWork(const BackwardProblem &problem,
                                  KeyRoles roles) {
  bool goesOn =
      roles != KeyRoles::Strips &&
      (problem.isUneven || problem.getColumns() <= kMostColumnsThatGoOn);
  return goesOn ? plan::WorkSchedule::Dynamic : plan::WorkSchedule::Single;
}

//===----------------------------------------------------------------------===//
// Registers of warp groups that accumulate both dK and dV
//===----------------------------------------------------------------------===//

/// Accumulator registers per thread for 64 rows of so many columns.
static int64_t getAccumulators(int64_t columns) {
  return kGroupKeys * columns / kGroupThreads;
}

/// Registers per thread of a role that accumulates both dK and dV:
/// accumulators, dP and the rounded P, and the rounded dS if dK's dot reads it
/// from registers.
static int64_t countJointRegisters(const BackwardProblem &problem,
                                   int64_t queries, bool keepsGradients) {
  int64_t ofBlock = getAccumulators(queries), rounded = ofBlock / 2;
  return getAccumulators(problem.getColumns()) + ofBlock +
         (keepsGradients ? 2 : 1) * rounded +
         problem.relativePositionShares * rounded + kBesideAccumulators +
         (problem.modifies ? kModifierRegisters : 0);
}

/// Moves registers from the compute role to the role that computes sums by
/// relative position, if the compute role has enough.
static void addSumRegisters(const BackwardProblem &problem, int64_t queries,
                            JointRegisters &shares) {
  int64_t ofCompute = shares.ofCompute - kBudgetStep;
  if (!problem.sumsByRelativePosition ||
      ofCompute < countJointRegisters(problem, queries, shares.keepsGradients))
    return;
  shares.ofCompute = ofCompute;
  shares.ofReduce += kGroups * kBudgetStep;
}

/// With narrow heads, dS stays in registers. If registers are left over, the
/// role that accumulates dQ gets enough for a product of all columns: chunks
/// would each read dS once and wait for each other. With dS of more queries,
/// dots would wait for registers (C7512).
static JointRegisters shareJointRegisters(const BackwardProblem &problem,
                                          int64_t queries,
                                          int64_t loadRegisters) {
  JointRegisters shares;
  shares.keepsGradients =
      queries == kFewestQueries &&
      countJointRegisters(problem, queries, /*keepsGradients=*/true) <=
          kComputeRegisters;
  if (problem.headDim <= kDqChunkColumns) {
    addSumRegisters(problem, queries, shares);
    return shares;
  }
  int64_t ofWhole = llvm::alignTo(
      getAccumulators(problem.headDim) + kBesideAccumulators, kBudgetStep);
  int64_t rest = (kRegisters - loadRegisters - ofWhole) / kGroups;
  int64_t ofCompute =
      std::min(rest / kBudgetStep * kBudgetStep, kComputeRegisters);
  if (ofCompute < countJointRegisters(problem, queries, shares.keepsGradients))
    return shares;
  shares.ofCompute = ofCompute;
  shares.ofReduce = kRegisters - loadRegisters - kGroups * ofCompute;
  shares.partColumns = problem.headDim;
  return shares;
}

/// Returns how dQ is added to memory. Blocks of 128 queries with narrow heads
/// are so short that direct adds by warps would be the bottleneck; for wider
/// heads, going through shared memory costs more than it saves. Deterministic
/// accumulation signals the semaphore after the adds of threads.
static plan::OutputPath getOutput(const BackwardProblem &problem) {
  return !problem.isDeterministic && getKeyRoles(problem) == KeyRoles::Joint &&
                 problem.getColumns() <= kMostColumnsBesideGradients
             ? plan::OutputPath::Tma
             : plan::OutputPath::Direct;
}

/// Returns true if TMA stores dK and dV, through the stage of V that the tile
/// has finished with. Stores by threads take longer, and the CTA's next tile
/// waits for them. A CTA with a single tile does not wait for its own stores,
/// only for TMA to read. TMA clips at the ends of tensors but not of packed
/// sequences.
static bool copiesGradients(const BackwardProblem &problem,
                            const BackwardFields &asked,
                            plan::WorkSchedule work) {
  return work != plan::WorkSchedule::Single && !problem.isPacked &&
         asked.output != plan::OutputPath::Direct;
}

/// Returns the number of buffers of K and V. With two, the next tile's are
/// prefetched, if a CTA has several tiles and they fit.
static int64_t getKeyStages(const BackwardProblem &problem, KeysBuffers buffers,
                            plan::WorkSchedule work) {
  buffers.keyStages = 2;
  return work != plan::WorkSchedule::Single &&
                 buffers.roles == KeyRoles::Joint && fits(problem, buffers)
             ? 2
             : 1;
}

/// Returns the number of buffers of a query block, if warp groups accumulate
/// both dK and dV. The QK dot of a block is issued half a block after its stage
/// is released; with a third buffer its queries have already arrived. For short
/// blocks this is worth more than prefetching the next tile's keys, and it
/// costs nothing if there is no next tile. It gains nothing with values of a
/// score_mod, or with tables by relative position.
static int64_t getStages(const BackwardProblem &problem, KeysBuffers buffers,
                         plan::WorkSchedule work) {
  int64_t columns = problem.getColumns();
  bool gains = work == plan::WorkSchedule::Single ||
               columns <= kMostColumnsOfShortBlocks;
  bool isPlain = !problem.modifies && problem.diagonals == 0 &&
                 !problem.sumsByRelativePosition;
  buffers.stages = kMostStages;
  return gains && isPlain && buffers.roles == KeyRoles::Joint &&
                 buffers.queries == kFewestQueries &&
                 columns > kMostColumnsBesideGradients && fits(problem, buffers)
             ? kMostStages
             : kStages;
}

static plan::KernelPlan makeKeysKernel(plan::MatrixUnitAttrInterface unit,
                                       const BackwardProblem &problem,
                                       int64_t groups, int64_t queries) {
  plan::KernelPlan kernel;
  kernel.tileM = groups * unit.getGroupRows();
  kernel.tileN = queries;
  kernel.warps = groups * unit.getGroupWarps();
  kernel.stages = kStages;
  kernel.classify = problem.classifies && !problem.isPacked;
  return kernel;
}

/// Plan of a key-tile kernel with Joint roles: one role loads, two warp groups
/// with 64 keys each accumulate dK and dV, and one computes dQ.
static plan::KernelAttr makeKeysPlan(plan::MatrixUnitAttrInterface unit,
                                     const BackwardProblem &problem,
                                     const JointRegisters &registers,
                                     int64_t queries, int64_t stages,
                                     int64_t keyStages, int64_t loadRegisters,
                                     plan::OutputPath output, bool hasCopies) {
  MLIRContext *context = unit.getContext();
  plan::KernelPlan kernel = makeKeysKernel(unit, problem, kGroups, queries);
  kernel.stages = stages;
  BackwardPlanEntries make(context);
  // P of the next block is computed while dK of this block is; all of it, if
  // registers hold it together with this block's. That needs two query stages.
  // If a score_mod only adds values by relative position, the accumulators of
  // scores start from them.
  bool startsFromDiagonals =
      stages > 1 && problem.diagonals > 0 && !problem.modifies;
  SmallVector<plan::DotAttr> dots;
  if (startsFromDiagonals)
    dots.push_back(make.sumDot("s"));
  if (stages > 1 && !problem.modifies)
    dots.push_back(make.fullOperandDot("dv"));
  SmallVector<plan::RoleAttr> roles =
      make.roles(loadRegisters, problem,
                 {make.role("compute", kernel.warps, registers.ofCompute,
                            getDsRoleNames({"s", "dp", "ds", "dv", "dk",
                                            "dv_out", "dk_out"},
                                           problem)),
                  make.role("reduce", kGroupWarps, registers.ofReduce,
                            getDqRoleNames({}, problem))});
  SmallVector<plan::StoreAttr> stores = make.sums(output);
  if (hasCopies) {
    stores.push_back(make.tmaStore("dv_out", /*over=*/"v"));
    if (problem.headDim == problem.valueHeadDim)
      stores.push_back(make.tmaStore("dk_out", /*over=*/"v"));
  }
  SmallVector<plan::StreamAttr> streams = {make.stream("k", keyStages),
                                           make.stream("v", keyStages)};
  if (problem.sumsByRelativePosition)
    make.addDsStreams(streams, kernel.stages, problem);
  streams.append({make.stream("exponents", kernel.stages, "q"),
                  make.stream("delta", kernel.stages, "do")});
  make.addRelativePositions(streams, problem);
  return plan::KernelAttr::get(context, unit, kernel, streams, dots, stores,
                               roles, /*order=*/{}, /*userSpecified=*/{});
}

/// Registers per thread of a warp group with one accumulator.
static int64_t getSumRegisters(int64_t columns) {
  return llvm::alignTo(getAccumulators(columns) + kBesideAccumulators,
                       kBudgetStep);
}

/// Plan of a key-tile kernel with Scores roles, if one accumulator fills a warp
/// group's registers: one role loads, one computes scores, P, dS and dQ, one
/// accumulates dV and one dK. All are one warp group and work on 64 keys.
static FailureOr<plan::KernelAttr>
makeScoreKeysPlan(plan::MatrixUnitAttrInterface unit,
                  const BackwardProblem &problem, int64_t loadRegisters,
                  plan::OutputPath output,
                  function_ref<InFlightDiagnostic()> emitError) {
  int64_t ofValues = getSumRegisters(problem.valueHeadDim),
          ofKeys = getSumRegisters(problem.headDim);
  int64_t ofScores = std::min(kRegisters - loadRegisters - ofValues - ofKeys,
                              kMostScoreRegisters);
  if (ofScores < kScoreAccumulators + kBesideAccumulators)
    return emitError()
           << "schedule's 'producer_registers' is " << loadRegisters
           << ", which leaves " << ofScores
           << " registers per thread for role 'score', expected at least "
           << kScoreAccumulators + kBesideAccumulators;
  MLIRContext *context = unit.getContext();
  plan::KernelPlan kernel =
      makeKeysKernel(unit, problem, /*groups=*/1, kFewestQueries);
  BackwardPlanEntries make(context);
  // TMA adds go through the memory of one of the stages.
  bool isCopied = output == plan::OutputPath::Tma;
  // The producer of a dS stage also reads it. With two stages, all warps have
  // finished with one when it is filled again, since they synchronise in
  // between. Only the QK dot is carried: with two outstanding dots around a
  // loop, ptxas waits for both or serialises them (C7514).
  SmallVector<plan::RoleAttr> roles = make.roles(
      loadRegisters, problem,
      {make.role("score", kGroupWarps, ofScores,
                 getDqRoleNames(getDsRoleNames({"s", "p", "dp", "ds"}, problem),
                                problem)),
       make.role("values", kGroupWarps, ofValues, {"dv", "dv_out"}),
       make.role("keys", kGroupWarps, ofKeys, {"dk", "dk_out"})});
  SmallVector<plan::StreamAttr> streams = {
      make.stream("k", 1),
      make.stream("v", 1),
      make.stream("p", 1),
      make.stream("ds", isCopied ? 1 : 2),
      make.stream("exponents", kernel.stages, "q"),
      make.stream("delta", kernel.stages, "do")};
  make.addRelativePositions(streams, problem);
  return plan::KernelAttr::get(context, unit, kernel, streams,
                               /*dots=*/{}, make.sums(output), roles,
                               /*order=*/{},
                               /*userSpecified=*/{});
}

/// Returns the number of buffers of P and of dS: two if they fit, so that roles
/// do not wait for each other in every block.
static int64_t getPairStages(const BackwardProblem &problem) {
  KeysBuffers buffers{KeyRoles::Pairs};
  buffers.pairStages = 2;
  return fits(problem, buffers) ? 2 : 1;
}

/// Returns true if contributions to sums by relative position, and values by
/// relative position, fit in addition to the other buffers.
static bool fitsStreams(const BackwardProblem &problem) {
  if (problem.relativePositionShares == 0 && problem.diagonals == 0)
    return true;
  KeysBuffers buffers{getKeyRoles(problem)};
  if (buffers.roles == KeyRoles::Joint) {
    buffers.partColumns = problem.headDim;
    buffers.output = getOutput(problem);
  }
  return fits(problem, buffers);
}

/// Returns two buffers per value by relative position if no other stream gets
/// fewer buffers for it, else one.
static int64_t getDiagonalStages(BackwardProblem problem,
                                 const KeysBuffers &buffers,
                                 plan::WorkSchedule work) {
  auto countOthers = [&](int64_t stages) {
    problem.diagonalStages = stages;
    return getKeyStages(problem, buffers, work) + getPairStages(problem);
  };
  int64_t others = countOthers(1);
  bool hasRoom = countOthers(kStages) == others && fitsStreams(problem) &&
                 (buffers.roles != KeyRoles::Joint || fits(problem, buffers));
  return hasRoom ? kStages : 1;
}

static InFlightDiagnostic
emitBudgetError(int64_t asked, int64_t left,
                function_ref<InFlightDiagnostic()> emitError) {
  return emitError() << "schedule's 'producer_registers' is " << asked
                     << ", but the other roles leave only " << left;
}

/// Plan of a key-tile kernel with Pairs roles, if one accumulator fills a warp
/// group's registers and dS does not need the scores: one role loads, one
/// computes scores, P and dV, one computes dP, dS and dK, and one computes dQ.
/// Each has one or two of the five products and a short dependence chain per
/// block, so that dots of other roles overlap its arithmetic.
static FailureOr<plan::KernelAttr>
makePairKeysPlan(plan::MatrixUnitAttrInterface unit,
                 const BackwardProblem &problem, int64_t loadRegisters,
                 plan::OutputPath output,
                 function_ref<InFlightDiagnostic()> emitError) {
  int64_t ofValues = getSumRegisters(problem.valueHeadDim) + kBlockAccumulators,
          ofKeys = getSumRegisters(problem.headDim) + kBlockAccumulators;
  int64_t ofParts = addsDqAhead(problem, KeyRoles::Pairs) ? kTwoPartsRegisters
                                                          : kReduceRegisters;
  int64_t spare = kRegisters - ofParts - loadRegisters - ofValues - ofKeys;
  if (spare < 0)
    return emitBudgetError(loadRegisters, loadRegisters + spare, emitError);
  // dS is computed from two tiles.
  int64_t more = spare / 2 / kBudgetStep * kBudgetStep;
  ofValues = std::min(ofValues + more, kMostScoreRegisters);
  ofKeys = std::min(ofKeys + spare - more, kMostScoreRegisters);
  MLIRContext *context = unit.getContext();
  plan::KernelPlan kernel =
      makeKeysKernel(unit, problem, /*groups=*/1, kFewestQueries);
  BackwardPlanEntries make(context);
  int64_t stages = output == plan::OutputPath::Tma ? 1 : getPairStages(problem);
  SmallVector<plan::RoleAttr> roles = make.roles(
      loadRegisters, problem,
      {make.role("values", kGroupWarps, ofValues, {"s", "p", "dv", "dv_out"}),
       make.role("keys", kGroupWarps, ofKeys,
                 getDsRoleNames({"dp", "ds", "dk", "dk_out"}, problem)),
       make.role("reduce", kGroupWarps, ofParts, getDqRoleNames({}, problem))});
  SmallVector<plan::StreamAttr> streams = {
      make.stream("k", 1), make.stream("v", 1),
      make.stream("p", stages, /*with=*/"", /*isStaged=*/true)};
  make.addDsStreams(streams, stages, problem);
  streams.append({make.stream("exponents", kernel.stages, "q"),
                  make.stream("delta", kernel.stages, "do")});
  make.addRelativePositions(streams, problem);
  return plan::KernelAttr::get(context, unit, kernel, streams,
                               /*dots=*/{}, make.sums(output), roles,
                               /*order=*/{}, /*userSpecified=*/{});
}

/// Plan of a key-tile kernel with Strips roles, if registers hold both
/// accumulators of a warp group's keys but nothing in addition: one role loads.
/// Two roles compute all values of the pairs of 64 keys, dK and dV of these
/// keys, and every other dQ chunk of a block, for which each role reads the
/// other's dS.
static FailureOr<plan::KernelAttr>
makeStripKeysPlan(plan::MatrixUnitAttrInterface unit,
                  const BackwardProblem &problem, int64_t loadRegisters,
                  plan::OutputPath output,
                  function_ref<InFlightDiagnostic()> emitError) {
  int64_t left = kRegisters - kKeyChunks * kStripRegisters;
  if (loadRegisters > left)
    return emitBudgetError(loadRegisters, left, emitError);
  plan::KernelPlan kernel =
      makeKeysKernel(unit, problem, /*groups=*/1, kFewestQueries);
  kernel.tileM = kKeyChunks * kGroupKeys;
  kernel.rowChunks = kKeyChunks;
  BackwardPlanEntries make(unit.getContext());
  SmallVector<plan::StreamAttr> streams;
  SmallVector<plan::StoreAttr> stores = make.sums(output);
  SmallVector<plan::RoleAttr> roles = {
      make.role("load", kGroupWarps, loadRegisters,
                {"k", "v", "q", "do", "exponents", "delta"})};
  int64_t parts = llvm::divideCeil(problem.headDim, kDqChunkColumns);
  StringRef names[kKeyChunks] = {"first", "second"};
  for (int64_t strip = 0; strip < kKeyChunks; ++strip) {
    SmallVector<std::string> owned;
    auto own = [&](StringRef name, int64_t number) {
      owned.push_back((name + "." + Twine(number)).str());
    };
    for (StringRef name : {"s", "dp", "ds", "dv", "dk", "dv_out", "dk_out"})
      own(name, strip);
    int64_t widest = strip;
    for (int64_t index = strip; index < parts; index += kKeyChunks) {
      own("dq", index);
      own("dq_sum", index);
      if ((index + 1) * kDqChunkColumns <= problem.headDim)
        widest = index;
    }
    // The threads of a role delay the add of its last complete dQ chunk to the
    // QK dot of the next iteration.
    if (output == plan::OutputPath::Direct)
      stores.push_back(make.delayedStore(("dq_sum." + Twine(widest)).str()));
    roles.push_back(make.role(names[strip], kGroupWarps, kStripRegisters,
                              llvm::to_vector_of<StringRef>(owned)));
    for (StringRef name : {"k", "v"})
      streams.push_back(make.stream((name + "." + Twine(strip)).str(), 1));
    streams.push_back(
        make.independentStream(("ds." + Twine(strip)).str(), kStages));
  }
  // With one shared stage index, ptxas spills more.
  for (StringRef name : {"q", "do"})
    streams.push_back(make.independentStream(name, kernel.stages));
  streams.push_back(make.stream("exponents", kernel.stages, "q"));
  streams.push_back(make.stream("delta", kernel.stages, "do"));
  return plan::KernelAttr::get(unit.getContext(), unit, kernel, streams,
                               /*dots=*/{}, stores, roles,
                               /*order=*/{}, /*userSpecified=*/{});
}

/// Plan of the preprocess and postprocess kernels, with the same rows and
/// fragments as the key-tile kernel.
static plan::KernelAttr makeRowsPlan(plan::MatrixUnitAttrInterface unit,
                                     int64_t queries) {
  plan::KernelPlan kernel;
  kernel.tileM = kernel.tileN = queries;
  kernel.warps = queries / unit.getGroupRows() * unit.getGroupWarps();
  return plan::KernelAttr::get(unit.getContext(), unit, kernel, {}, {}, {}, {},
                               {}, {});
}

/// Plan of a separate kernel that computes sums over pairs: one role loads, and
/// two warp groups with 64 queries each compute scores and dS. Null if the
/// operands of a block, or the results of both, do not fit.
static plan::KernelAttr makeSumsPlan(plan::MatrixUnitAttrInterface unit,
                                     const BackwardProblem &problem) {
  plan::KernelPlan kernel;
  kernel.tileM = kGroups * unit.getGroupRows();
  kernel.warps = kGroups * unit.getGroupWarps();
  kernel.stages = kStages;
  auto fits = [&](int64_t keys) {
    return (kernel.tileM + kStages * keys) * getRowBytes(problem) +
               kBarrierBytes <=
           problem.target->sharedMemory;
  };
  kernel.tileN = fits(kSumsKeys) ? kSumsKeys : kSumsKeys / 2;
  if (!fits(kernel.tileN) || problem.isPacked ||
      problem.queryBlock % kernel.tileM != 0 ||
      problem.keyBlock % kernel.tileN != 0)
    return {};
  BackwardPlanEntries make(unit.getContext());
  return plan::KernelAttr::get(
      unit.getContext(), unit, kernel,
      {make.stream("q", 1), make.stream("do", 1), make.stream("k", kStages),
       make.stream("v", kStages)},
      /*dots=*/{}, /*stores=*/{},
      {make.role("load", kGroupWarps, kLoadRegisters, {"q", "do", "k", "v"}),
       make.role("compute", kernel.warps, kSumsRegisters, {"*"})},
      /*order=*/{}, /*userSpecified=*/{});
}

FailureOr<BackwardPlans> fovea::planWarpGroupBackward(
    plan::MatrixUnitAttrInterface unit, const BackwardProblem &given,
    const BackwardFields &asked, function_ref<InFlightDiagnostic()> emitError) {
  BackwardProblem problem = given;
  // Tiles of 64 keys use separate accumulators for any head dim.
  if (asked.tileM == kGroupKeys)
    problem.keyBlock = kGroupKeys;
  if (!fitsStreams(problem))
    problem.omitRelativePositions();
  // A separate kernel then iterates over all pairs again.
  if (!fitsStreams(problem))
    problem.omitSums();
  int64_t registers = asked.producerRegisters.value_or(kLoadRegisters);
  if (registers % kBudgetStep != 0)
    return emitError() << "schedule's 'producer_registers' must be a multiple "
                          "of "
                       << kBudgetStep << ", found " << registers;
  int64_t queries = asked.tileN.value_or(getBlockQueries(problem));
  int64_t most = getMostQueries(problem);
  if (queries != kFewestQueries && queries != most)
    return emitError() << "schedule's 'tile_n' must be "
                       << (most == kFewestQueries ? "" : "64 or ") << most
                       << " with roles ('producer_registers'), found "
                       << queries;
  BackwardPlans plans;
  KeyRoles keyRoles = getKeyRoles(problem, asked);
  plan::WorkSchedule work = asked.work.value_or(getWork(problem, keyRoles));
  plan::OutputPath output = asked.output.value_or(getOutput(problem));
  if (problem.isDeterministic && output != plan::OutputPath::Direct)
    return emitError() << "schedule's 'output' must be direct for "
                          "deterministic gradients, found "
                       << plan::stringifyOutputPath(output);
  // With static work, every other L2 section processes a head's tiles in
  // reverse order, so that a CTA would wait for work items after its own.
  if (problem.isDeterministic && work == plan::WorkSchedule::Static)
    return emitError() << "schedule's 'work' must be single or dynamic for "
                          "deterministic gradients, found static";
  bool isJoint = keyRoles == KeyRoles::Joint;
  JointRegisters shares;
  if (isJoint)
    shares = shareJointRegisters(problem, queries, registers);
  KeysBuffers buffers{keyRoles, queries};
  buffers.partColumns = shares.partColumns;
  buffers.output = output;
  problem.diagonalStages = getDiagonalStages(problem, buffers, work);
  buffers.stages = asked.stages.value_or(getStages(problem, buffers, work));
  int64_t mostKeys = getKeyStages(problem, buffers, work),
          keyStages = asked.keyStages.value_or(mostKeys);
  if (keyStages < 1 || keyStages > mostKeys)
    return emitError() << "schedule's 'key_stages' must be in [1, " << mostKeys
                       << "] for these head dims and this 'work', found "
                       << keyStages;
  bool isUserSpecified = asked.tileN || asked.stages || asked.keyStages;
  buffers.keyStages = keyStages;
  if (isJoint && isUserSpecified && !fits(problem, buffers))
    return emitError() << "schedule's 'stages' is " << buffers.stages
                       << ", which needs about " << getBytes(problem, buffers)
                       << " bytes of shared memory, but '"
                       << problem.target->name << "' has "
                       << problem.target->sharedMemory;
  FailureOr<plan::KernelAttr> keys =
      keyRoles == KeyRoles::Scores
          ? makeScoreKeysPlan(unit, problem, registers, output, emitError)
      : keyRoles == KeyRoles::Pairs
          ? makePairKeysPlan(unit, problem, registers, output, emitError)
      : keyRoles == KeyRoles::Strips
          ? makeStripKeysPlan(unit, problem, registers, output, emitError)
          : FailureOr<plan::KernelAttr>(makeKeysPlan(
                unit, problem, shares, queries, buffers.stages, keyStages,
                registers, output, copiesGradients(problem, asked, work)));
  if (failed(keys))
    return failure();
  plans.keys = keys->change([&](plan::KernelPlan &kernel) {
    kernel.work = work;
    kernel.pairSums = problem.keyTilesComputeSums;
  });
  plans.keys = orderKeysBlock(plans.keys, problem, keyRoles, shares);
  plans.queries = makeRowsPlan(unit, queries);
  if (problem.sums && !problem.keyTilesComputeSums)
    plans.sums = makeSumsPlan(unit, problem);
  return plans;
}
