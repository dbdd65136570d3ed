//===- Schedule.cpp - Chooses tile sizes, stages, warps ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMemorySchedule.h"
#include "WarpGroupSchedule.h"

#include "fovea/Target/ScheduleTable.h"

#include "mlir/IR/Remarks.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fovea;
using tile::OutputPath;
using tile::RecurrenceKind;
using tile::ScheduleAttr;
using tile::WorkSchedule;

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

namespace {
struct NumericField {
  StringRef name;
  int64_t ScheduleFields::*member;
};
} // namespace

static constexpr NumericField kNumericFields[] = {
    {"tile_m", &ScheduleFields::tileM},
    {"tile_n", &ScheduleFields::tileN},
    {"warps", &ScheduleFields::warps},
    {"stages", &ScheduleFields::stages},
    {"query_in_registers", &ScheduleFields::queryInRegisters},
    {"min_blocks", &ScheduleFields::minBlocks},
    {"key_stages", &ScheduleFields::keyStages},
    {"query_stages", &ScheduleFields::queryStages},
    {"producer_registers", &ScheduleFields::producerRegisters},
    {"consumer_registers", &ScheduleFields::consumerRegisters},
    {"overlap", &ScheduleFields::overlap},
    {"chain", &ScheduleFields::chain},
    {"ping_pong", &ScheduleFields::pingPong},
    {"softmax_part", &ScheduleFields::softmaxPart},
    {"tau", &ScheduleFields::tau},
    {"sum_by_dot", &ScheduleFields::sumByDot},
    {"cluster", &ScheduleFields::cluster},
    {"score_stages", &ScheduleFields::scoreStages},
    {"classify", &ScheduleFields::classify},
    {"exp2_by_fma", &ScheduleFields::exp2ByFma},
    {"add_by_dot", &ScheduleFields::addByDot},
    {"output_stages", &ScheduleFields::outputStages},
    {"longest_first", &ScheduleFields::longestFirst},
    {"row_tiles", &ScheduleFields::rowTiles},
};

/// Sets `field` to the case that `text` names.
template <typename Enum>
static LogicalResult setEnum(Enum &field, StringRef name, StringRef text,
                             std::optional<Enum> (*symbolize)(StringRef),
                             StringRef expected,
                             function_ref<InFlightDiagnostic()> emitError) {
  std::optional<Enum> value = symbolize(text);
  if (!value)
    return emitError() << "schedule's '" << name << "' must be " << expected
                       << ", found '" << text << "'";
  field = *value;
  return success();
}

LogicalResult
ScheduleFields::set(StringRef name, StringRef text,
                    function_ref<InFlightDiagnostic()> emitError) {
  if (name == "work")
    return setEnum<WorkSchedule>(work, name, text, tile::symbolizeWorkSchedule,
                                 "single, static or dynamic", emitError);
  if (name == "recurrence")
    return setEnum<RecurrenceKind>(
        recurrence, name, text, tile::symbolizeRecurrenceKind,
        "three_pass, normalized, deferred, conditional or lazy", emitError);
  if (name == "output")
    return setEnum<OutputPath>(output, name, text, tile::symbolizeOutputPath,
                               "direct or tma", emitError);
  for (const NumericField &field : kNumericFields) {
    if (field.name != name)
      continue;
    if (text.getAsInteger(10, this->*field.member))
      return emitError() << "schedule's '" << name
                         << "' must be an integer, found '" << text << "'";
    // What is computed of several fields, before they are known to make sense,
    // does not overflow.
    constexpr int64_t kMost = 1 << 15;
    int64_t value = this->*field.member;
    if (value > kMost || value < -kMost)
      return emitError() << "schedule's '" << name << "' must be within "
                         << kMost << " of 0, found " << text;
    return success();
  }
  InFlightDiagnostic diag = emitError();
  diag << "unknown schedule field '" << name << "', expected ";
  for (const NumericField &field : kNumericFields)
    diag << field.name << ", ";
  return diag << "output, work or recurrence";
}

ScheduleFields ScheduleFields::from(ScheduleAttr schedule) {
  ScheduleFields fields;
  fields.tileM = schedule.getTileM();
  fields.tileN = schedule.getTileN();
  fields.warps = schedule.getWarps();
  fields.stages = schedule.getStages();
  fields.queryInRegisters = schedule.getQueryInRegisters();
  fields.minBlocks = schedule.getMinBlocks();
  fields.keyStages = schedule.getKeyStages();
  fields.queryStages = schedule.getQueryStages();
  fields.producerRegisters = schedule.getProducerRegisters();
  fields.consumerRegisters = schedule.getConsumerRegisters();
  fields.overlap = schedule.getOverlap();
  fields.chain = schedule.getChain();
  fields.pingPong = schedule.getPingPong();
  fields.softmaxPart = schedule.getSoftmaxPart();
  fields.work = schedule.getWork();
  fields.recurrence = schedule.getRecurrence();
  fields.tau = schedule.getTau();
  fields.sumByDot = schedule.getSumByDot();
  fields.cluster = schedule.getCluster();
  fields.scoreStages = schedule.getScoreStages();
  fields.classify = schedule.getClassify();
  fields.exp2ByFma = schedule.getExp2ByFma();
  fields.addByDot = schedule.getAddByDot();
  fields.output = schedule.getOutput();
  fields.outputStages = schedule.getOutputStages();
  fields.longestFirst = schedule.getLongestFirst();
  fields.inFlight = schedule.getInFlight();
  fields.rowTiles = schedule.getRowTiles();
  return fields;
}

ScheduleAttr
ScheduleFields::get(MLIRContext *context,
                    function_ref<InFlightDiagnostic()> emitError) const {
  return ScheduleAttr::getChecked(
      emitError, context, tileM, tileN, warps, stages, queryInRegisters,
      minBlocks, keyStages, queryStages, producerRegisters, consumerRegisters,
      overlap, chain, pingPong, softmaxPart, work, recurrence, tau, sumByDot,
      cluster, scoreStages, classify, exp2ByFma, addByDot, output, outputStages,
      longestFirst, inFlight, rowTiles);
}

namespace {
/// A field that only kernels with roles have a use for, and its value in
/// others.
struct RoleField {
  StringRef name;
  int64_t ScheduleFields::*member;
  int64_t without;
};
} // namespace

static constexpr RoleField kRoleFields[] = {
    {"key_stages", &ScheduleFields::keyStages, 0},
    {"query_stages", &ScheduleFields::queryStages, 1},
    {"overlap", &ScheduleFields::overlap, 0},
    {"chain", &ScheduleFields::chain, 0},
    {"ping_pong", &ScheduleFields::pingPong, 0},
    {"softmax_part", &ScheduleFields::softmaxPart, 100},
    {"score_stages", &ScheduleFields::scoreStages, 0},
    {"classify", &ScheduleFields::classify, 0},
};

/// Of a schedule without roles: those of `asked` that need them are an error,
/// others may have been chosen with roles in mind.
static LogicalResult
dropRoleFields(const llvm::StringSet<> &asked, ScheduleFields &fields,
               function_ref<InFlightDiagnostic()> emitError) {
  for (const RoleField &field : kRoleFields) {
    int64_t &value = fields.*field.member;
    if (asked.contains(field.name) && value != field.without)
      return emitError() << "schedule's '" << field.name
                         << "' needs roles ('producer_registers')";
    value = field.without;
  }
  if (asked.contains("work") && fields.work != WorkSchedule::Single)
    return emitError() << "schedule's 'work' must be single without roles "
                          "('producer_registers'), found "
                       << tile::stringifyWorkSchedule(fields.work);
  fields.work = WorkSchedule::Single;
  return success();
}

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

/// The largest multiple of 16 up to `most` that divides `block`; `most` if
/// there is none.
static int64_t largestDividing(int64_t most, int64_t block) {
  for (int64_t size = most; size >= 16; size -= 16)
    if (block % size == 0)
      return size;
  return most;
}

/// Lets tiles divide the blocks that are visited, a warp taking no more rows
/// than before.
static void fitToBlocks(const ScheduleProblem &problem,
                        ScheduleFields &fields) {
  fields.tileN = largestDividing(fields.tileN, problem.keyBlock);
  int64_t warpRows = fields.tileM / fields.warps;
  for (int64_t rows = fields.tileM; rows >= 16; rows -= 16) {
    if (problem.queryBlock % rows != 0)
      continue;
    for (int64_t warps = fields.warps; warps * warpRows >= rows; --warps)
      if (rows % (16 * warps) == 0) {
        fields.tileM = rows;
        fields.warps = warps;
        return;
      }
  }
}

static LogicalResult checkBlocks(const ScheduleProblem &problem,
                                 ScheduleAttr schedule,
                                 function_ref<InFlightDiagnostic()> emitError) {
  std::tuple<StringRef, int64_t, int64_t> sizes[] = {
      {"tile_m", schedule.getClusterRows(), problem.queryBlock},
      {"tile_n", schedule.getTileN(), problem.keyBlock}};
  for (auto [name, tile, block] : sizes) {
    if (block % 16 != 0)
      return emitError() << "blocks of queries and keys must be multiples of "
                            "16, found size = ["
                         << problem.queryBlock << ", " << problem.keyBlock
                         << ']';
    if (block % tile != 0)
      return emitError() << "schedule's '" << name
                         << "' must divide the blocks of " << block
                         << ", found " << tile;
  }
  return success();
}

int64_t fovea::getScoreLoops(RecurrenceKind recurrence) {
  return recurrence == RecurrenceKind::ThreePass ? 3 : 1;
}

int64_t fovea::getSharedMemory(const ScheduleProblem &problem,
                               ScheduleAttr schedule) {
  if (schedule.getMatrixUnit() == tile::MatrixUnit::TensorMemory)
    return getTensorMemoryShared(problem, schedule);
  if (schedule.hasRoles())
    return getWarpGroupSharedMemory(problem, schedule);
  int64_t loops = getScoreLoops(schedule.getRecurrence());
  int64_t elements = schedule.getTileM() * problem.headDim +
                     schedule.getStages() * schedule.getTileN() *
                         (loops * problem.headDim + problem.valueHeadDim);
  return elements * problem.elementBits / 8;
}

/// What the instructions and the layout need of a schedule.
static LogicalResult
checkSchedule(const ScheduleProblem &problem, ScheduleAttr schedule,
              function_ref<InFlightDiagnostic()> emitError) {
  if (schedule.getLongestFirst() && !problem.packed)
    return emitError()
           << "schedule's 'longest_first' needs packed sequences ('packed')";
  if (schedule.getMatrixUnit() == tile::MatrixUnit::TensorMemory)
    return checkTensorMemorySchedule(problem, schedule, emitError);
  if (schedule.hasRoles())
    return checkWarpGroupSchedule(problem, schedule, emitError);
  if (schedule.getOutput() != OutputPath::Direct)
    return emitError() << "schedule's 'output' tma needs roles "
                          "('producer_registers')";
  if (schedule.getCluster() != 1)
    return emitError() << "schedule's 'cluster' must be 1 without roles "
                          "('producer_registers'), found "
                       << schedule.getCluster();
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

/// "auto", or names and values of fields.
static SmallVector<std::pair<StringRef, StringRef>>
parseOverrides(StringRef overrides) {
  SmallVector<StringRef> parts;
  if (overrides != "auto")
    overrides.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return llvm::map_to_vector(parts, [](StringRef part) {
    auto [name, text] = part.split('=');
    return std::pair(name.trim(), text.trim());
  });
}

SmallVector<StringRef> fovea::getFieldNames(StringRef list) {
  return llvm::map_to_vector(parseOverrides(list),
                             [](auto field) { return field.first; });
}

LogicalResult fovea::reportMissed(Operation *where, tile::AbiOp abi,
                                  StringRef field, const Twine &reason) {
  return reportMissed(where, abi.getKernel(), abi.isAsked(field), field,
                      reason);
}

LogicalResult fovea::reportMissed(Operation *where, StringRef kernel,
                                  bool isAsked, StringRef field,
                                  const Twine &reason) {
  if (isAsked)
    return where->emitError("schedule's '")
           << field << "' was asked for and can't be done: " << reason;
  remark::missed(
      where->getLoc(),
      remark::RemarkOpts::name(field).category("schedule").function(kernel))
      << remark::reason("{0}", reason.str());
  return success();
}

void fovea::updateSchedule(tile::AbiOp abi, StringRef list) {
  ScheduleFields fields = ScheduleFields::from(abi.getSchedule());
  auto emitError = [&] { return abi.emitError(); };
  if (succeeded(fields.set(list, emitError)))
    if (ScheduleAttr schedule = fields.get(abi.getContext(), emitError))
      abi.setScheduleAttr(schedule);
}

LogicalResult
ScheduleFields::set(StringRef list,
                    function_ref<InFlightDiagnostic()> emitError) {
  for (auto [name, text] : parseOverrides(list))
    if (failed(set(name, text, emitError)))
      return failure();
  return success();
}

FailureOr<ScheduleAttr>
fovea::chooseSchedule(MLIRContext *context, const ScheduleProblem &problem,
                      StringRef overrides, const ScheduleTable *table,
                      function_ref<InFlightDiagnostic()> emitProblem) {
  const ScheduleTable::Entry *entry = table ? table->lookup(problem) : nullptr;
  auto emitError = [&] {
    InFlightDiagnostic diag = emitProblem();
    if (entry)
      diag.attachNote() << "with " << table->describe(*entry);
    return diag;
  };
  int64_t headDim = std::max(problem.headDim, problem.valueHeadDim);
  if (headDim > 256) {
    emitError() << "head dims up to 256 are supported, found " << headDim;
    return failure();
  }
  SmallVector<std::pair<StringRef, StringRef>> wanted =
      parseOverrides(entry ? StringRef(entry->schedule) : "auto");
  llvm::append_range(wanted, parseOverrides(overrides));
  // How many buffers fit depends on it.
  std::optional<RecurrenceKind> recurrence;
  for (auto [name, text] : wanted)
    if (name == "recurrence")
      recurrence = tile::symbolizeRecurrenceKind(text);
  ScheduleFields fields;
  if (std::optional<ScheduleFields> chosen = chooseTensorMemoryFields(problem))
    fields = *chosen;
  else if (std::optional<ScheduleFields> chosen =
               chooseWarpGroupFields(problem, recurrence))
    fields = *chosen;
  else
    fields = llvm::find_if(kMmaSyncTable, [&](const MmaSyncEntry &candidate) {
               return headDim <= candidate.headDim;
             })->get();
  if (fields.producerRegisters == 0)
    fitToBlocks(problem, fields);
  fields.longestFirst = problem.packed;

  // Few rows: no more than one warp's instruction needs for each warp.
  if (problem.rows != 0 && fields.producerRegisters == 0)
    fields.tileM = std::min(fields.tileM, 16 * fields.warps);

  llvm::StringSet<> asked;
  for (auto [name, text] : wanted) {
    asked.insert(name);
    if (failed(fields.set(name, text, emitError)))
      return failure();
  }
  auto asksFor = [&](StringRef name) { return asked.contains(name); };
  bool asksForKeys = asksFor("key_stages") || asksFor("stages");
  bool asksForBudget =
      asksFor("producer_registers") || asksFor("consumer_registers");
  bool asksForBuffer = asksFor("output_stages");
  // Rows and registers go by the number of warp groups.
  bool inRegisters = fields.rowTiles == 0;
  if (asksFor("warps") && fields.producerRegisters != 0 && inRegisters)
    fitToGroups(problem, !asksFor("tile_m"), !asksForBudget, fields);
  if (fields.producerRegisters == 0 &&
      failed(dropRoleFields(asked, fields, emitError)))
    return failure();
  // Without roles there are no such sums: not those chosen with roles in mind.
  if (fields.producerRegisters == 0 && !asksFor("sum_by_dot"))
    fields.sumByDot = 0;
  // Sums of rounded weights are too rough for a log-sum-exp, and not those of
  // the weights that were dropped.
  if (fields.sumByDot && (problem.lse || problem.dropout)) {
    if (llvm::is_contained(getFieldNames(overrides), "sum_by_dot"))
      return emitError()
             << "schedule's 'sum_by_dot' was asked for and can't be done: "
             << (problem.dropout ? "dropout leaves weights out of the product "
                                   "that the sum has"
                                 : "sums of rounded weights are too rough for "
                                   "a log-sum-exp");
    fields.sumByDot = 0;
  }
  if (!inRegisters)
    fitToRowTiles(asksFor("tile_m"), asksFor("warps"), asksForBuffer, fields);
  else if (!asksFor("output") && !asksForBuffer)
    chooseOutput(problem, !asksForKeys, fields);
  else if (fields.output == OutputPath::Tma && !asksForBuffer)
    chooseOutputStages(problem, !asksForKeys, fields);
  ScheduleAttr schedule = fields.get(context, emitError);
  if (!schedule || failed(checkBlocks(problem, schedule, emitError)) ||
      failed(checkSchedule(problem, schedule, emitError)))
    return failure();
  return schedule;
}
