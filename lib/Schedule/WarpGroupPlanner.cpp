//===- WarpGroupPlanner.cpp - Schedules for wgmma ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forward schedules on Hopper: one role loads with TMA, one to four warp groups
// compute. Head dims, mask and captures determine the number of warp groups,
// register budgets, tile sizes and buffers.
//
//===----------------------------------------------------------------------===//

#include "Planner.h"
#include "WarpGroupBackward.h"

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Support/Warps.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fovea;

// Registers per thread besides tiles: row statistics, stage indices,
// descriptors, operands of outstanding instructions.
static constexpr int64_t kOtherRegisters = 24;
// Bytes of a row of a buffer of ones (a panel row), and of a column (the
// reduction step of one MMA instruction).
static constexpr int64_t kOnesRowBytes = 128, kOnesColumnBytes = 32;

namespace {
/// Register budgets of the producer's warp group and of consumers; in total no
/// more than the launch allocates.
struct Budget {
  int64_t producer, consumer;
};
} // namespace

/// Warps of the producer's group that transpose V: they divide every padded
/// head dim into blocks of 16.
static constexpr int64_t kTransposeWarps = 2;

static Budget getBudget(int64_t groups) {
  switch (groups) {
  case 1:
    return {56, 248};
  case 2:
    return {40, 232};
  case 3:
    return {32, 160};
  default:
    return {32, 112};
  }
}

/// A producer that evaluates a block predicate needs more than 40 registers,
/// and up to 80 if it reads captured values.
static Budget getBudget(const ScheduleProblem &problem, int64_t groups) {
  int64_t headDim = std::max(problem.headDim, problem.valueHeadDim);
  // A producer holds the pages of a block, of which there are up to 8.
  bool hasSmallPages = problem.page != 0 && problem.page < 32;
  if (groups == 1 && hasSmallPages)
    return {96, 248};
  if (groups == 2 && hasSmallPages)
    return problem.page < 16 ? Budget{88, 208} : Budget{72, 216};
  if (groups == 3 && problem.blocksByCaptures)
    return {56, 152};
  if (groups == 2 && problem.blocksByCaptures && headDim <= 128)
    return {72, 216};
  if (groups == 2 &&
      (problem.blocksByCaptures || problem.sparse || problem.fewRows))
    return {56, 224};
  return getBudget(groups);
}

/// Registers per thread for the accumulator, scores and P; for values added to
/// scores, which are outstanding loads of which ptxas keeps about half if each
/// score needs one; and for captured values per key.
static int64_t getTileRegisters(const ScheduleProblem &problem, int64_t tileN,
                                bool sumByDot, int64_t scoreStages) {
  int64_t loads = problem.loadsPerScore ? tileN / 4 : 0;
  if (scoreStages != 0)
    loads = std::max(loads, tileN * problem.scoreBits / 64);
  int64_t keys = tileN * problem.keyBits / 128;
  int64_t weights = tileN * problem.bits.value / 64;
  return problem.valueHeadDim / 2 + tileN / 2 + weights + loads + keys +
         (sumByDot ? 4 : 0);
}

/// Columns of ones can only extend a single, full panel of V.
static bool canSumByDot(const ScheduleProblem &problem) {
  return warp::getBoxPanelColumns(problem.valueHeadDim, problem.bits.value) ==
         problem.valueHeadDim;
}

static int64_t getOnesBytes(const ScheduleProblem &problem) {
  return kOnesColumnBytes * 8 / problem.bits.value * kOnesRowBytes;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

/// Output can use Q's buffer if that is as wide, and if no role waits for the
/// buffer before the output is written.
static bool isQueryBufferWideEnough(const ScheduleProblem &problem) {
  const StreamBits &bits = problem.bits;
  return padColumns(problem.valueHeadDim, bits.output) * bits.output ==
         padColumns(problem.headDim, bits.query) * bits.query;
}
static bool isQueryBufferFree(bool chain, int64_t queryStages) {
  return !chain || queryStages == 2;
}

/// Adjusts rows and register budgets, where allowed, to the number of warp
/// groups.
static void fitToGroups(const ScheduleProblem &problem,
                        plan::MatrixUnitAttrInterface unit, bool rows,
                        bool budget, ScheduleFields &fields) {
  int64_t groups = fields.warps / unit.getGroupWarps();
  if (fields.warps % unit.getGroupWarps() != 0 || groups < 1 || groups > 4)
    return;
  if (rows)
    fields.tileM = groups * unit.getGroupRows();
  if (!budget)
    return;
  Budget registers = getBudget(problem, groups);
  fields.producerRegisters = registers.producer;
  fields.consumerRegisters = registers.consumer;
}

static bool fitsWithOutput(const Planner &planner,
                           const ScheduleProblem &problem,
                           ScheduleFields fields, int64_t keyStages) {
  fields.keyStages = keyStages;
  fields.output = plan::OutputPath::Tma;
  fields.outputStages = 1;
  return planner.fitsSharedMemory(problem, fields);
}

/// Gives the output its own buffer if there is room for one; with
/// `mayTakeKeyStages` also in place of a third or fourth buffer of K.
static void chooseOutputStages(const Planner &planner,
                               const ScheduleProblem &problem,
                               bool mayTakeKeyStages, ScheduleFields &fields) {
  int64_t keyStages = fields.getKeyStages();
  int64_t least = keyStages;
  if (mayTakeKeyStages && fields.keyStages != 0)
    least = std::min<int64_t>(keyStages, 2);
  while (keyStages > least &&
         !fitsWithOutput(planner, problem, fields, keyStages))
    --keyStages;
  fields.outputStages = fitsWithOutput(planner, problem, fields, keyStages);
  if (fields.outputStages != 0 && fields.keyStages != 0)
    fields.keyStages = keyStages;
}

/// Chooses how output is stored, after all other fields.
static void chooseOutput(const Planner &planner, const ScheduleProblem &problem,
                         bool mayTakeKeyStages, ScheduleFields &fields) {
  // TMA saves up to 5 % of the time if output is a large part of the work, and
  // more with a separate buffer: with Q's buffer all roles wait until the
  // output is copied. A separate buffer is worth more than a third buffer of K.
  int64_t headDim = std::max(problem.headDim, problem.valueHeadDim);
  if (headDim > 128)
    return;
  chooseOutputStages(planner, problem, mayTakeKeyStages, fields);
  // For short tiles, the wait costs as much as TMA saves.
  bool waitsForLittle = headDim <= 80 || !problem.uneven;
  if (fields.outputStages != 0 ||
      (waitsForLittle && isQueryBufferWideEnough(problem) &&
       isQueryBufferFree(fields.chain, fields.queryStages)))
    fields.output = plan::OutputPath::Tma;
}

/// Sets the widest block that fits, and then as many stages as fit. Returns
/// false if no block fits.
static bool fillTile(const Planner &planner, const ScheduleProblem &problem,
                     int64_t groups, Budget budget, bool isSmall,
                     int64_t keyChunk, ScheduleFields &fields) {
  auto fits = [&](int64_t tileN, int64_t queryStages, int64_t keyStages,
                  int64_t valueStages) {
    ScheduleFields tried = fields;
    tried.tileN = tileN;
    tried.queryStages = queryStages;
    tried.keyStages = keyStages;
    tried.stages = valueStages;
    return planner.fitsSharedMemory(problem, tried);
  };
  // With uneven tiles and large heads, smaller blocks waste less at the edge of
  // a mask.
  int64_t headDim = std::max(problem.headDim, problem.valueHeadDim);
  int64_t widest = 128;
  bool fillsThree = groups == 3;
  if ((isSmall && !problem.sparse && !fillsThree) ||
      (headDim > 192 && problem.uneven))
    widest = 64;
  else if (fillsThree)
    widest = headDim > 80 && !problem.uneven ? 112 : 96;
  else if (headDim > 192 && problem.bits.value == 8)
    widest = 96;
  // Equal shares of fewer keys differ by less.
  if (fields.work == plan::WorkSchedule::Shares)
    widest = 64;
  // Random numbers need registers in addition to scores and P.
  if (problem.dropout)
    widest = std::min<int64_t>(widest, 112);
  for (int64_t tileN = widest; tileN >= 16; tileN -= 16) {
    if (!problem.fitsKeys(tileN) || tileN % keyChunk != 0 ||
        tileN % planner.getUnit().getSumStep(problem.bits.value) != 0)
      continue;
    // Captured values that are added to scores wait in registers for the QK
    // dot: all of them if they come through shared memory, otherwise the
    // outstanding loads.
    int64_t waiting = 0;
    if (problem.loadsPerScore && problem.scoreMod && !fields.addByDot)
      waiting = fields.scoreStages != 0 ? tileN * 9 / 16 : tileN * 3 / 16;
    if (getTileRegisters(problem, tileN, fields.sumByDot, fields.scoreStages) +
            waiting + kOtherRegisters >
        budget.consumer)
      continue;
    // Two buffers of Q let the next tile start while the current one ends. That
    // is worth more than a few columns, but not more than half of them.
    int64_t queryStages = 2;
    if (!fits(tileN, 2, 2, 2)) {
      if (tileN >= 64 && fits(tileN, 1, 2, 2))
        queryStages = 1;
      else
        continue;
    }
    fields.tileN = tileN;
    fields.queryStages = queryStages;
    // With one buffer, the next Q waits for the current tile's last scores,
    // which costs as much as chaining gains.
    fields.chain = queryStages == 2;
    fields.stages = fields.keyStages = 2;
    while (fields.keyStages < 4 &&
           fits(tileN, queryStages, fields.keyStages + 1, fields.stages)) {
      ++fields.keyStages;
      if (fields.stages < 4 &&
          fits(tileN, queryStages, fields.keyStages, fields.stages + 1))
        ++fields.stages;
    }
    return true;
  }
  return false;
}

/// Returns the number of compute warp groups. For small heads softmax is the
/// bottleneck, and more warp groups hide more of it; large heads need the
/// registers of two.
static int64_t chooseGroups(const ScheduleProblem &problem) {
  // Random numbers take registers and are the larger bottleneck. Masks that
  // leave few keys also prefer two warp groups, since larger tiles see more
  // keys than their rows do.
  if (problem.dropout || problem.sparse)
    return 2;
  int64_t headDim = std::max(problem.headDim, problem.valueHeadDim);
  // Four warp groups leave the producer 32 registers and consumers none for
  // vectors. Loaded values need registers while they wait for a dot. So do the
  // values of chunks of keys, if the loop carries the maxima that correct the
  // row sums for a log-sum-exp.
  bool addsLoads = (problem.scoreMod && problem.loadsPerScore) ||
                   (problem.lse && problem.keyChunk > 1);
  if (headDim <= 64)
    return problem.blocksByCaptures || problem.keyBits >= 16 || addsLoads ? 3
                                                                          : 4;
  // For medium head dims, three warp groups have registers for unmodified
  // scores. Their 192 rows also cover more of a mask's edge, and masks need
  // registers.
  bool changesScores = problem.scoreMod || problem.loadsPerScore;
  int64_t most = problem.uneven ? 80 : 112;
  // Products of 8 bits take half the time, so softmax is the bottleneck.
  if (problem.bits.value == 8)
    most = 128;
  return headDim <= most && !changesScores ? 3 : 2;
}

namespace {
class WarpGroupPlanner : public Planner {
public:
  using Planner::Planner;
  bool isOn(const TargetInfo &target) const override {
    return target.warpGroupDots;
  }
  std::vector<std::vector<std::string>> listShapes() const override;
  std::vector<std::string> listVariations() const override;
  std::optional<ScheduleFields>
  decide(const ScheduleProblem &problem,
         std::optional<plan::RecurrenceKind> recurrence) const override;
  bool isFor(const ScheduleFields &fields) const override {
    return fields.hasRoles() && fields.rowTiles == 0;
  }
  LogicalResult
  fit(const ScheduleProblem &problem, const llvm::StringSet<> &asked,
      ScheduleFields &fields,
      function_ref<InFlightDiagnostic()> emitError) const override;
  LogicalResult
  check(const ScheduleProblem &problem, const ScheduleFields &fields,
        function_ref<InFlightDiagnostic()> emitError) const override;
  BackwardForm getBackwardForm() const override { return BackwardForm::Roles; }
  std::optional<std::string>
  findObstacle(const BackwardProblem &problem) const override {
    return findWarpGroupObstacle(problem);
  }
  FailureOr<BackwardPlans>
  planBackward(const BackwardProblem &problem, const BackwardFields &asked,
               function_ref<InFlightDiagnostic()> emitError) const override {
    return planWarpGroupBackward(unit, problem, asked, emitError);
  }

protected:
  void addStreams(const ScheduleFields &fields,
                  Entries &entries) const override;
  void addRoles(const ScheduleFields &fields, Entries &entries) const override;
  SmallVector<SharedTile>
  getSharedTiles(const ScheduleProblem &problem,
                 const ScheduleFields &fields) const override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

std::vector<std::vector<std::string>> WarpGroupPlanner::listShapes() const {
  std::vector<std::vector<std::string>> shapes;
  for (int64_t groups = 1; groups <= 4; ++groups)
    for (int64_t tileN = 48; tileN <= 192; tileN += 16)
      for (int64_t chain : {0, 1, 2}) {
        auto &list = shapes.emplace_back();
        Budget budget = getBudget(groups);
        for (auto [keyStages, stages] :
             {std::pair(4, 4), {4, 3}, {3, 3}, {3, 2}, {2, 2}})
          list.push_back(llvm::formatv(
              "warps={0},tile_m={1},producer_registers={2},"
              "consumer_registers={3},ping_pong={4},tile_n={5},chain={6},"
              "query_stages={7},key_stages={8},stages={9}",
              groups * unit.getGroupWarps(), groups * unit.getGroupRows(),
              budget.producer, budget.consumer, int(groups > 1), tileN, chain,
              chain == 1 ? 2 : 1, keyStages, stages));
      }
  return shapes;
}

std::vector<std::string> WarpGroupPlanner::listVariations() const {
  return {"work=static",     "work=dynamic",          "work=single,chain=0",
          "work=shares",     "ping_pong=0",           "ping_pong=1",
          "softmax_part=25", "softmax_part=50",       "softmax_part=100",
          "sum_by_dot=1",    "cluster=2,work=static", "exp2_by_fma=25",
          "add_by_dot=0",    "add_by_dot=1",          "output=direct",
          "output=tma"};
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

std::optional<ScheduleFields>
WarpGroupPlanner::decide(const ScheduleProblem &problem,
                         std::optional<plan::RecurrenceKind> recurrence) const {
  if (!isOn(*problem.target) || findUnsupportedBits(unit, problem.bits))
    return std::nullopt;
  if (problem.copiesRows())
    return std::nullopt;
  int64_t headDim = std::max(problem.headDim, problem.valueHeadDim);
  bool isSmall = headDim <= 64 && !problem.dropout;
  int64_t wanted = chooseGroups(problem), most = problem.dropout ? 2 : 4;
  if (problem.rows != 0)
    most = std::min<int64_t>(
        most, llvm::divideCeil(problem.rows, unit.getGroupRows()));
  // Items with few rows multiply as many as the tile has.
  if (problem.fewRows)
    most = std::min<int64_t>(most, 2);
  // Otherwise the next number whose tiles divide the blocks of queries.
  int64_t groups = 0;
  for (int64_t candidate :
       {std::min(wanted, most), int64_t(3), int64_t(2), int64_t(1)})
    if (groups == 0 && candidate <= most &&
        problem.queryBlock % (candidate * unit.getGroupRows()) == 0)
      groups = candidate;
  if (groups == 0 || problem.keyBlock % 16 != 0)
    return std::nullopt;
  ScheduleFields fields;
  fields.warps = groups * unit.getGroupWarps();
  fields.tileM = groups * unit.getGroupRows();
  Budget budget = getBudget(problem, groups);
  fields.producerRegisters = budget.producer;
  fields.consumerRegisters = budget.consumer;
  if (problem.transposesValues())
    fields.transposeWarps = kTransposeWarps;
  fields.overlap = 1;
  fields.pingPong = groups > 1;
  fields.recurrence = recurrence.value_or(plan::RecurrenceKind::Lazy);
  fields.tau = 32;
  // P reaches 2^tau, which exceeds the range of f16.
  if (!problem.wideExponent)
    fields.tau = 8;
  // Deferred rescaling takes powers of two from the range of P, and 8-bit types
  // have few.
  if (problem.bits.value == 8)
    fields.tau = 4;
  fields.softmaxPart = isSmall ? 50 : 25;
  // With dropout, exponentials would be computed twice: for the row sum and for
  // the product.
  if (problem.dropout)
    fields.softmaxPart = 100;
  // For small heads softmax is the bottleneck, so fewer additions help.
  // Narrower values waste more of each MMA on the columns of ones.
  // The accumulators of 8-bit products lose the low bits of long sums.
  fields.sumByDot = !problem.lse && isSmall && problem.valueHeadDim == 64 &&
                    problem.bits.value != 8;
  fields.work =
      problem.uneven ? plan::WorkSchedule::Dynamic : plan::WorkSchedule::Static;
  fields.classify = problem.classifies;
  // All rows that share keys fit one tile: there may be fewer tiles than CTAs.
  if (problem.mayHaveFewTiles(fields.tileM)) {
    fields.work = plan::WorkSchedule::Shares;
    // A share of few rows may have few blocks.
    fields.pingPong &= problem.fewRows;
    fields.split = problem.getSplit();
  }
  // MMA accumulators round large sums at each step: by 4e-3 for scores in the
  // thousands, which is invisible in P but not in a log-sum-exp. Loaded
  // summands may be of any size and stay out of accumulators.
  fields.addByDot = problem.scoreMod && !problem.lse && !problem.loadsPerScore;

  // One buffer is in use while the next one is filled.
  for (int64_t scoreStages : {2, 0}) {
    if (scoreStages != 0 && !problem.scoreBits)
      continue;
    fields.scoreStages = scoreStages;
    // Prefer multiples of the key chunk.
    for (int64_t keyChunk : {problem.keyChunk, int64_t(1)})
      if (fillTile(*this, problem, groups, budget, isSmall, keyChunk, fields))
        return fields;
  }
  return std::nullopt;
}

/// True if the user sets a field that pieces of items do not have.
static bool needsWholeItems(const llvm::StringSet<> &asked,
                            const ScheduleFields &fields) {
  auto asks = [&](StringRef name, bool value) {
    return value && asked.contains(name);
  };
  return asks("chain", fields.chain != 0) ||
         asks("classify", fields.classify) ||
         asks("cluster", fields.cluster > 1) ||
         asks("longest_first", fields.longestFirst) ||
         asks("output", fields.output == plan::OutputPath::Tma);
}

/// Pieces of items are joined in registers and stored directly.
static void fitToShares(const ScheduleProblem &problem,
                        const llvm::StringSet<> &asked,
                        ScheduleFields &fields) {
  if (!asked.contains("ping_pong"))
    fields.pingPong &= problem.fewRows;
  if (!asked.contains("chain"))
    fields.chain = 0;
  if (!asked.contains("classify"))
    fields.classify = false;
  if (!asked.contains("longest_first"))
    fields.longestFirst = false;
  if (!asked.contains("output"))
    fields.output = plan::OutputPath::Direct;
  if (!asked.contains("split"))
    fields.split = problem.getSplit();
}

LogicalResult WarpGroupPlanner::fit(const ScheduleProblem &problem,
                                    const llvm::StringSet<> &asked,
                                    ScheduleFields &fields,
                                    function_ref<InFlightDiagnostic()>) const {
  bool setsKeyStages = asked.contains("key_stages") || asked.contains("stages");
  bool setsBudget = asked.contains("producer_registers") ||
                    asked.contains("consumer_registers");
  bool setsOutputStages = asked.contains("output_stages");
  // Rows and registers depend on the number of warp groups.
  if (asked.contains("warps"))
    fitToGroups(problem, unit, !asked.contains("tile_m"), !setsBudget, fields);
  if (fields.work == plan::WorkSchedule::Shares && !asked.contains("work") &&
      needsWholeItems(asked, fields))
    fields.work = problem.uneven && fields.cluster == 1
                      ? plan::WorkSchedule::Dynamic
                      : plan::WorkSchedule::Static;
  if (fields.work != plan::WorkSchedule::Shares && !asked.contains("split"))
    fields.split = 0;
  if (fields.work == plan::WorkSchedule::Shares)
    fitToShares(problem, asked, fields);
  else if (!asked.contains("output") && !setsOutputStages)
    chooseOutput(*this, problem, !setsKeyStages, fields);
  else if (fields.output == plan::OutputPath::Tma && !setsOutputStages)
    chooseOutputStages(*this, problem, !setsKeyStages, fields);
  return success();
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

SmallVector<SharedTile>
WarpGroupPlanner::getSharedTiles(const ScheduleProblem &problem,
                                 const ScheduleFields &fields) const {
  SmallVector<SharedTile> tiles;
  if (fields.sumByDot)
    tiles.push_back({"", getOnesBytes(problem)});
  if (fields.transposeWarps != 0)
    tiles.push_back(
        {kTransposedValues, problem.valueHeadDim *
                                padColumns(fields.tileN, problem.bits.value) *
                                problem.bits.value / 8});
  return tiles;
}

/// Each CTA multicasts a part of the rows of every block, which must be a
/// multiple of the swizzle period.
static LogicalResult
checkCluster(const ScheduleFields &fields,
             function_ref<InFlightDiagnostic()> emitError) {
  int64_t cluster = fields.cluster;
  if (cluster != 1 && cluster != 2)
    return emitError() << "schedule's 'cluster' must be 1 or 2, found "
                       << cluster;
  if (cluster > 1 && (fields.work == plan::WorkSchedule::Dynamic ||
                      fields.work == plan::WorkSchedule::Shares))
    return emitError() << "schedule's 'cluster' " << cluster
                       << " needs 'work' to be single or static";
  return success();
}

static LogicalResult checkOutput(const ScheduleProblem &problem,
                                 const ScheduleFields &fields,
                                 function_ref<InFlightDiagnostic()> emitError) {
  if (fields.output != plan::OutputPath::Tma || fields.outputStages != 0)
    return success();
  if (!isQueryBufferWideEnough(problem))
    return emitError() << "schedule's 'output' tma needs room for a buffer of "
                          "its own ('output_stages' 1) where the head dim of "
                          "values, "
                       << problem.valueHeadDim << ", is not that of keys, "
                       << problem.headDim;
  if (!isQueryBufferFree(fields.chain, fields.queryStages))
    return emitError() << "schedule's 'output' tma in the query's buffer "
                          "('output_stages' 0) and 'chain' need "
                          "'query_stages' 2, found "
                       << fields.queryStages;
  return success();
}

/// A role transposes V if and only if the unit needs it.
static LogicalResult
checkTranspose(const ScheduleProblem &problem, const ScheduleFields &fields,
               function_ref<InFlightDiagnostic()> emitError) {
  bool transposes = fields.transposeWarps != 0;
  if (transposes == problem.transposesValues())
    return success();
  if (transposes)
    return emitError() << "schedule's 'transpose_warps' needs values of 8 "
                          "bits, found "
                       << problem.bits.value;
  return emitError() << "schedule's 'transpose_warps' must not be 0 for values "
                        "of 8 bits, which wgmma reads transposed";
}

/// Tiles must fit the register budget of a thread, and all budgets the
/// registers of an SM.
static LogicalResult
checkBudgets(const ScheduleProblem &problem, int64_t groupWarps,
             const ScheduleFields &fields,
             function_ref<InFlightDiagnostic()> emitError) {
  int64_t groups = fields.warps / groupWarps;
  int64_t registers = getTileRegisters(problem, fields.tileN, fields.sumByDot,
                                       fields.scoreStages) +
                      kOtherRegisters;
  if (registers > fields.consumerRegisters)
    return emitError()
           << "schedule needs about " << registers
           << " registers per compute thread, but 'consumer_registers' is "
           << fields.consumerRegisters
           << ": reduce 'tile_n', or use fewer 'warps'";
  int64_t threads = kLanes * groupWarps * (groups + 1);
  int64_t launched =
      problem.target->registers / threads / kBudgetStep * kBudgetStep;
  int64_t wanted = fields.producerRegisters + groups * fields.consumerRegisters;
  if (wanted > launched * (groups + 1))
    return emitError() << "schedule's register budgets need "
                       << wanted * kLanes * groupWarps
                       << " registers, but a CTA of " << threads
                       << " threads has " << launched * threads;
  return success();
}

/// Adds to an error the number of warps that a tile of `rows` needs, if there
/// is one.
static InFlightDiagnostic suggestWarps(InFlightDiagnostic error, int64_t rows,
                                       int64_t groupRows, int64_t groupWarps) {
  int64_t groups = rows / groupRows;
  if (rows % groupRows == 0 && groups >= 1 && groups <= 4)
    error << "; use warps=" << groups * groupWarps;
  return error;
}

LogicalResult
WarpGroupPlanner::check(const ScheduleProblem &problem,
                        const ScheduleFields &fields,
                        function_ref<InFlightDiagnostic()> emitError) const {
  if (!isOn(*problem.target))
    return noteRoles(emitError(), *problem.target)
           << "schedule has roles ('producer_registers'), which '"
           << problem.target->name << "' does not support";
  int64_t groups = fields.warps / unit.getGroupWarps();
  if (fields.warps % unit.getGroupWarps() != 0 || groups > 4)
    return emitError() << "schedule's 'warps' must be 4, 8, 12 or 16 in "
                          "kernels with roles, found "
                       << fields.warps;
  if (fields.tileM != groups * unit.getGroupRows())
    return suggestWarps(
        emitError() << "schedule's 'tile_m' must be " << unit.getGroupRows()
                    << " rows for each of " << groups << " warp groups, found "
                    << fields.tileM,
        fields.tileM, unit.getGroupRows(), unit.getGroupWarps());
  if (fields.tileN % unit.getColumnStep() != 0 ||
      fields.tileN > unit.getMostColumns())
    return emitError() << "schedule's 'tile_n' must be a multiple of "
                       << unit.getColumnStep() << " up to "
                       << unit.getMostColumns() << ", found " << fields.tileN;
  if (fields.queryInRegisters)
    return emitError() << "schedule's 'query_in_registers' must be 0 in "
                          "kernels with roles";
  if (failed(checkTranspose(problem, fields, emitError)) ||
      failed(checkBudgetSteps(fields, emitError)))
    return failure();
  if (failed(checkCluster(fields, emitError)))
    return failure();
  if (fields.chain == 1 && fields.queryStages != 2)
    return emitError() << "schedule's 'chain' 1 needs 'query_stages' 2, found "
                       << fields.queryStages;
  if (fields.chain && !fields.overlap)
    return emitError() << "schedule's 'chain' needs 'overlap'";
  if (fields.chain && fields.work == plan::WorkSchedule::Single)
    return emitError()
           << "schedule's 'chain' needs 'work' to be static or dynamic";
  if (failed(checkOutput(problem, fields, emitError)))
    return failure();
  if (fields.sumByDot && !canSumByDot(problem))
    return emitError() << "schedule's 'sum_by_dot' needs a value head dim of "
                          "16, 32 or 64, found "
                       << problem.valueHeadDim;

  if (failed(checkBudgets(problem, unit.getGroupWarps(), fields, emitError)))
    return failure();
  return checkSharedMemory(problem, fields, "'tile_n' or the stages",
                           emitError);
}

void WarpGroupPlanner::addStreams(const ScheduleFields &fields,
                                  Entries &entries) const {
  if (fields.transposeWarps != 0)
    entries.addStream(kTransposedValues, fields.stages);
}

void WarpGroupPlanner::addRoles(const ScheduleFields &fields,
                                Entries &entries) const {
  // Register budgets apply to warp groups.
  entries.roles.push_back(plan::RoleAttr::get(
      entries.context, "load", unit.getGroupWarps() - fields.transposeWarps,
      fields.producerRegisters, ArrayAttr::get(entries.context, {}),
      /*copies=*/true));
  if (fields.transposeWarps != 0)
    entries.addRole("transpose", fields.transposeWarps,
                    fields.producerRegisters, {kTransposedValues});
  entries.addRole("compute", fields.warps, fields.consumerRegisters, {"*"});
}

std::unique_ptr<Planner> fovea::makeWarpGroupPlanner(MLIRContext *context) {
  return std::make_unique<WarpGroupPlanner>(warp::WgmmaUnitAttr::get(context));
}
