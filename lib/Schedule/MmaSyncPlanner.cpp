//===- MmaSyncPlanner.cpp - Schedules for mma.sync --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels without roles: all warps run one program, and each warp owns some
// rows. Registers limit the tile size and the number of CTAs per SM.
//
//===----------------------------------------------------------------------===//

#include "Planner.h"

#include "StepList.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "llvm/Support/FormatVariadic.h"

#include <numeric>

using namespace mlir;
using namespace fovea;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {
/// Schedules by the larger head dim, the first that fits shared memory. The
/// last of each head dim fits 99 KiB, the smallest of these targets.
struct MmaSyncEntry {
  int64_t headDim, tileM, tileN, queryInRegisters, minBlocks, warps = 4,
                                                              stages = 2;

  ScheduleFields get() const {
    ScheduleFields fields;
    fields.tileM = tileM;
    fields.tileN = tileN;
    fields.queryInRegisters = queryInRegisters;
    fields.minBlocks = minBlocks;
    fields.warps = warps;
    fields.stages = stages;
    return fields;
  }
};
} // namespace

static constexpr MmaSyncEntry kMmaSyncTable[] = {
    {32, 128, 64, 1, 2}, {64, 128, 64, 0, 2}, {96, 128, 32, 0, 2},
    {128, 64, 64, 0, 2}, {192, 64, 48, 0, 1}, {256, 64, 32, 0, 1},
};

/// For matrices of f32.
static constexpr MmaSyncEntry kWordTable[] = {
    {32, 128, 64, 0, 2},    {64, 64, 64, 0, 2},
    {96, 64, 32, 0, 2},     {128, 128, 32, 0, 1, 8},
    {128, 64, 32, 0, 2},    {192, 128, 16, 0, 1, 8},
    {192, 64, 16, 0, 1},    {256, 128, 16, 0, 1, 8, 1},
    {256, 32, 16, 0, 1, 2},
};

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Returns the largest multiple of `step` up to `most` that divides `block`, or
/// `most`.
static int64_t largestDividing(int64_t most, int64_t step, int64_t block) {
  for (int64_t size = most; size >= step; size -= step)
    if (block % size == 0)
      return size;
  return most;
}

/// Adjusts tile sizes so that they divide the blocks of a block-sparse mask and
/// fit pages, without more rows per warp.
static void fitToBlocks(int64_t rowBlock,
                        function_ref<bool(int64_t)> fitsColumns,
                        plan::MatrixUnitAttrInterface unit,
                        ScheduleFields &fields) {
  int64_t least = unit.getGroupRows(), step = unit.getColumnStep();
  int64_t tileN = fields.tileN;
  while (tileN > step && !fitsColumns(tileN))
    tileN -= step;
  if (fitsColumns(tileN))
    fields.tileN = tileN;
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
    return {"recurrence=lazy", "work=single", "work=shares"};
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
  BackwardForm getBackwardForm() const override {
    return BackwardForm::OneProgram;
  }
  FailureOr<BackwardPlans>
  planBackward(const BackwardProblem &problem, const BackwardFields &asked,
               function_ref<InFlightDiagnostic()> emitError) const override;

private:
  void accumulateDq(const BackwardProblem &problem, const BackwardFields &asked,
                    ScheduleFields fields, bool sharesKeyTiles,
                    BackwardPlans &plans) const;
};
} // namespace

std::vector<std::vector<std::string>> MmaSyncPlanner::listShapes() const {
  std::vector<std::vector<std::string>> shapes;
  // Each warp owns the rows of one or two MMA instructions.
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
  if (findUnsupportedBits(unit, problem.bits))
    return std::nullopt;
  int64_t headDim = std::max(problem.headDim, problem.valueHeadDim);
  ArrayRef<MmaSyncEntry> table =
      problem.bits.query == 32 ? ArrayRef(kWordTable) : ArrayRef(kMmaSyncTable);
  ScheduleFields fields =
      llvm::find_if(table, [&](const MmaSyncEntry &entry) {
        bool isLast = &entry == &table.back() ||
                      std::next(&entry)->headDim != entry.headDim;
        return headDim <= entry.headDim &&
               (isLast || getSharedMemory(problem, entry.get()) <=
                              problem.target->sharedMemory);
      })->get();
  fitToBlocks(
      problem.queryBlock,
      [&](int64_t tileN) { return problem.fitsKeys(tileN); }, unit, fields);
  // With few rows, each warp needs only the rows of one MMA instruction.
  if (problem.rows != 0)
    fields.tileM = std::min(fields.tileM, unit.getGroupRows() * fields.warps);
  if (problem.mayHaveFewTiles(fields.tileM)) {
    fields.work = plan::WorkSchedule::Shares;
    fields.split = problem.getSplit();
  }
  return fields;
}

LogicalResult
MmaSyncPlanner::fit(const ScheduleProblem &problem,
                    const llvm::StringSet<> &asked, ScheduleFields &fields,
                    function_ref<InFlightDiagnostic()> emitError) const {
  auto emitRoles = [&] { return noteRoles(emitError(), *problem.target); };
  if (failed(fields.dropRoleFields(asked, emitRoles)))
    return failure();
  bool isShared = fields.work == plan::WorkSchedule::Shares;
  if (asked.contains("work") && !isShared &&
      fields.work != plan::WorkSchedule::Single)
    return emitRoles() << "schedule's 'work' must be single or shares without "
                          "roles ('producer_registers'), found "
                       << plan::stringifyWorkSchedule(fields.work);
  if (!isShared)
    fields.work = plan::WorkSchedule::Single;
  if (!asked.contains("split"))
    fields.split = isShared ? problem.getSplit() : 0;
  // This unit does not support it; the value may have been chosen for a kernel
  // with roles.
  if (!asked.contains("sum_by_dot"))
    fields.sumByDot = 0;
  return success();
}

LogicalResult
MmaSyncPlanner::check(const ScheduleProblem &problem,
                      const ScheduleFields &fields,
                      function_ref<InFlightDiagnostic()> emitError) const {
  auto emitRoles = [&] { return noteRoles(emitError(), *problem.target); };
  if (fields.output != plan::OutputPath::Direct)
    return emitRoles() << "schedule's 'output' tma needs roles: "
                          "set 'producer_registers'";
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
    registers += threadRows * problem.headDim * problem.bits.query / 128;
  if (registers > 224)
    return emitError()
           << "schedule needs " << registers
           << " registers per thread for its tiles, but at most 224 fit: "
              "reduce 'tile_m' or 'tile_n', or use more 'warps'";
  return success();
}

//===----------------------------------------------------------------------===//
// Backward pass
//===----------------------------------------------------------------------===//

// Keys of a tile whose columns the warps share.
static constexpr int64_t kAccumulatingRows = 64;
// dK and dV of a key tile both stay in registers up to this number of columns.
static constexpr int64_t kMostSharedColumns = 256;

/// Returns true if dQ can be accumulated in memory. The order of accumulation
/// is then not fixed, and sums over pairs are not supported, since they are
/// computed with the tiles of dQ.
static bool canAccumulateDq(const BackwardProblem &problem) {
  return problem.query && problem.key && problem.value &&
         !problem.isDeterministic && !problem.sums;
}

/// Shared memory of a tile and of the blocks of its loop: K and V of one, Q and
/// dO of the other.
static int64_t getTileBytes(const BackwardProblem &problem,
                            const ScheduleFields &fields) {
  return problem.getColumns() * (fields.tileM + fields.stages * fields.tileN) *
         problem.getElementBytes();
}

/// Shared memory of key tiles that also compute dQ: in addition dS, and P if
/// warps share columns.
static int64_t getAccumulatingBytes(const BackwardProblem &problem,
                                    const ScheduleFields &fields) {
  int64_t streamed = fields.columnWarps == 1 ? 1 : 2;
  return getTileBytes(problem, fields) + streamed * fields.stages *
                                             fields.tileM * fields.tileN *
                                             problem.getElementBytes();
}

/// Returns the largest number of stages, up to `most`, with which two CTAs fit
/// an SM, otherwise with which one fits. The four warps of a single CTA would
/// stall on each other's dots.
static int64_t getAccumulatingStages(const BackwardProblem &problem,
                                     ScheduleFields fields, int64_t most) {
  // Shared memory that the driver reserves per CTA.
  constexpr int64_t kReserved = 1024;
  for (int64_t ctas : {2, 1})
    for (fields.stages = most; fields.stages > 0; --fields.stages)
      if (ctas * (getAccumulatingBytes(problem, fields) + kReserved) <=
          problem.target->sharedMemory + kReserved)
        return fields.stages;
  return 1;
}

/// For wide heads, and for all heads of f32, the accumulators of warps with 16
/// keys each would fill their registers. Up to eight warps then share the
/// columns of all products, four per part of the rows if that divides the
/// columns: the other operand is read half as often as with two. No warp then
/// has complete rows, which values by relative position need.
static void shareColumns(const BackwardProblem &problem,
                         plan::MatrixUnitAttrInterface unit,
                         ScheduleFields &fields) {
  constexpr int64_t kSharingWarps = 8;
  bool isWide = problem.getColumns() > kMostSharedColumns;
  if (problem.diagonals > 0 || (problem.elementBits != 32 &&
                                (!isWide || fields.tileM != kAccumulatingRows)))
    return;
  int64_t columns =
      std::gcd(std::gcd(problem.headDim, problem.valueHeadDim), fields.tileN);
  for (int64_t columnWarps : {4, 2})
    if (columns % (unit.getColumnStep() * columnWarps) == 0) {
      fields.warps = columnWarps * std::min(kSharingWarps / columnWarps,
                                            fields.tileM / unit.getGroupRows());
      fields.columnWarps = columnWarps;
      return;
    }
}

/// Chooses the largest square tile of f32 with which a kernel can accumulate
/// dQ. If the warps do not share columns, wide heads need the smaller tile.
static void chooseWordTiles(const BackwardProblem &problem,
                            plan::MatrixUnitAttrInterface unit,
                            ScheduleFields &fields) {
  constexpr int64_t kMostColumnsOfWarp = 128;
  for (int64_t rows : {64, 32}) {
    fields.tileM = fields.tileN = rows;
    fields.warps = rows / unit.getGroupRows();
    ScheduleFields shared = fields;
    shareColumns(problem, unit, shared);
    shared.stages = 1;
    bool fitsRegisters =
        shared.columnWarps != 1 || problem.getColumns() <= kMostColumnsOfWarp;
    if (fitsRegisters &&
        getAccumulatingBytes(problem, shared) <= problem.target->sharedMemory)
      return;
  }
}

/// Lets key tiles accumulate dQ in memory if possible, with five products
/// instead of seven or eight. The warps then share a block's queries.
void MmaSyncPlanner::accumulateDq(const BackwardProblem &problem,
                                  const BackwardFields &asked,
                                  ScheduleFields fields, bool sharesKeyTiles,
                                  BackwardPlans &plans) const {
  // The most columns of a dQ product whose accumulators fit together with those
  // of dK and dV, and the most columns of dK and dV that leave registers for P
  // in f32.
  constexpr int64_t kMostPartColumns = 128, kMostColumnsBesideWeights = 128;
  // The preprocess and postprocess kernels use the same blocks of queries.
  ScheduleFields ofQueries = fields;
  int64_t rows = unit.getGroupRows() * ofQueries.warps;
  fields.tileN = asked.tileN.value_or(
      largestDividing(rows, unit.getColumnStep(), problem.queryBlock));
  shareColumns(problem, unit, fields);
  fields.stages = asked.stages.value_or(
      getAccumulatingStages(problem, fields, fields.stages));
  if (!canAccumulateDq(problem) || fields.tileN != rows ||
      problem.queryBlock % fields.tileN != 0 ||
      getAccumulatingBytes(problem, fields) > problem.target->sharedMemory)
    return;
  plans.keys = makePlan(fields);
  ofQueries.stages = fields.stages;
  ofQueries.tileN = fields.tileM;
  ofQueries.tileM = fields.tileN;
  plans.queries = makePlan(ofQueries);
  bool haveRows = plans.keys.warpsHaveRows();
  sharesKeyTiles |= !haveRows;
  plans.keys = plans.keys.changeStore("dq_sum", [&](plan::StorePlan &store) {
    store.accumulates = true;
    store.isByRegister = !problem.target->addsVectors;
  });
  if (problem.headDim > kMostPartColumns)
    plans.keys = plans.keys.changeDot(
        "dq", [&](plan::DotPlan &dot) { dot.chunkColumns = kMostPartColumns; });
  if (haveRows)
    plans.keys = plans.keys.changeDot(
        "dk", [](plan::DotPlan &dot) { dot.aInRegisters = true; });
  if (sharesKeyTiles && haveRows &&
      problem.getColumns() > kMostColumnsBesideWeights) {
    StepList order(plans.keys.getContext());
    order.add("ds");
    order.add("dv");
    plans.keys = plans.keys.withOrder(order.get());
  }
  plans.values = sharesKeyTiles ? plan::KernelAttr() : plans.keys;
}

/// Uses one buffer for the blocks of the loop if two do not fit. One fits the
/// smallest shared memory of these targets for 16-bit elements; others may need
/// smaller tiles.
static ScheduleFields fitToMemory(const BackwardProblem &problem,
                                  ScheduleFields fields, int64_t step) {
  auto fits = [&] {
    return getTileBytes(problem, fields) <= problem.target->sharedMemory;
  };
  if (!fits())
    fields.stages = 1;
  while (!fits() && fields.tileN > step)
    fields.tileN = llvm::alignDown(fields.tileN / 2, step);
  for (; !fits() && fields.warps > 1; fields.warps /= 2)
    fields.tileM /= 2;
  return fields;
}

/// Tiles whose accumulators and scores fit the registers of four warps, with
/// one block prefetched.
FailureOr<BackwardPlans> MmaSyncPlanner::planBackward(
    const BackwardProblem &problem, const BackwardFields &asked,
    function_ref<InFlightDiagnostic()> emitError) const {
  auto emitRoles = [&] { return noteRoles(emitError(), *problem.target); };
  if (asked.keyStages)
    return emitRoles() << "schedule's 'key_stages' needs roles: "
                          "set 'producer_registers'";
  if (asked.output && *asked.output != plan::OutputPath::Direct)
    return emitRoles() << "schedule's 'output' tma needs roles: "
                          "set 'producer_registers'";
  if (asked.work && *asked.work != plan::WorkSchedule::Single)
    return emitRoles() << "schedule's 'work' must be single without roles "
                          "('producer_registers'), found "
                       << plan::stringifyWorkSchedule(*asked.work);
  constexpr int64_t kMostColumnsBesideWideBlocks = 128;
  ScheduleFields fields;
  fields.tileM = 64;
  fields.tileN = problem.getColumns() <= kMostColumnsBesideWideBlocks ? 64 : 32;
  fields.warps = 4;
  fields.stages = 2;
  fields.minBlocks = 1;
  if (problem.elementBits == 32)
    chooseWordTiles(problem, unit, fields);
  BackwardPlans plans;
  ScheduleFields ofKeys = fields;
  auto divides = [](int64_t block) {
    return [block](int64_t columns) { return block % columns == 0; };
  };
  fitToBlocks(problem.queryBlock, divides(problem.keyBlock), unit, fields);
  fitToBlocks(problem.keyBlock, divides(problem.queryBlock), unit, ofKeys);
  int64_t step = unit.getColumnStep();
  plans.queries = makePlan(fitToMemory(problem, fields, step));
  plans.keys = makePlan(fitToMemory(problem, ofKeys, step));
  bool sharesKeyTiles = problem.getColumns() <= kMostSharedColumns;
  plans.values = sharesKeyTiles ? plan::KernelAttr() : plans.keys;
  accumulateDq(problem, asked, ofKeys, sharesKeyTiles, plans);
  return plans;
}

std::unique_ptr<Planner> fovea::makeMmaSyncPlanner(MLIRContext *context) {
  return std::make_unique<MmaSyncPlanner>(warp::MmaSyncUnitAttr::get(context));
}
