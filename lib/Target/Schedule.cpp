//===- Schedule.cpp - Chooses tile sizes, stages, warps ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Target/Schedule.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace fovea;
using tile::ScheduleAttr;

namespace {
/// The fields of a schedule, mutable.
struct Fields {
  int64_t tileM, tileN, warps, stages, queryInRegisters, minBlocks;

  int64_t *lookup(StringRef name) {
    return llvm::StringSwitch<int64_t *>(name)
        .Case("tile_m", &tileM)
        .Case("tile_n", &tileN)
        .Case("warps", &warps)
        .Case("stages", &stages)
        .Case("query_in_registers", &queryInRegisters)
        .Case("min_blocks", &minBlocks)
        .Default(nullptr);
  }
  ScheduleAttr get(MLIRContext *context,
                   function_ref<InFlightDiagnostic()> emitError) const {
    return ScheduleAttr::getChecked(emitError, context, tileM, tileN, warps,
                                    stages, queryInRegisters, minBlocks);
  }
};

/// Schedules for mma.sync targets by the larger head dim. All fit 99 KiB, the
/// least that any of these chips has.
struct TableEntry {
  int64_t headDim;
  Fields fields;
};
} // namespace

static constexpr TableEntry kMmaSyncTable[] = {
    {32, {128, 64, 4, 2, 1, 2}}, {64, {128, 64, 4, 2, 0, 2}},
    {96, {128, 32, 4, 2, 0, 2}}, {128, {64, 64, 4, 2, 0, 2}},
    {192, {64, 48, 4, 2, 0, 1}}, {256, {64, 32, 4, 2, 0, 1}},
};

int64_t fovea::getSharedMemory(const ScheduleProblem &problem,
                               ScheduleAttr schedule) {
  int64_t elements = schedule.getTileM() * problem.headDim +
                     schedule.getStages() * schedule.getTileN() *
                         (problem.headDim + problem.valueHeadDim);
  return elements * problem.elementBits / 8;
}

/// What the instructions and the layout need of a schedule.
static LogicalResult
checkSchedule(const ScheduleProblem &problem, ScheduleAttr schedule,
              function_ref<InFlightDiagnostic()> emitError) {
  int64_t rows = 16 * schedule.getWarps();
  if (schedule.getWarps() > 16)
    return emitError() << "schedule's 'warps' must be at most 16, found "
                       << schedule.getWarps();
  if (schedule.getTileM() % rows != 0)
    return emitError() << "schedule's 'tile_m' must be a multiple of 16 rows "
                          "for each of "
                       << schedule.getWarps() << " warps, found "
                       << schedule.getTileM();
  if (schedule.getTileN() % 16 != 0)
    return emitError() << "schedule's 'tile_n' must be a multiple of 16, found "
                       << schedule.getTileN();
  if (schedule.getStages() > 8)
    return emitError() << "schedule's 'stages' must be at most 8, found "
                       << schedule.getStages();
  int64_t bytes = getSharedMemory(problem, schedule);
  if (bytes > problem.target->sharedMemory)
    return emitError() << "schedule needs " << bytes
                       << " bytes of shared memory, '" << problem.target->name
                       << "' has " << problem.target->sharedMemory
                       << ": reduce 'tile_m', 'tile_n' or 'stages'";
  // The output accumulator, the scores and the probabilities must fit a
  // thread's 255 registers with room for addresses and operands.
  int64_t threadRows = schedule.getTileM() / (8 * schedule.getWarps());
  int64_t registers =
      threadRows * (problem.valueHeadDim / 4 + schedule.getTileN() / 4);
  if (schedule.getQueryInRegisters())
    registers += threadRows * problem.headDim / 8;
  if (registers > 224)
    return emitError() << "schedule needs " << registers
                       << " registers a thread for its tiles, at most 224 fit: "
                          "reduce 'tile_m' or 'tile_n', or use more 'warps'";
  return success();
}

FailureOr<ScheduleAttr>
fovea::chooseSchedule(MLIRContext *context, const ScheduleProblem &problem,
                      StringRef overrides,
                      function_ref<InFlightDiagnostic()> emitError) {
  int64_t headDim = std::max(problem.headDim, problem.valueHeadDim);
  const TableEntry *entry =
      llvm::find_if(kMmaSyncTable, [&](const TableEntry &candidate) {
        return headDim <= candidate.headDim;
      });
  if (entry == std::end(kMmaSyncTable)) {
    emitError() << "head dims up to 256 are supported, found " << headDim;
    return failure();
  }
  Fields fields = entry->fields;

  if (overrides != "auto") {
    SmallVector<StringRef> parts;
    overrides.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    for (StringRef part : parts) {
      auto [name, text] = part.split('=');
      int64_t *field = fields.lookup(name.trim());
      if (!field) {
        emitError() << "unknown schedule field '" << name.trim()
                    << "', expected tile_m, tile_n, warps, stages, "
                       "query_in_registers or min_blocks";
        return failure();
      }
      if (text.trim().getAsInteger(10, *field)) {
        emitError() << "schedule's '" << name.trim()
                    << "' must be an integer, found '" << text.trim() << "'";
        return failure();
      }
    }
  }
  ScheduleAttr schedule = fields.get(context, emitError);
  if (!schedule || failed(checkSchedule(problem, schedule, emitError)))
    return failure();
  return schedule;
}
