//===- TensorMemoryPlanner.cpp - Schedules for tcgen05 ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread issues Blackwell's MMAs, which accumulate in tensor memory, so the
// roles that compute between two dots do not hold accumulators in registers.
// The roles are those of FlashAttention-4 (Zadouri et al.): one softmax role
// per query tile, one that corrects outputs, one that issues dots, one that
// loads and one that stores.
//
//===----------------------------------------------------------------------===//

#include "Planner.h"

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Support/Warps.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fovea;

static constexpr int64_t kMostRowTiles = 2;
// Registers per thread of the softmax roles, which hold a row of scores, and of
// the roles that only issue asynchronous operations, which hold the descriptors
// of all steps of a dot: more for wide heads. The correction role, which holds
// a part of an output row, has what remains of a launch, up to a limit.
static constexpr int64_t kSoftmaxRegisters = 192, kServiceRegisters = 56,
                         kWideSoftmaxRegisters = 184,
                         kWideServiceRegisters = 64,
                         kMostCorrectionRegisters = 96;
// Registers of an SM, which all targets with tensor memory have.
static constexpr int64_t kLaunchRegisters = 65536;
// Head dims above this are wide.
static constexpr int64_t kWideHead = 128;

// Percent of the exponentials by polynomial: 16 of 128 columns.
static constexpr int64_t kPolynomialShare = 13;

/// Columns of tensor memory: scores of a block and an output per query tile.
static int64_t getColumns(const ScheduleProblem &problem, int64_t rowTiles,
                          int64_t tileN) {
  return rowTiles * (tileN + problem.valueHeadDim);
}

namespace {
class TensorMemoryPlanner : public Planner {
public:
  using Planner::Planner;
  bool isOn(const TargetInfo &target) const override {
    return target.tensorMemoryDots;
  }
  std::vector<std::vector<std::string>> listShapes() const override;
  std::vector<std::string> listVariations() const override {
    return {"work=single", "work=static", "work=dynamic", "exp2_by_fma=25",
            "output=direct"};
  }
  std::optional<ScheduleFields>
  decide(const ScheduleProblem &problem,
         std::optional<plan::RecurrenceKind> recurrence) const override;
  bool isFor(const ScheduleFields &fields) const override {
    return fields.rowTiles != 0;
  }
  LogicalResult
  fit(const ScheduleProblem &problem, const llvm::StringSet<> &asked,
      ScheduleFields &fields,
      function_ref<InFlightDiagnostic()> emitError) const override;
  LogicalResult
  check(const ScheduleProblem &problem, const ScheduleFields &fields,
        function_ref<InFlightDiagnostic()> emitError) const override;

protected:
  void addStreams(const ScheduleFields &fields,
                  Entries &entries) const override;
  void addRoles(const ScheduleFields &fields, Entries &entries) const override;
  SmallVector<SharedTile>
  getSharedTiles(const ScheduleProblem &problem,
                 const ScheduleFields &fields) const override;

private:
  bool fillTile(const ScheduleProblem &problem, int64_t rowTiles, int64_t tileN,
                bool copiesOut, ScheduleFields &fields) const;
};
} // namespace

SmallVector<SharedTile>
TensorMemoryPlanner::getSharedTiles(const ScheduleProblem &problem,
                                    const ScheduleFields &fields) const {
  // One value per row: the factor of a block and the final output scale.
  constexpr int64_t kValueBytes = 4;
  return {{"factor", fields.tileM * kValueBytes},
          {"scale", fields.tileM * kValueBytes}};
}

std::vector<std::vector<std::string>> TensorMemoryPlanner::listShapes() const {
  std::vector<std::vector<std::string>> shapes;
  for (int64_t rowTiles = 1; rowTiles <= kMostRowTiles; ++rowTiles)
    for (int64_t tileN : {32, 64, 128}) {
      auto &list = shapes.emplace_back();
      for (auto [keyStages, stages] : {std::pair(3, 3), {3, 2}, {2, 2}, {2, 1}})
        list.push_back(
            llvm::formatv("row_tiles={0},tile_n={1},key_stages={2},stages={3}",
                          rowTiles, tileN, keyStages, stages));
    }
  return shapes;
}

/// Sets tiles of these sizes and as many stages as fit, at least two of K.
/// Returns false if they do not fit.
bool TensorMemoryPlanner::fillTile(const ScheduleProblem &problem,
                                   int64_t rowTiles, int64_t tileN,
                                   bool copiesOut,
                                   ScheduleFields &fields) const {
  int64_t rows = rowTiles * unit.getGroupRows();
  fields.rowTiles = rowTiles;
  fields.tileM = rows;
  fields.tileN = tileN;
  fields.warps = unit.getGroupWarps() * rowTiles;
  fields.output = copiesOut ? plan::OutputPath::Tma : plan::OutputPath::Direct;
  fields.outputStages = copiesOut;
  auto fits = [&](int64_t keyStages, int64_t valueStages) {
    ScheduleFields tried = fields;
    tried.keyStages = keyStages;
    tried.stages = valueStages;
    return fitsSharedMemory(problem, tried);
  };
  if (getColumns(problem, rowTiles, tileN) > warp::kTmemColumns ||
      problem.queryBlock % rows != 0 || !problem.fitsKeys(tileN) ||
      tileN % problem.keyChunk != 0 || !fits(2, 1))
    return false;
  fields.keyStages = 2;
  fields.stages = 1;
  while (fields.stages < 3 && fits(fields.keyStages, fields.stages + 1)) {
    ++fields.stages;
    if (fits(fields.keyStages + 1, fields.stages) && fields.keyStages < 3)
      ++fields.keyStages;
  }
  return true;
}

std::optional<ScheduleFields>
TensorMemoryPlanner::decide(const ScheduleProblem &problem,
                            std::optional<plan::RecurrenceKind>) const {
  if (!isOn(*problem.target) || findUnsupportedBits(unit, problem.bits) ||
      problem.copiesRows())
    return std::nullopt;
  ScheduleFields fields;
  fields.recurrence = plan::RecurrenceKind::Conditional;
  fields.overlap = 1;
  bool isWide = std::max(problem.headDim, problem.valueHeadDim) > kWideHead;
  fields.producerRegisters = isWide ? kWideServiceRegisters : kServiceRegisters;
  fields.consumerRegisters = isWide ? kWideSoftmaxRegisters : kSoftmaxRegisters;
  // Exponentials bound the softmax roles. The share is FlashAttention-4's: more
  // instructions would take longer than the exponentials that they replace. A
  // unit of twice the rate is no bound.
  fields.exp2ByFma = problem.target->specialRate <= 16 ? kPolynomialShare : 0;
  fields.work =
      problem.uneven ? plan::WorkSchedule::Dynamic : plan::WorkSchedule::Static;
  // TMA stores whole tiles: rows after the end of a sequence belong to another
  // one.
  bool mayCopyOut = problem.rows == 0 && !problem.endsEarly;
  int64_t most = problem.rows == 0 ? kMostRowTiles : 1;
  // Shared memory bounds dots of narrow blocks: 6 KB in 32 cycles for 64 keys.
  // Wide blocks matter more than a second row tile, and that more than output
  // by TMA, which takes shared memory.
  // A thread holds its row of scores, beside which other values of each score
  // find no registers.
  int64_t widest = problem.dropout || problem.loadsPerScore ? 64 : 128;
  for (auto [rowTiles, tileN] :
       {std::pair(2, 128), {2, 64}, {1, 128}, {1, 64}, {2, 32}, {1, 32}})
    for (bool copiesOut : {mayCopyOut, false})
      if (rowTiles <= most && tileN <= widest &&
          fillTile(problem, rowTiles, tileN, copiesOut, fields))
        return fields;
  return std::nullopt;
}

LogicalResult
TensorMemoryPlanner::fit(const ScheduleProblem &problem,
                         const llvm::StringSet<> &asked, ScheduleFields &fields,
                         function_ref<InFlightDiagnostic()>) const {
  if (!asked.contains("tile_m"))
    fields.tileM = fields.rowTiles * unit.getGroupRows();
  if (!asked.contains("warps"))
    fields.warps = fields.rowTiles * unit.getGroupWarps();
  if (!asked.contains("output_stages"))
    fields.outputStages = fields.output == plan::OutputPath::Tma;
  return success();
}

LogicalResult
TensorMemoryPlanner::check(const ScheduleProblem &problem,
                           const ScheduleFields &fields,
                           function_ref<InFlightDiagnostic()> emitError) const {
  int64_t rowTiles = fields.rowTiles;
  if (!isOn(*problem.target))
    return emitError() << "schedule accumulates in tensor memory "
                          "('row_tiles'), which '"
                       << problem.target->name << "' does not have";
  if (rowTiles < 1 || rowTiles > kMostRowTiles)
    return emitError() << "schedule's 'row_tiles' must be 1 or "
                       << kMostRowTiles << ", found " << rowTiles;
  if (problem.endsEarly && fields.output == plan::OutputPath::Tma)
    return emitError() << "schedule's 'output' must be direct where sequences "
                          "may end before the tensors do and dots accumulate "
                          "in tensor memory, found tma";
  if (fields.tileM != rowTiles * unit.getGroupRows())
    return emitError() << "schedule's 'tile_m' must be " << unit.getGroupRows()
                       << " for each of " << rowTiles << " 'row_tiles', found "
                       << fields.tileM;
  if (fields.warps != rowTiles * unit.getGroupWarps())
    return emitError() << "schedule's 'warps' must be " << unit.getGroupWarps()
                       << " for each of " << rowTiles << " 'row_tiles', found "
                       << fields.warps;
  if (fields.tileN % unit.getColumnStep() != 0 ||
      fields.tileN > unit.getMostColumns())
    return emitError() << "schedule's 'tile_n' must be a multiple of "
                       << unit.getColumnStep() << " up to "
                       << unit.getMostColumns()
                       << " where dots accumulate in tensor memory, found "
                       << fields.tileN;
  if (failed(checkBudgetSteps(fields, emitError)))
    return failure();
  // An update of an accumulator in place must be the only use of it.
  if (fields.recurrence != plan::RecurrenceKind::Conditional &&
      fields.recurrence != plan::RecurrenceKind::Deferred)
    return emitError() << "schedule's 'recurrence' must be conditional or "
                          "deferred where dots accumulate in tensor memory, "
                          "found "
                       << plan::stringifyRecurrenceKind(fields.recurrence);
  std::tuple<StringRef, int64_t, int64_t> without[] = {
      {"cluster", fields.cluster, 1},
      {"chain", fields.chain, 0},
      {"ping_pong", fields.pingPong, 0},
      {"softmax_part", fields.softmaxPart, 100},
      {"sum_by_dot", fields.sumByDot, 0},
      {"add_by_dot", fields.addByDot, 0},
      {"score_stages", fields.scoreStages, 0},
      {"query_stages", fields.queryStages, 1},
      {"query_in_registers", fields.queryInRegisters, 0}};
  for (auto [name, value, expected] : without)
    if (value != expected)
      return emitError() << "schedule's '" << name << "' must be " << expected
                         << " where dots accumulate in tensor memory, found "
                         << value;
  int64_t columns = getColumns(problem, rowTiles, fields.tileN);
  if (columns > warp::kTmemColumns)
    return emitError() << "schedule needs " << columns
                       << " columns of tensor memory, but a CTA has "
                       << warp::kTmemColumns
                       << ": reduce 'tile_n' or 'row_tiles'";
  return checkSharedMemory(problem, fields, "'tile_n' or the stages",
                           emitError);
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Returns the name of an entry of query tile `index`.
static std::string nameOf(const ScheduleFields &fields, StringRef name,
                          int64_t index) {
  return fields.rowTiles == 1 ? name.str() : (name + "." + Twine(index)).str();
}
/// Returns the names of entries of all query tiles.
static std::vector<std::string> nameAll(const ScheduleFields &fields,
                                        ArrayRef<StringRef> names) {
  std::vector<std::string> all;
  for (StringRef name : names)
    for (int64_t index = 0; index < fields.rowTiles; ++index)
      all.push_back(nameOf(fields, name, index));
  return all;
}

/// The registers that the other roles leave to a thread of the correction role.
/// All three kinds of roles have whole warp groups.
static int64_t getCorrectionRegisters(const ScheduleFields &fields) {
  // Softmax roles, correction, and one group of all roles that issue
  // operations.
  int64_t groups = fields.rowTiles + 2;
  int64_t launched =
      kLaunchRegisters / (kGroupThreads * groups) / kBudgetStep * kBudgetStep;
  int64_t rest = launched * groups -
                 fields.rowTiles * fields.consumerRegisters -
                 fields.producerRegisters;
  return std::clamp(rest / kBudgetStep * kBudgetStep, kLeastBudget,
                    kMostCorrectionRegisters);
}

void TensorMemoryPlanner::addStreams(const ScheduleFields &fields,
                                     Entries &entries) const {
  // Streams between roles: P, the factors that rescale outputs, and output
  // tiles.
  entries.addStream("p", 1, /*isStaged=*/true, /*over=*/"s");
  entries.addStream("factor", 1, /*isStaged=*/true);
  entries.addStream("scale", 1, /*isStaged=*/true);
  entries.addStream("y", 1,
                    /*isStaged=*/fields.output == plan::OutputPath::Tma);
}

void TensorMemoryPlanner::addRoles(const ScheduleFields &fields,
                                   Entries &entries) const {
  bool copiesOut = fields.output == plan::OutputPath::Tma;
  auto addRole = [&](const Twine &name, int64_t warps, int64_t registers,
                     const std::vector<std::string> &owns) {
    entries.addRole(name, warps, registers,
                    SmallVector<StringRef>(owns.begin(), owns.end()));
  };
  for (int64_t index = 0; index < fields.rowTiles; ++index) {
    std::vector<std::string> owns;
    for (StringRef name : {"p", "factor", "scale", "lse"})
      owns.push_back(nameOf(fields, name, index));
    addRole("softmax" + (fields.rowTiles == 1 ? Twine() : Twine(index)),
            unit.getGroupWarps(), fields.consumerRegisters, owns);
  }
  // The update of the accumulator of dots "o" has the name of the dot with a
  // suffix.
  std::vector<std::string> corrected = nameAll(fields, {"o"});
  for (std::string &name : corrected)
    name += tile::kUpdateSuffix;
  llvm::append_range(corrected, nameAll(fields, {"y"}));
  if (!copiesOut)
    llvm::append_range(corrected, nameAll(fields, {"out"}));
  addRole("correction", unit.getGroupWarps(), getCorrectionRegisters(fields),
          corrected);
  int64_t service = fields.producerRegisters;
  addRole("mma", 1, service, nameAll(fields, {"s", "o"}));
  std::vector<std::string> loaded = nameAll(fields, {"q"});
  loaded.insert(loaded.end(), {"k", "v"});
  // Register budgets apply to four warps at a time, which these roles share.
  addRole("load", copiesOut ? 1 : 3, service, loaded);
  if (copiesOut)
    addRole("epilogue", 2, service, nameAll(fields, {"out"}));
}

std::unique_ptr<Planner> fovea::makeTensorMemoryPlanner(MLIRContext *context) {
  return std::make_unique<TensorMemoryPlanner>(
      warp::Tcgen05UnitAttr::get(context));
}
