//===- MmaSyncPlanner.cpp - Schedules for mma.sync --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One program for all warps, each with rows of its own. Registers bound the
// tile, and how many CTAs share an SM.
//
//===----------------------------------------------------------------------===//

#include "Planner.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;
using namespace fovea;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {
/// Schedules for mma.sync targets by the larger head dim. All fit 99 KiB, the
/// least that any of these chips has.
struct MmaSyncEntry {
  int64_t headDim, tileM, tileN, queryInRegisters, minBlocks;

  ScheduleFields get() const {
    ScheduleFields fields;
    fields.tileM = tileM;
    fields.tileN = tileN;
    fields.queryInRegisters = queryInRegisters;
    fields.minBlocks = minBlocks;
    return fields;
  }
};
} // namespace

static constexpr MmaSyncEntry kMmaSyncTable[] = {
    {32, 128, 64, 1, 2}, {64, 128, 64, 0, 2}, {96, 128, 32, 0, 2},
    {128, 64, 64, 0, 2}, {192, 64, 48, 0, 1}, {256, 64, 32, 0, 1},
};

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// The largest multiple of `step` up to `most` that divides `block`; `most` if
/// there is none.
static int64_t largestDividing(int64_t most, int64_t step, int64_t block) {
  for (int64_t size = most; size >= step; size -= step)
    if (block % size == 0)
      return size;
  return most;
}

/// Lets tiles divide the blocks that are visited, a warp taking no more rows
/// than before.
static void fitToBlocks(int64_t rowBlock, int64_t columnBlock,
                        plan::MatrixUnitAttrInterface unit,
                        ScheduleFields &fields) {
  int64_t least = unit.getGroupRows();
  fields.tileN =
      largestDividing(fields.tileN, unit.getColumnStep(), columnBlock);
  int64_t warpRows = fields.tileM / fields.warps;
  for (int64_t rows = fields.tileM; rows >= least; rows -= least) {
    if (rowBlock % rows != 0)
      continue;
    for (int64_t warps = fields.warps; warps * warpRows >= rows; --warps)
      if (rows % (least * warps) == 0) {
        fields.tileM = rows;
        fields.warps = warps;
        return;
      }
  }
}

namespace {
class MmaSyncPlanner : public Planner {
public:
  using Planner::Planner;
  bool isOn(const TargetInfo &) const override { return true; }
  std::vector<std::vector<std::string>> listShapes() const override;
  std::vector<std::string> listVariations() const override {
    return {"recurrence=lazy"};
  }
  std::optional<ScheduleFields>
  decide(const ScheduleProblem &problem,
         std::optional<plan::RecurrenceKind> recurrence) const override;
  bool isFor(const ScheduleFields &fields) const override {
    return !fields.hasRoles();
  }
  LogicalResult
  fit(const ScheduleProblem &problem, const llvm::StringSet<> &asked,
      ScheduleFields &fields,
      function_ref<InFlightDiagnostic()> emitError) const override;
  LogicalResult
  check(const ScheduleProblem &problem, const ScheduleFields &fields,
        function_ref<InFlightDiagnostic()> emitError) const override;
  int64_t getSharedMemory(const ScheduleProblem &problem,
                          const ScheduleFields &fields) const override;
  BackwardForm getBackwardForm() const override {
    return BackwardForm::OneProgram;
  }
  FailureOr<BackwardPlans>
  planBackward(const BackwardProblem &problem, const BackwardFields &asked,
               function_ref<InFlightDiagnostic()> emitError) const override;

private:
  void sumQueries(const BackwardProblem &problem, const BackwardFields &asked,
                  ScheduleFields fields, BackwardPlans &plans) const;
};
} // namespace

std::vector<std::vector<std::string>> MmaSyncPlanner::listShapes() const {
  std::vector<std::vector<std::string>> shapes;
  // Each warp holds the rows of one or two instructions.
  for (int64_t warps : {4, 8})
    for (int64_t rows : {unit.getGroupRows(), 2 * unit.getGroupRows()})
      for (int64_t tileN : {32, 48, 64, 96, 128})
        for (int64_t inRegisters : {0, 1})
          for (int64_t blocks : {1, 2}) {
            auto &list = shapes.emplace_back();
            for (int64_t stages : {3, 2})
              list.push_back(llvm::formatv(
                  "warps={0},tile_m={1},tile_n={2},stages={3},"
                  "query_in_registers={4},min_blocks={5}",
                  warps, warps * rows, tileN, stages, inRegisters, blocks));
          }
  return shapes;
}

std::optional<ScheduleFields>
MmaSyncPlanner::decide(const ScheduleProblem &problem,
                       std::optional<plan::RecurrenceKind>) const {
  int64_t headDim = std::max(problem.headDim, problem.valueHeadDim);
  ScheduleFields fields =
      llvm::find_if(kMmaSyncTable, [&](const MmaSyncEntry &candidate) {
        return headDim <= candidate.headDim;
      })->get();
  fitToBlocks(problem.queryBlock, problem.keyBlock, unit, fields);
  // Few rows: no more than one warp's instruction needs for each warp.
  if (problem.rows != 0)
    fields.tileM = std::min(fields.tileM, unit.getGroupRows() * fields.warps);
  return fields;
}

LogicalResult
MmaSyncPlanner::fit(const ScheduleProblem &problem,
                    const llvm::StringSet<> &asked, ScheduleFields &fields,
                    function_ref<InFlightDiagnostic()> emitError) const {
  auto emitRoles = [&] { return noteRoles(emitError(), *problem.target); };
  if (failed(fields.dropRoleFields(asked, emitRoles)))
    return failure();
  if (asked.contains("work") && fields.work != plan::WorkSchedule::Single)
    return emitRoles() << "schedule's 'work' must be single without roles "
                          "('producer_registers'), found "
                       << plan::stringifyWorkSchedule(fields.work);
  fields.work = plan::WorkSchedule::Single;
  // There are no such sums: not those chosen with roles in mind.
  if (!asked.contains("sum_by_dot"))
    fields.sumByDot = 0;
  return success();
}

int64_t MmaSyncPlanner::getSharedMemory(const ScheduleProblem &problem,
                                        const ScheduleFields &fields) const {
  int64_t loops = getScoreLoops(fields.recurrence);
  int64_t elements = fields.tileM * problem.headDim +
                     fields.stages * fields.tileN *
                         (loops * problem.headDim + problem.valueHeadDim);
  return elements * problem.elementBits / 8;
}

LogicalResult
MmaSyncPlanner::check(const ScheduleProblem &problem,
                      const ScheduleFields &fields,
                      function_ref<InFlightDiagnostic()> emitError) const {
  auto emitRoles = [&] { return noteRoles(emitError(), *problem.target); };
  if (fields.output != plan::OutputPath::Direct)
    return emitRoles() << "schedule's 'output' tma needs roles "
                          "('producer_registers')";
  if (fields.cluster != 1)
    return emitRoles() << "schedule's 'cluster' must be 1 without roles "
                          "('producer_registers'), found "
                       << fields.cluster;
  int64_t rows = unit.getGroupRows() * fields.warps;
  if (fields.warps > 16)
    return emitError() << "schedule's 'warps' must be at most 16, found "
                       << fields.warps;
  if (fields.tileM % rows != 0)
    return emitError() << "schedule's 'tile_m' must be a multiple of "
                       << unit.getGroupRows() << " rows for each of "
                       << fields.warps << " warps, found " << fields.tileM;
  if (fields.tileN % unit.getColumnStep() != 0)
    return emitError() << "schedule's 'tile_n' must be a multiple of "
                       << unit.getColumnStep() << ", found " << fields.tileN;
  if (fields.stages > 8)
    return emitError() << "schedule's 'stages' must be at most 8, found "
                       << fields.stages;
  if (failed(checkSharedMemory(problem, fields,
                               "'tile_m', 'tile_n' or 'stages'", emitError)))
    return failure();
  // The output accumulator, the scores and the probabilities must fit a
  // thread's 255 registers with room for addresses and operands.
  int64_t threadRows = fields.tileM / (8 * fields.warps);
  int64_t registers =
      threadRows * (problem.valueHeadDim / 4 + fields.tileN / 4);
  if (fields.queryInRegisters)
    registers += threadRows * problem.headDim / 8;
  if (registers > 224)
    return emitError() << "schedule needs " << registers
                       << " registers a thread for its tiles, at most 224 fit: "
                          "reduce 'tile_m' or 'tile_n', or use more 'warps'";
  return success();
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

// Keys of a tile that warps share by columns.
static constexpr int64_t kSummingRows = 64;

/// Whether dQ may be summed in memory. Those sums have no order, and sums over
/// pairs are found with dQ's tiles.
static bool maySumQueries(const BackwardProblem &problem) {
  return problem.query && problem.key && problem.value &&
         !problem.isDeterministic && !problem.sums;
}

/// Shared memory of a tile and the blocks that it meets: K and V of one, Q and
/// dO of the other.
static int64_t getTileBytes(const BackwardProblem &problem,
                            const ScheduleFields &fields) {
  return problem.getColumns() * (fields.tileM + fields.stages * fields.tileN) *
         problem.getElementBytes();
}

/// That of tiles of keys that find dQ's share, too: derivatives by scores come
/// on top, and weights where warps share columns.
static int64_t getSummingBytes(const BackwardProblem &problem,
                               const ScheduleFields &fields) {
  int64_t streamed = fields.columnWarps == 1 ? 1 : 2;
  return getTileBytes(problem, fields) + streamed * fields.stages *
                                             fields.tileM * fields.tileN *
                                             problem.getElementBytes();
}

/// The most stages, up to `most`, beside which two CTAs fit an SM: four warps
/// alone would wait for each other's products. Else those of one.
static int64_t getSummingStages(const BackwardProblem &problem,
                                ScheduleFields fields, int64_t most) {
  // What the driver takes of each CTA's.
  constexpr int64_t kReserved = 1024;
  for (int64_t ctas : {2, 1})
    for (fields.stages = most; fields.stages > 0; --fields.stages)
      if (ctas * (getSummingBytes(problem, fields) + kReserved) <=
          problem.target->sharedMemory + kReserved)
        return fields.stages;
  return 1;
}

/// For wide heads, where the sums of four warps, of 16 keys each, would fill
/// their registers: eight share the columns of all products, four each part of
/// the rows where that divides the columns. Then the other operand is read half
/// as often as by two. Nobody has a whole row then, whose diagonals score_mods
/// may ask for.
static void shareColumns(const BackwardProblem &problem, int64_t columnStep,
                         ScheduleFields &fields) {
  constexpr int64_t kSharingWarps = 8;
  if (problem.diagonals > 0 || fields.tileM != kSummingRows)
    return;
  int64_t columns = std::gcd(problem.headDim, problem.valueHeadDim);
  for (int64_t columnWarps : {4, 2})
    if (columns % (columnStep * columnWarps) == 0) {
      fields.warps = kSharingWarps;
      fields.columnWarps = columnWarps;
      return;
    }
}

/// Lets tiles of keys add to dQ's sums in memory, if they can: five products
/// for seven, or for eight. The warps share a block's queries then.
void MmaSyncPlanner::sumQueries(const BackwardProblem &problem,
                                const BackwardFields &asked,
                                ScheduleFields fields,
                                BackwardPlans &plans) const {
  // A product's columns whose accumulators fit beside dK's and dV's, and
  // columns of those beside which weights do in f32.
  constexpr int64_t kMostPartColumns = 128, kMostColumnsBesideWeights = 128;
  // Who sets sums to zero and rounds them has the same blocks of queries.
  ScheduleFields ofQueries = fields;
  if (!plans.sharesKeyTiles)
    shareColumns(problem, unit.getColumnStep(), fields);
  int64_t rows = unit.getGroupRows() * ofQueries.warps;
  fields.tileN = asked.tileN.value_or(
      largestDividing(rows, unit.getColumnStep(), problem.queryBlock));
  fields.stages =
      asked.stages.value_or(getSummingStages(problem, fields, fields.stages));
  if (!maySumQueries(problem) || fields.tileN != rows ||
      problem.queryBlock % fields.tileN != 0 ||
      getSummingBytes(problem, fields) > problem.target->sharedMemory)
    return;
  plans.keys = makePlan(fields);
  ofQueries.stages = fields.stages;
  ofQueries.tileN = fields.tileM;
  ofQueries.tileM = fields.tileN;
  plans.queries = makePlan(ofQueries);
  bool haveRows = plans.keys.warpsHaveRows();
  plans.sharesKeyTiles |= !haveRows;
  plans.sumsQueries = true;
  plans.keepsGradients = haveRows;
  plans.sumsByRegister = !problem.target->addsVectors;
  plans.valuesLate = plans.sharesKeyTiles && haveRows &&
                     problem.getColumns() > kMostColumnsBesideWeights;
  plans.partRows = fields.tileN;
  plans.partColumns = std::min(problem.headDim, kMostPartColumns);
}

/// With one buffer for the blocks that a tile meets where two do not fit: the
/// least that any of these chips has holds one.
static ScheduleFields fitToMemory(const BackwardProblem &problem,
                                  ScheduleFields fields) {
  if (getTileBytes(problem, fields) > problem.target->sharedMemory)
    fields.stages = 1;
  return fields;
}

/// Tiles whose sums and scores fit the registers of four warps, a block ahead
/// on its way.
FailureOr<BackwardPlans> MmaSyncPlanner::planBackward(
    const BackwardProblem &problem, const BackwardFields &asked,
    function_ref<InFlightDiagnostic()> emitError) const {
  auto emitRoles = [&] { return noteRoles(emitError(), *problem.target); };
  if (asked.keyStages)
    return emitRoles() << "schedule's 'key_stages' needs roles "
                          "('producer_registers')";
  if (asked.output && *asked.output != plan::OutputPath::Direct)
    return emitRoles() << "schedule's 'output' tma needs roles "
                          "('producer_registers')";
  if (asked.work && *asked.work != plan::WorkSchedule::Single)
    return emitRoles() << "schedule's 'work' must be single without roles "
                          "('producer_registers'), found "
                       << plan::stringifyWorkSchedule(*asked.work);
  // Both sums of a tile of keys stay in registers up to so many columns.
  constexpr int64_t kMostSharedColumns = 256,
                    kMostColumnsBesideWideBlocks = 128;
  ScheduleFields fields;
  fields.tileM = 64;
  fields.tileN = problem.getColumns() <= kMostColumnsBesideWideBlocks ? 64 : 32;
  fields.warps = 4;
  fields.stages = 2;
  fields.minBlocks = 1;
  BackwardPlans plans;
  ScheduleFields ofKeys = fields;
  fitToBlocks(problem.queryBlock, problem.keyBlock, unit, fields);
  fitToBlocks(problem.keyBlock, problem.queryBlock, unit, ofKeys);
  plans.queries = makePlan(fitToMemory(problem, fields));
  plans.keys = makePlan(fitToMemory(problem, ofKeys));
  plans.sharesKeyTiles = problem.getColumns() <= kMostSharedColumns;
  sumQueries(problem, asked, ofKeys, plans);
  return plans;
}

std::unique_ptr<Planner> fovea::makeMmaSyncPlanner(MLIRContext *context) {
  return std::make_unique<MmaSyncPlanner>(warp::MmaSyncUnitAttr::get(context));
}
