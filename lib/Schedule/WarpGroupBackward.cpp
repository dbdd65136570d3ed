//===- WarpGroupBackward.cpp - Gradients by warp groups ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpGroupBackward.h"

#include "BackwardPlanEntries.h"
#include "Planner.h"

#include "fovea/Support/Warps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

// Both sums of 64 keys stay in a warp group's registers, beside scores, up to
// so wide heads. One sum alone fits up to the widest heads that there are.
static constexpr int64_t kWidestJoint = 128;
// Beside so many columns of sums a group has registers for derivatives, too.
static constexpr int64_t kMostColumnsBesideGradients = 128;
// With so many a CTA goes on from tile to tile: + 2 to 3 % up to head dim 80.
static constexpr int64_t kMostColumnsThatGoOn = 160;
// Queries of a block, at least; warp groups, and keys of each.
static constexpr int64_t kFewestQueries = 64, kGroups = 2, kGroupKeys = 64;
// Queries where registers hold as many scores and derivatives by them: blocks
// wait for each other half as often, and products read less per clock.
static constexpr int64_t kMostQueries = 128;
// Registers of a thread that copies, of one that has sums, and of one that
// finds dQ's share of a block: four groups have 128 for each on average.
static constexpr int64_t kLoadRegisters = 24, kComputeRegisters = 208,
                         kReduceRegisters = 72;
static constexpr int64_t kRegisters = 512;
// Registers of a thread that has both sums of a strip of keys and all else of
// its pairs, and the columns of both sums that leave enough for the rest.
static constexpr int64_t kStripRegisters = 240, kMostStripColumns = 320;
// Keys of a block where sums over pairs are found, and registers of a thread
// that does: three groups have 168 on average.
static constexpr int64_t kSumsKeys = 128, kSumsRegisters = 240;
// Buffers of what a block has; where blocks take little time, or memory is
// left over, so that loads are asked for earlier; columns of both sums beside
// which blocks take little time.
static constexpr int64_t kStages = 2, kMostStages = 3,
                         kMostColumnsOfShortBlocks = 192;
// Bytes of a row's value, of an element of dQ's sums, and of barriers and
// mailboxes.
static constexpr int64_t kValueBytes = 4, kSumBytes = 4, kBarrierBytes = 512;
// Registers that what score_mods keep for derivatives takes in blocks of 64
// queries.
static constexpr int64_t kModifierRegisters = 32;
// What a thread that issues products needs beside accumulators, or ptxas lets
// them wait for each other (C7512); accumulators of who has scores at most: the
// next block's, beside a part of dQ; those of a block's scores, or derivatives
// by weights, alone.
static constexpr int64_t kBesideAccumulators = 32, kScoreAccumulators = 96,
                         kBlockAccumulators = 32;
// Registers of a thread that finds two parts of dQ's share of a block at a
// time.
static constexpr int64_t kTwoPartsRegisters = 96;
// More than what score_mods and random numbers take beside that.
static constexpr int64_t kMostScoreRegisters = 208;

/// dK and dV are sums of groups of their own: of wide heads, and where tiles of
/// few keys are wanted, as blocks are small.
static bool hasSumsApart(const BackwardProblem &problem) {
  return problem.getWidestHead() > kWidestJoint ||
         problem.keyBlock % (kGroups * kGroupKeys) != 0;
}

/// Bytes of a row of both head dims as shared memory has it, in whole panels.
static int64_t getRowBytes(const BackwardProblem &problem) {
  int64_t bits = problem.elementBits;
  return (padColumns(problem.headDim, bits) +
          padColumns(problem.valueHeadDim, bits)) *
         problem.getElementBytes();
}

/// Bytes of a kernel's tile of keys, and of the blocks that it meets: queries
/// and output gradients, the rows' values, those of diagonals, and so many
/// tiles by pair.
static int64_t getTileBytes(const BackwardProblem &problem, int64_t keys,
                            int64_t keyStages, int64_t queries, int64_t ofPairs,
                            int64_t stages = kStages) {
  int64_t ofBlock = queries * (getRowBytes(problem) + 2 * kValueBytes +
                               ofPairs * keys * problem.getElementBytes());
  int64_t ofDiagonals = problem.diagonals * problem.diagonalStages *
                        (queries + keys) * kValueBytes;
  return keyStages * keys * getRowBytes(problem) + stages * ofBlock +
         ofDiagonals + kBarrierBytes;
}

/// Whether two groups that share all registers with who copies have both sums
/// of 64 keys each, and find dQ's share of a block, too, of which each needs a
/// part. What score_mods keep would be spilled, and one role takes turns, or
/// adds to other sums.
static bool fitsStrips(const BackwardProblem &problem) {
  constexpr int64_t kKeys = kKeyStrips * kGroupKeys;
  return problem.getWidestHead() > kWidestJoint &&
         problem.getColumns() <= kMostStripColumns &&
         problem.headDim > kQueryPartColumns && !problem.modifies &&
         problem.diagonals == 0 && !problem.readsScores &&
         !problem.isDeterministic && !problem.tilesFindSums &&
         problem.keyBlock % kKeys == 0 &&
         getTileBytes(problem, kKeys, /*keyStages=*/1, kFewestQueries,
                      /*ofPairs=*/1) <= problem.target->sharedMemory;
}

/// Where a sum fills a warp group's registers: who finds what. Where weights
/// are all that derivatives need, the products of a block are shared out best
/// among three; else one has all that is known of a pair.
static KeyRoles getKeyRoles(const BackwardProblem &problem,
                            const BackwardFields &asked = {}) {
  if (!hasSumsApart(problem))
    return KeyRoles::Joint;
  // Tiles of fewer keys, and sums that go through shared memory, are for
  // others.
  if (fitsStrips(problem) && asked.tileM != kGroupKeys &&
      asked.output != plan::OutputPath::Tma)
    return KeyRoles::Strips;
  return problem.readsScores ? KeyRoles::Scores : KeyRoles::Pairs;
}

static int64_t getTileKeys(const BackwardProblem &problem) {
  KeyRoles roles = getKeyRoles(problem);
  return roles == KeyRoles::Joint || roles == KeyRoles::Strips
             ? kGroups * kGroupKeys
             : kGroupKeys;
}

/// Whether a part of dQ's share of a block is found while the one before is
/// added. What score_mods read would spill beside it, and sums by distance are
/// found meanwhile where there are some.
static bool addsAhead(const BackwardProblem &problem, KeyRoles roles) {
  return roles == KeyRoles::Scores ||
         (roles == KeyRoles::Pairs && !problem.modifies &&
          !problem.sumsByDistance);
}

/// What the role owns that finds derivatives by scores. Where their places
/// allow that it sums them up, and additions to memory have no names; or others
/// do, and it leaves what they add.
static SmallVector<StringRef>
ownWithDerivatives(std::initializer_list<StringRef> names,
                   const BackwardProblem &problem) {
  SmallVector<StringRef> owned(names);
  if (problem.distanceShares > 0)
    owned.push_back("share");
  if (problem.sumsByKey)
    owned.push_back("*");
  return owned;
}

/// What the role owns that finds dQ's share of a block.
static SmallVector<StringRef> ownWithQuery(ArrayRef<StringRef> names,
                                           const BackwardProblem &problem) {
  SmallVector<StringRef> owned(names);
  owned.append({"dq", "dq_sum"});
  if (problem.sumsByDistance)
    owned.push_back("distance_sum");
  return owned;
}

/// Queries that a block can have. Memory has whole panels, so that few columns
/// of two kinds may take as much of it as many of one.
static int64_t getMostQueries(const BackwardProblem &problem) {
  if (hasSumsApart(problem) ||
      problem.getColumns() > kMostColumnsBesideGradients ||
      problem.queryBlock % kMostQueries != 0)
    return kFewestQueries;
  int64_t bytes = getTileBytes(problem, getTileKeys(problem), /*keyStages=*/1,
                               kMostQueries, 1 + problem.distanceShares) +
                  kQueryPartRows * problem.headDim * kSumBytes;
  return bytes <= problem.target->sharedMemory ? kMostQueries : kFewestQueries;
}

/// Those that it has. What score_mods keep for their derivatives would spill
/// beside twice the scores.
static int64_t getBlockQueries(const BackwardProblem &problem) {
  return problem.modifies ? kFewestQueries : getMostQueries(problem);
}

std::optional<std::string>
fovea::findWarpGroupObstacle(const BackwardProblem &problem) {
  auto because = [](const Twine &reason) {
    return ("schedule has roles ('producer_registers'), which " + reason).str();
  };
  if (!problem.target->warpGroupDots)
    return because("'" + problem.target->name + "' does not support");
  if (problem.isDeterministic && problem.isPacked)
    return because("add up dq in any order where sequences are packed, and it "
                   "is to be deterministic");
  if (!problem.query || !problem.key || !problem.value)
    return because("find all of the gradients by q, k and v");
  int64_t keys = getTileKeys(problem);
  if (problem.keyBlock % keys != 0 || problem.queryBlock % kFewestQueries != 0)
    return because(
        "have tiles of " + Twine(kFewestQueries) + " queries and " +
        Twine(keys) + " keys, which must divide the blocks, found size = [" +
        Twine(problem.queryBlock) + ", " + Twine(problem.keyBlock) + "]");
  return std::nullopt;
}

/// How tiles are dealt out. A CTA that goes on from tile to tile has the next
/// one's queries when it begins, and maybe its keys: that pays where some tiles
/// are short, or registers hold both loops at ease. Strips have none left for
/// the outer loop.
static plan::WorkSchedule getWork(const BackwardProblem &problem,
                                  KeyRoles roles) {
  bool goesOn =
      roles != KeyRoles::Strips &&
      (problem.isUneven || problem.getColumns() <= kMostColumnsThatGoOn);
  return goesOn ? plan::WorkSchedule::Dynamic : plan::WorkSchedule::Single;
}

//===----------------------------------------------------------------------===//
// Registers of groups that have both sums
//===----------------------------------------------------------------------===//

namespace {
/// Who has how many registers where a group has both sums of its keys, and what
/// that allows.
struct JointRegisters {
  int64_t ofCompute = kComputeRegisters, ofReduce = kReduceRegisters;
  /// Columns of a product for dQ.
  int64_t partColumns = kQueryPartColumns;
  bool keepsGradients = false;
};
} // namespace

/// Those of a thread's accumulators of 64 rows of so many columns.
static int64_t getAccumulators(int64_t columns) {
  return kGroupKeys * columns / kGroupThreads;
}

/// Those of a thread that finds both sums: derivatives by weights, and the
/// weights as they were rounded, beside them; derivatives as they are rounded,
/// too, where dK's product takes them from there.
static int64_t countJointRegisters(const BackwardProblem &problem,
                                   int64_t queries, bool keepsGradients) {
  int64_t ofBlock = getAccumulators(queries), rounded = ofBlock / 2;
  return getAccumulators(problem.getColumns()) + ofBlock +
         (keepsGradients ? 2 : 1) * rounded + problem.distanceShares * rounded +
         kBesideAccumulators + (problem.modifies ? kModifierRegisters : 0);
}

/// Who finds sums by distance beside a product gets some of who computes, if
/// those can do without.
static void shareForSums(const BackwardProblem &problem, int64_t queries,
                         JointRegisters &shares) {
  int64_t ofCompute = shares.ofCompute - kBudgetStep;
  if (!problem.sumsByDistance ||
      ofCompute < countJointRegisters(problem, queries, shares.keepsGradients))
    return;
  shares.ofCompute = ofCompute;
  shares.ofReduce += kGroups * kBudgetStep;
}

/// Beside narrow sums derivatives stay in registers. Where registers are left
/// over, who adds to dQ's sums gets those of a product of all columns: parts of
/// it read derivatives once each, and wait for each other. Beside derivatives
/// of more queries products would wait for registers (C7512).
static JointRegisters shareJointRegisters(const BackwardProblem &problem,
                                          int64_t queries,
                                          int64_t loadRegisters) {
  JointRegisters shares;
  shares.keepsGradients =
      queries == kFewestQueries &&
      countJointRegisters(problem, queries, /*keepsGradients=*/true) <=
          kComputeRegisters;
  if (problem.headDim <= kQueryPartColumns) {
    shareForSums(problem, queries, shares);
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

/// How what is added to dQ's sums gets to memory. Blocks of 128 queries of
/// narrow heads take so little time that the warps which add would be late;
/// above that the way through shared memory costs more than it saves. Turns end
/// when threads have added what they hold.
static plan::OutputPath getOutput(const BackwardProblem &problem) {
  return !problem.isDeterministic && getKeyRoles(problem) == KeyRoles::Joint &&
                 problem.getColumns() <= kMostColumnsBesideGradients
             ? plan::OutputPath::Tma
             : plan::OutputPath::Direct;
}

/// Whether the copy engine writes dK and dV, through the stage of V that the
/// tile is done with: threads take longer, and the CTA's next tile waits for
/// them. A CTA that ends need not wait for its stores, but for what the engine
/// reads. The engine knows the ends of tensors, not those of packed sequences.
static bool copiesGradients(const BackwardProblem &problem,
                            const BackwardFields &asked,
                            plan::WorkSchedule work) {
  return work != plan::WorkSchedule::Single && !problem.isPacked &&
         asked.output != plan::OutputPath::Direct;
}

/// Bytes that parts of dQ's share of a block go through: parts of one shape
/// have one buffer.
static int64_t getPartBytes(const BackwardProblem &problem, int64_t partColumns,
                            plan::OutputPath output) {
  if (output == plan::OutputPath::Direct)
    return 0;
  int64_t whole = std::min(problem.headDim, partColumns);
  int64_t rest =
      problem.headDim > partColumns ? problem.headDim % partColumns : 0;
  return kQueryPartRows * (whole + rest) * kSumBytes;
}

/// Bytes of so many buffers of keys and of blocks of queries where groups have
/// both sums of their keys.
static int64_t getJointBytes(const BackwardProblem &problem, int64_t keyStages,
                             int64_t queries, int64_t stages,
                             int64_t partColumns, plan::OutputPath output) {
  return getTileBytes(problem, getTileKeys(problem), keyStages, queries,
                      1 + problem.distanceShares, stages) +
         getPartBytes(problem, partColumns, output);
}

static bool fitsJoint(const BackwardProblem &problem, int64_t keyStages,
                      int64_t queries, int64_t stages, int64_t partColumns,
                      plan::OutputPath output) {
  return getJointBytes(problem, keyStages, queries, stages, partColumns,
                       output) <= problem.target->sharedMemory;
}

/// Buffers of a tile's keys and values: with two the next tile's are there when
/// it begins, where a CTA has several tiles and they fit.
static int64_t getKeyStages(const BackwardProblem &problem, int64_t queries,
                            int64_t stages, int64_t partColumns,
                            plan::WorkSchedule work, plan::OutputPath output) {
  if (work == plan::WorkSchedule::Single || hasSumsApart(problem))
    return 1;
  return fitsJoint(problem, /*keyStages=*/2, queries, stages, partColumns,
                   output)
             ? 2
             : 1;
}

/// Buffers of a block of queries where groups have both sums of their keys. The
/// scores of a block are asked for half a block after the stage that it needs
/// was given back: with a third one its queries are there. That is worth more
/// than the next tile's keys ahead of time where blocks take little time, and
/// costs nothing where there is no next tile. Beside what score_mods keep, and
/// tables by distance, it gains nothing.
static int64_t getStages(const BackwardProblem &problem, int64_t queries,
                         int64_t partColumns, plan::WorkSchedule work,
                         plan::OutputPath output) {
  int64_t columns = problem.getColumns();
  bool gains = work == plan::WorkSchedule::Single ||
               columns <= kMostColumnsOfShortBlocks;
  bool isPlain =
      !problem.modifies && problem.diagonals == 0 && !problem.sumsByDistance;
  return gains && isPlain && !hasSumsApart(problem) &&
                 queries == kFewestQueries &&
                 columns > kMostColumnsBesideGradients &&
                 fitsJoint(problem, /*keyStages=*/1, queries, kMostStages,
                           partColumns, output)
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

/// Roles for the kernel of keys: one copies, two warp groups with 64 keys each
/// find dK and dV, one dQ's share of a block.
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
  // The next block's weights are computed while dK of this one is; all of them,
  // where registers hold them beside this one's. That takes two of its stages.
  // Where a score_mod adds numbers by distance alone, scores start from them.
  bool startsFromDiagonals =
      stages > 1 && problem.diagonals > 0 && !problem.modifies;
  SmallVector<plan::DotAttr> dots;
  if (stages > 1)
    dots.push_back(make.ahead("s", /*isCarried=*/false, startsFromDiagonals));
  if (stages > 1 && !problem.modifies)
    dots.push_back(make.eachAbove("dv"));
  llvm::append_range(dots, make.lateQuery(problem));
  SmallVector<plan::RoleAttr> roles =
      make.roles(loadRegisters, problem,
                 {make.role("compute", kernel.warps, registers.ofCompute,
                            ownWithDerivatives({"s", "dp", "ds", "dv", "dk",
                                                "dv_out", "dk_out"},
                                               problem)),
                  make.role("reduce", kGroupWarps, registers.ofReduce,
                            ownWithQuery({}, problem))});
  SmallVector<plan::StoreAttr> stores = make.sums(output);
  if (hasCopies) {
    stores.push_back(make.copied("dv_out", /*over=*/"v"));
    if (problem.headDim == problem.valueHeadDim)
      stores.push_back(make.copied("dk_out", /*over=*/"v"));
  }
  SmallVector<plan::StreamAttr> streams = {make.stream("k", keyStages),
                                           make.stream("v", keyStages)};
  if (problem.sumsByDistance)
    make.addDerivatives(streams, kernel.stages, problem);
  streams.append({make.stream("exponents", kernel.stages, "q"),
                  make.stream("delta", kernel.stages, "do")});
  // Where their sums are found, too, somebody waits for derivatives: those
  // leave before anything is read.
  make.addDiagonals(streams, problem,
                    /*readsEarly=*/startsFromDiagonals &&
                        !problem.sumsByDistance);
  return plan::KernelAttr::get(context, unit, kernel, streams, dots, stores,
                               roles, /*asked=*/{});
}

/// Registers of a thread whose warp group has a sum.
static int64_t getSumRegisters(int64_t columns) {
  return llvm::alignTo(getAccumulators(columns) + kBesideAccumulators,
                       kBudgetStep);
}

/// Roles for the kernel of keys where one sum fills a warp group's registers:
/// one copies, one computes scores, what comes of them, and dQ's share of a
/// block, one has dV and one dK. All are one warp group and meet 64 keys.
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
    return emitError() << "schedule's 'producer_registers' is " << loadRegisters
                       << ", which leaves " << ofScores
                       << " registers to who computes scores, of at least "
                       << kScoreAccumulators + kBesideAccumulators;
  MLIRContext *context = unit.getContext();
  plan::KernelPlan kernel =
      makeKeysKernel(unit, problem, /*groups=*/1, kFewestQueries);
  BackwardPlanEntries make(context);
  // What the copy engine adds goes through the memory of one of the stages.
  bool isCopied = output == plan::OutputPath::Tma;
  // Who fills a stage of derivatives reads it, too: of two, one is done with in
  // all warps when it is filled again, since they met in between. Scores alone
  // are carried: of two dots in flight around a loop ptxas waits for both, or
  // serialises them (C7514).
  SmallVector<plan::RoleAttr> roles = make.roles(
      loadRegisters, problem,
      {make.role(
           "score", kGroupWarps, ofScores,
           ownWithQuery(ownWithDerivatives({"s", "p", "dp", "ds"}, problem),
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
  make.addDiagonals(streams, problem);
  return plan::KernelAttr::get(context, unit, kernel, streams,
                               {make.ahead("s", /*isCarried=*/true)},
                               make.sums(output), roles, /*asked=*/{});
}

/// Buffers of weights and of derivatives by scores: two, so that roles need not
/// wait for each other in each block, where they fit.
static int64_t getPairStages(const BackwardProblem &problem) {
  int64_t bytes = getTileBytes(problem, kGroupKeys, /*keyStages=*/1,
                               kFewestQueries, 2 + problem.distanceShares);
  return bytes <= problem.target->sharedMemory ? 2 : 1;
}

/// Buffers of a block's pairs, at least: of weights and of derivatives, where
/// they leave registers, and of what leaves for sums by distance. Who has that
/// and finds dQ's share of a block, too, leaves none.
static int64_t countPairBuffers(const BackwardProblem &problem) {
  switch (getKeyRoles(problem)) {
  case KeyRoles::Joint:
    return kStages * (1 + problem.distanceShares);
  case KeyRoles::Scores:
    return 1 + kStages;
  case KeyRoles::Pairs:
  case KeyRoles::Strips:
    return 2 + problem.distanceShares;
  }
  llvm_unreachable("all are known");
}

/// Whether what leaves for sums by distance, and the diagonals that come, fit
/// beside the rest.
static bool fitsStreams(const BackwardProblem &problem) {
  if (problem.distanceShares == 0 && problem.diagonals == 0)
    return true;
  int64_t keys = getTileKeys(problem);
  int64_t bytes = getTileBytes(problem, keys, /*keyStages=*/1, kFewestQueries,
                               /*ofPairs=*/0) +
                  countPairBuffers(problem) * keys * kFewestQueries *
                      problem.getElementBytes();
  if (getKeyRoles(problem) == KeyRoles::Joint)
    bytes += getPartBytes(problem, problem.headDim, getOutput(problem));
  return bytes <= problem.target->sharedMemory;
}

/// Two buffers of each diagonal, where nothing else has fewer for it.
static int64_t getDiagonalStages(BackwardProblem problem, int64_t queries,
                                 int64_t partColumns, plan::WorkSchedule work,
                                 plan::OutputPath output) {
  auto countOthers = [&](int64_t stages) {
    problem.diagonalStages = stages;
    return getKeyStages(problem, queries, kStages, partColumns, work, output) +
           getPairStages(problem);
  };
  int64_t others = countOthers(1);
  bool fits = countOthers(kStages) == others && fitsStreams(problem);
  if (fits && getKeyRoles(problem) == KeyRoles::Joint)
    fits = fitsJoint(problem, /*keyStages=*/1, queries, kStages, partColumns,
                     output);
  return fits ? kStages : 1;
}

static InFlightDiagnostic
emitRolesLeave(int64_t asked, int64_t left,
               function_ref<InFlightDiagnostic()> emitError) {
  return emitError() << "schedule's 'producer_registers' is " << asked
                     << ", where the other roles leave " << left;
}

/// Roles for the kernel of keys where one sum fills a warp group's registers
/// and derivatives need no scores: one copies, one computes scores, weights and
/// dV, one derivatives by weights and by scores and dK, one dQ's share of a
/// block. Each of those has one or two of the five products, and its chain of a
/// block's steps is short: others' products run while it computes.
static FailureOr<plan::KernelAttr>
makePairKeysPlan(plan::MatrixUnitAttrInterface unit,
                 const BackwardProblem &problem, int64_t loadRegisters,
                 plan::OutputPath output,
                 function_ref<InFlightDiagnostic()> emitError) {
  int64_t ofValues = getSumRegisters(problem.valueHeadDim) + kBlockAccumulators,
          ofKeys = getSumRegisters(problem.headDim) + kBlockAccumulators;
  int64_t ofParts = addsAhead(problem, KeyRoles::Pairs) ? kTwoPartsRegisters
                                                        : kReduceRegisters;
  int64_t spare = kRegisters - ofParts - loadRegisters - ofValues - ofKeys;
  if (spare < 0)
    return emitRolesLeave(loadRegisters, loadRegisters + spare, emitError);
  // Derivatives by scores are found from two tiles.
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
                 ownWithDerivatives({"dp", "ds", "dk", "dk_out"}, problem)),
       make.role("reduce", kGroupWarps, ofParts, ownWithQuery({}, problem))});
  SmallVector<plan::StreamAttr> streams = {
      make.stream("k", 1), make.stream("v", 1),
      make.stream("p", stages, /*with=*/"", /*isStaged=*/true)};
  make.addDerivatives(streams, stages, problem);
  streams.append({make.stream("exponents", kernel.stages, "q"),
                  make.stream("delta", kernel.stages, "do")});
  make.addDiagonals(streams, problem);
  return plan::KernelAttr::get(context, unit, kernel, streams,
                               make.lateQuery(problem), make.sums(output),
                               roles, /*asked=*/{});
}

/// Roles for the kernel of keys where registers hold both sums of a group's
/// keys, but nobody else's beside them: one copies, two find all that the pairs
/// of 64 keys give, the sums of those, and every other part of dQ's share of a
/// block, for which each reads the other's derivatives.
static FailureOr<plan::KernelAttr>
makeStripKeysPlan(plan::MatrixUnitAttrInterface unit,
                  const BackwardProblem &problem, int64_t loadRegisters,
                  plan::OutputPath output,
                  function_ref<InFlightDiagnostic()> emitError) {
  int64_t left = kRegisters - kKeyStrips * kStripRegisters;
  if (loadRegisters > left)
    return emitRolesLeave(loadRegisters, left, emitError);
  plan::KernelPlan kernel =
      makeKeysKernel(unit, problem, /*groups=*/1, kFewestQueries);
  kernel.tileM = kKeyStrips * kGroupKeys;
  BackwardPlanEntries make(unit.getContext());
  SmallVector<plan::StreamAttr> streams;
  SmallVector<plan::StoreAttr> stores = make.sums(output);
  SmallVector<plan::RoleAttr> roles = {
      make.role("load", kGroupWarps, loadRegisters,
                {"k", "v", "q", "do", "exponents", "delta"})};
  int64_t parts = llvm::divideCeil(problem.headDim, kQueryPartColumns);
  StringRef names[kKeyStrips] = {"first", "second"};
  for (int64_t strip = 0; strip < kKeyStrips; ++strip) {
    SmallVector<std::string> owned;
    auto own = [&](StringRef name, int64_t number) {
      owned.push_back((name + "." + Twine(number)).str());
    };
    for (StringRef name : {"s", "dp", "ds", "dv", "dk", "dv_out", "dk_out"})
      own(name, strip);
    int64_t widest = strip;
    for (int64_t index = strip; index < parts; index += kKeyStrips) {
      own("dq", index);
      own("dq_sum", index);
      if ((index + 1) * kQueryPartColumns <= problem.headDim)
        widest = index;
    }
    // Threads of a role add the widest part that they find, the last of those,
    // under the next round's scores.
    if (output == plan::OutputPath::Direct)
      stores.push_back(make.late(("dq_sum." + Twine(widest)).str()));
    roles.push_back(make.role(names[strip], kGroupWarps, kStripRegisters,
                              llvm::to_vector_of<StringRef>(owned)));
    for (StringRef name : {"k", "v"})
      streams.push_back(make.stream((name + "." + Twine(strip)).str(), 1));
    streams.push_back(make.alone(("ds." + Twine(strip)).str(), kStages));
  }
  // With one position for all of them ptxas leaves more in memory.
  for (StringRef name : {"q", "do"})
    streams.push_back(make.alone(name, kernel.stages));
  streams.push_back(make.stream("exponents", kernel.stages, "q"));
  streams.push_back(make.stream("delta", kernel.stages, "do"));
  return plan::KernelAttr::get(unit.getContext(), unit, kernel, streams,
                               /*dots=*/{}, stores, roles,
                               /*asked=*/{});
}

/// The same rows for a kernel beside it, whose fragments it has.
static plan::KernelAttr makeRowsPlan(plan::MatrixUnitAttrInterface unit,
                                     int64_t queries) {
  plan::KernelPlan kernel;
  kernel.tileM = kernel.tileN = queries;
  kernel.warps = queries / unit.getGroupRows() * unit.getGroupWarps();
  return plan::KernelAttr::get(unit.getContext(), unit, kernel, {}, {}, {}, {},
                               {});
}

/// Roles for the kernel beside it that finds sums over pairs: one copies, two
/// warp groups with 64 queries each find scores and derivatives by them. Null
/// where a block's operands, or what both find of it, would not fit.
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
      /*asked=*/{});
}

FailureOr<BackwardPlans> fovea::planWarpGroupBackward(
    plan::MatrixUnitAttrInterface unit, const BackwardProblem &given,
    const BackwardFields &asked, function_ref<InFlightDiagnostic()> emitError) {
  BackwardProblem problem = given;
  // Tiles of 64 keys have sums of their own, whatever the head dims.
  if (asked.tileM == kGroupKeys)
    problem.keyBlock = kGroupKeys;
  if (!fitsStreams(problem))
    problem.leaveDiagonals();
  // Another kernel meets all pairs again then.
  if (!fitsStreams(problem))
    problem.leaveSums();
  int64_t registers = asked.producerRegisters.value_or(kLoadRegisters);
  if (registers % kBudgetStep != 0)
    return emitError() << "schedule's 'producer_registers' must be a multiple "
                          "of "
                       << kBudgetStep << ", found " << registers;
  int64_t queries = asked.tileN.value_or(getBlockQueries(problem));
  int64_t most = getMostQueries(problem);
  if (queries != kFewestQueries && queries != most)
    return emitError() << "schedule's 'tile_n' is "
                       << (most == kFewestQueries ? "" : "64 or ") << most
                       << " where roles share the work "
                          "('producer_registers=0': none do), found "
                       << queries;
  BackwardPlans plans;
  plans.keyRoles = getKeyRoles(problem, asked);
  plans.addsAhead = addsAhead(problem, plans.keyRoles);
  plan::WorkSchedule work =
      asked.work.value_or(getWork(problem, plans.keyRoles));
  plan::OutputPath output = asked.output.value_or(getOutput(problem));
  if (problem.isDeterministic && output != plan::OutputPath::Direct)
    return emitError() << "schedule's 'output' must be direct where gradients "
                          "are to be deterministic, found "
                       << plan::stringifyOutputPath(output);
  // Every other section has a head's tiles the other way round then, so that a
  // CTA would wait for items of work behind its own.
  if (problem.isDeterministic && work == plan::WorkSchedule::Static)
    return emitError() << "schedule's 'work' must be single or dynamic where "
                          "gradients are to be deterministic, found static";
  bool isJoint = plans.keyRoles == KeyRoles::Joint;
  JointRegisters shares;
  if (isJoint)
    shares = shareJointRegisters(problem, queries, registers);
  plans.partColumns = shares.partColumns;
  problem.diagonalStages =
      getDiagonalStages(problem, queries, shares.partColumns, work, output);
  int64_t stages = asked.stages.value_or(
      getStages(problem, queries, shares.partColumns, work, output));
  int64_t mostKeys = getKeyStages(problem, queries, stages, shares.partColumns,
                                  work, output),
          keyStages = asked.keyStages.value_or(mostKeys);
  if (keyStages < 1 || keyStages > mostKeys)
    return emitError() << "schedule's 'key_stages' must be in [1, " << mostKeys
                       << "] for these head dims and this 'work', found "
                       << keyStages;
  bool isAsked = asked.tileN || asked.stages || asked.keyStages;
  int64_t bytes = getJointBytes(problem, keyStages, queries, stages,
                                shares.partColumns, output);
  if (isJoint && isAsked && bytes > problem.target->sharedMemory)
    return emitError() << "schedule's 'stages' is " << stages
                       << ", which needs about " << bytes
                       << " bytes of shared memory, '" << problem.target->name
                       << "' has " << problem.target->sharedMemory;
  FailureOr<plan::KernelAttr> keys =
      plans.keyRoles == KeyRoles::Scores
          ? makeScoreKeysPlan(unit, problem, registers, output, emitError)
      : plans.keyRoles == KeyRoles::Pairs
          ? makePairKeysPlan(unit, problem, registers, output, emitError)
      : plans.keyRoles == KeyRoles::Strips
          ? makeStripKeysPlan(unit, problem, registers, output, emitError)
          : FailureOr<plan::KernelAttr>(makeKeysPlan(
                unit, problem, shares, queries, stages, keyStages, registers,
                output, copiesGradients(problem, asked, work)));
  if (failed(keys))
    return failure();
  plans.keys =
      keys->change([&](plan::KernelPlan &kernel) { kernel.work = work; });
  plans.queries = makeRowsPlan(unit, queries);
  plans.keysFindSums = problem.tilesFindSums;
  if (problem.sums && !problem.tilesFindSums)
    plans.sums = makeSumsPlan(unit, problem);
  plans.sumsQueries = true;
  plans.ordersSums = problem.isDeterministic;
  plans.keepsGradients =
      isJoint ? shares.keepsGradients : plans.keyRoles != KeyRoles::Scores;
  // If registers hold both factors, keeping the product costs 2 % at d 64.
  bool isWide = problem.getColumns() > kMostColumnsBesideGradients;
  plans.slopesFirst = isJoint && problem.readsScores && isWide;
  // Registers hold P in f32 or dV's operand here; with a score_mod no P in f32.
  bool isShort = isJoint && (queries != kFewestQueries || isWide);
  plans.roundsWeights = isShort && problem.hasScoreMod;
  plans.valuesLate = isShort && !plans.slopesFirst && !plans.roundsWeights;
  plans.startsFromDelta = isJoint;
  // Beside what score_mods keep they would be spilled.
  plans.exponentsFirst = !problem.modifies;
  plans.deltaFirst =
      !problem.modifies || problem.getColumns() <= kMostColumnsBesideGradients;
  return plans;
}
