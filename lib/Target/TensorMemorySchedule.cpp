//===- TensorMemorySchedule.cpp - Schedules of many roles -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blackwell's matrix unit takes its orders from one thread and accumulates in
// tensor memory, so who computes between two products need not hold the sums.
// The roles are FlashAttention 4's (Zadouri et al.): softmax for each tile of
// rows, one that corrects outputs, one that issues dots, one that copies in,
// one that copies out.
//
//===----------------------------------------------------------------------===//

#include "TensorMemorySchedule.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

using namespace mlir;
using namespace fovea;
using tile::ScheduleAttr;

// A role that computes has a warp group: threads read their warp's quarter of
// tensor memory's rows.
static constexpr int64_t kGroupWarps = 4, kMostRowTiles = 2;
static constexpr int64_t kBudgetStep = 8, kLeastBudget = 24;
// Registers of a thread that has a row of scores, of one that has a part of a
// row of the output, and of one that only says what others do.
static constexpr int64_t kSoftmaxRegisters = 192, kCorrectionRegisters = 80,
                         kServiceRegisters = 48;
// Barriers, and what aligns the first buffer.
static constexpr int64_t kSharedExtra = 1024;

/// Columns of tensor memory: scores of a block, and an output, a tile of rows.
static int64_t getColumns(const ScheduleProblem &problem, int64_t rowTiles,
                          int64_t tileN) {
  return rowTiles * (tileN + problem.valueHeadDim);
}

static int64_t getSharedBytes(const ScheduleProblem &problem, int64_t rowTiles,
                              int64_t tileN, int64_t keyStages,
                              int64_t valueStages, bool copiesOut) {
  auto pad = [](int64_t columns) {
    return llvm::alignTo(columns, warp::getBoxPanelColumns(columns));
  };
  int64_t d = pad(problem.headDim), dv = pad(problem.valueHeadDim);
  int64_t rows = rowTiles * warp::kTmemRows;
  int64_t elements = rows * (d + (copiesOut ? dv : 0)) +
                     tileN * (keyStages * d + valueStages * dv);
  // A number a row twice: what the last sum and what the output is scaled by.
  constexpr int64_t kRowBytes = 2 * 4;
  return elements * problem.elementBits / 8 + rows * kRowBytes + kSharedExtra;
}

int64_t fovea::getTensorMemoryShared(const ScheduleProblem &problem,
                                     ScheduleAttr schedule) {
  auto getStages = [&](StringRef name) {
    return schedule.getStream(StringAttr::get(schedule.getContext(), name))
        .stages;
  };
  return getSharedBytes(problem, schedule.getRowTiles(), schedule.getTileN(),
                        getStages("k"), getStages("v"),
                        schedule.getOutput() == tile::OutputPath::Tma);
}

std::optional<ScheduleFields>
fovea::chooseTensorMemoryFields(const ScheduleProblem &problem) {
  // Stages with rows to be made zero, and rows that end within the tensor, take
  // threads that store; no role here has any to spare for that.
  if (!problem.target->tensorMemoryDots || problem.elementBits != 16 ||
      problem.endsEarly)
    return std::nullopt;
  ScheduleFields fields;
  fields.overlap = 1;
  fields.producerRegisters = kServiceRegisters;
  fields.consumerRegisters = kSoftmaxRegisters;
  fields.work = tile::WorkSchedule::Static;
  // Boxes of heads that are rows end within the tensor, too.
  fields.output =
      problem.rows == 0 ? tile::OutputPath::Tma : tile::OutputPath::Direct;
  fields.outputStages = problem.rows == 0;
  int64_t most = problem.rows == 0 ? kMostRowTiles : 1;
  for (int64_t rowTiles = most; rowTiles >= 1; --rowTiles)
    for (int64_t tileN : {128, 64, 32}) {
      int64_t rows = rowTiles * warp::kTmemRows;
      auto fits = [&](int64_t keyStages, int64_t valueStages) {
        return getSharedBytes(problem, rowTiles, tileN, keyStages, valueStages,
                              fields.outputStages != 0) <=
               problem.target->sharedMemory;
      };
      if (getColumns(problem, rowTiles, tileN) > warp::kTmemColumns ||
          problem.queryBlock % rows != 0 || problem.keyBlock % tileN != 0 ||
          tileN % problem.keyChunk != 0 || !fits(2, 1))
        continue;
      fields.rowTiles = rowTiles;
      fields.tileM = rows;
      fields.tileN = tileN;
      fields.warps = kGroupWarps * rowTiles;
      fields.keyStages = 2;
      fields.stages = 1;
      while (fields.stages < 3 && fits(fields.keyStages, fields.stages + 1)) {
        ++fields.stages;
        if (fits(fields.keyStages + 1, fields.stages) && fields.keyStages < 3)
          ++fields.keyStages;
      }
      return fields;
    }
  return std::nullopt;
}

void fovea::fitToRowTiles(bool asksForRows, bool asksForWarps,
                          bool asksForBuffer, ScheduleFields &fields) {
  if (!asksForRows)
    fields.tileM = fields.rowTiles * warp::kTmemRows;
  if (!asksForWarps)
    fields.warps = fields.rowTiles * kGroupWarps;
  if (!asksForBuffer)
    fields.outputStages = fields.output == tile::OutputPath::Tma;
}

LogicalResult
fovea::checkTensorMemorySchedule(const ScheduleProblem &problem,
                                 ScheduleAttr schedule,
                                 function_ref<InFlightDiagnostic()> emitError) {
  int64_t rowTiles = schedule.getRowTiles();
  if (!problem.target->tensorMemoryDots)
    return emitError() << "schedule accumulates in tensor memory "
                          "('row_tiles'), which '"
                       << problem.target->name << "' does not have";
  if (rowTiles < 1 || rowTiles > kMostRowTiles)
    return emitError() << "schedule's 'row_tiles' must be 1 or "
                       << kMostRowTiles << ", found " << rowTiles;
  if (problem.endsEarly)
    return emitError() << "schedule's 'row_tiles' needs sequences that end "
                          "where the tensors do";
  if (schedule.getTileM() != rowTiles * warp::kTmemRows)
    return emitError() << "schedule's 'tile_m' must be " << warp::kTmemRows
                       << " for each of " << rowTiles << " 'row_tiles', found "
                       << schedule.getTileM();
  if (schedule.getWarps() != rowTiles * kGroupWarps)
    return emitError() << "schedule's 'warps' must be " << kGroupWarps
                       << " for each of " << rowTiles << " 'row_tiles', found "
                       << schedule.getWarps();
  if (schedule.getTileN() % 32 != 0 || schedule.getTileN() > 256)
    return emitError() << "schedule's 'tile_n' must be a multiple of 32 up to "
                          "256 where dots accumulate in tensor memory, found "
                       << schedule.getTileN();
  for (auto [name, registers] :
       {std::pair("producer_registers", schedule.getProducerRegisters()),
        std::pair("consumer_registers", schedule.getConsumerRegisters())})
    if (registers < kLeastBudget || registers % kBudgetStep != 0)
      return emitError() << "schedule's '" << name << "' must be a multiple of "
                         << kBudgetStep << " from " << kLeastBudget
                         << " on, found " << registers;
  // What changes an accumulator in place must be all that is done with it.
  if (schedule.getRecurrence() != tile::RecurrenceKind::Deferred)
    return emitError() << "schedule's 'recurrence' must be deferred where dots "
                          "accumulate in tensor memory, found "
                       << tile::stringifyRecurrenceKind(
                              schedule.getRecurrence());
  std::tuple<StringRef, int64_t, int64_t> without[] = {
      {"cluster", schedule.getCluster(), 1},
      {"chain", schedule.getChain(), 0},
      {"ping_pong", schedule.getPingPong(), 0},
      {"softmax_part", schedule.getSoftmaxPart(), 100},
      {"sum_by_dot", schedule.getSumByDot(), 0},
      {"add_by_dot", schedule.getAddByDot(), 0},
      {"score_stages", schedule.getScoreStages(), 0},
      {"query_stages", schedule.getQueryStages(), 1},
      {"query_in_registers", schedule.getQueryInRegisters(), 0}};
  for (auto [name, value, expected] : without)
    if (value != expected)
      return emitError() << "schedule's '" << name << "' must be " << expected
                         << " where dots accumulate in tensor memory, found "
                         << value;
  if (schedule.getWork() == tile::WorkSchedule::Dynamic)
    return emitError() << "schedule's 'work' must be single or static where "
                          "dots accumulate in tensor memory, found dynamic";
  int64_t columns = getColumns(problem, rowTiles, schedule.getTileN());
  if (columns > warp::kTmemColumns)
    return emitError() << "schedule needs " << columns
                       << " columns of tensor memory, a CTA has "
                       << warp::kTmemColumns
                       << ": reduce 'tile_n' or 'row_tiles'";
  int64_t bytes = getTensorMemoryShared(problem, schedule);
  if (bytes > problem.target->sharedMemory)
    return emitError() << "schedule needs " << bytes
                       << " bytes of shared memory, '" << problem.target->name
                       << "' has " << problem.target->sharedMemory
                       << ": reduce 'tile_n' or the stages";
  return success();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

namespace {
/// Lists the roles of a schedule.
class RoleList {
public:
  RoleList(MLIRContext *context, int64_t tiles) : b(context), tiles(tiles) {}

  void add(const Twine &name, int64_t warps, int64_t registers,
           ArrayRef<std::string> owns) {
    SmallVector<StringRef> names(owns.begin(), owns.end());
    roles.push_back(tile::RoleAttr::get(b.getContext(), name.str(), warps,
                                        registers, b.getStrArrayAttr(names)));
  }
  /// The name of something that tile `index` of the rows has for itself.
  std::string of(StringRef name, int64_t index) const {
    return tiles == 1 ? name.str() : (name + "." + Twine(index)).str();
  }
  /// All tiles' names.
  std::vector<std::string> ofAll(ArrayRef<StringRef> names) const {
    std::vector<std::string> all;
    for (StringRef name : names)
      for (int64_t index = 0; index < tiles; ++index)
        all.push_back(of(name, index));
    return all;
  }
  ArrayAttr get() { return b.getArrayAttr(roles); }

private:
  Builder b;
  int64_t tiles;
  SmallVector<Attribute> roles;
};
} // namespace

ArrayAttr fovea::getRoles(ScheduleAttr schedule) {
  if (schedule.getMatrixUnit() != tile::MatrixUnit::TensorMemory)
    return {};
  int64_t tiles = schedule.getRowTiles();
  RoleList roles(schedule.getContext(), tiles);
  for (int64_t index = 0; index < tiles; ++index)
    roles.add("softmax" + (tiles == 1 ? Twine() : Twine(index)), kGroupWarps,
              schedule.getConsumerRegisters(),
              {roles.of("p", index), roles.of("factor", index),
               roles.of("scale", index), roles.of("lse", index)});
  bool copiesOut = schedule.getOutput() == tile::OutputPath::Tma;
  // What the dots "o" find changed is that dot's "update".
  std::vector<std::string> corrected = roles.ofAll({"o", "y"});
  for (std::string &name : corrected)
    if (name.front() == 'o')
      name += ".update";
  if (!copiesOut)
    llvm::append_range(corrected, roles.ofAll({"out"}));
  roles.add("correction", kGroupWarps, kCorrectionRegisters, corrected);
  int64_t service = schedule.getProducerRegisters();
  roles.add("mma", 1, service, roles.ofAll({"s", "o"}));
  std::vector<std::string> loaded = roles.ofAll({"q"});
  loaded.insert(loaded.end(), {"k", "v"});
  // Registers are given to four warps at a time: these share them.
  roles.add("load", copiesOut ? 1 : 3, service, loaded);
  if (copiesOut)
    roles.add("epilogue", 2, service, roles.ofAll({"out"}));
  return roles.get();
}
