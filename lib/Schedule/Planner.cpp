//===- Planner.cpp - Plans from schedule fields -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes a plan from schedule fields, and the checks that planners share.
//
//===----------------------------------------------------------------------===//

#include "Planner.h"

#include "StepList.h"

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Support/Warps.h"

using namespace mlir;
using namespace fovea;

//===----------------------------------------------------------------------===//
// Planners
//===----------------------------------------------------------------------===//

SmallVector<std::unique_ptr<Planner>>
fovea::makePlanners(MLIRContext *context) {
  SmallVector<std::unique_ptr<Planner>> planners;
  planners.push_back(makeTensorMemoryPlanner(context));
  planners.push_back(makeWarpGroupPlanner(context));
  planners.push_back(makeMmaSyncPlanner(context));
  return planners;
}

std::unique_ptr<Planner> fovea::makePlanner(MLIRContext *context,
                                            const ScheduleFields &fields) {
  for (std::unique_ptr<Planner> &planner : makePlanners(context))
    if (planner->isFor(fields))
      return std::move(planner);
  llvm_unreachable("the last planner's unit has no roles");
}

std::optional<int64_t>
fovea::findUnsupportedBits(plan::MatrixUnitAttrInterface unit,
                           const StreamBits &bits) {
  for (int64_t width : {bits.query, bits.key, bits.value})
    if (!unit.multiplies(width))
      return width;
  return std::nullopt;
}

std::string Planner::explainRefusal(const ScheduleProblem &problem) const {
  if (std::optional<int64_t> bits = findUnsupportedBits(unit, problem.bits))
    return "it does not support elements of " + std::to_string(*bits) + " bits";
  if (problem.queryBlock % unit.getGroupRows() != 0)
    return "its tiles of " + std::to_string(unit.getGroupRows()) +
           " queries don't divide the block-sparse mask's blocks of " +
           std::to_string(problem.queryBlock);
  if (problem.keyBlock % 16 != 0)
    return "its tiles don't divide the block-sparse mask's blocks of " +
           std::to_string(problem.keyBlock) + " keys";
  if (problem.copiesRows())
    return "its tiles don't fit the pages of " + std::to_string(problem.page) +
           " rows";
  return "no tile fits its registers and shared memory";
}

/// Tiles of the streams and stores of all forward kernels. Each loop of the
/// recurrence has its own buffers of K and of staged captured tensors. TMA
/// copies complete panels.
static SmallVector<SharedTile> getForwardTiles(const ScheduleProblem &problem,
                                               const ScheduleFields &fields) {
  auto getBytes = [&](int64_t rows, int64_t columns, int64_t bits) {
    return rows * (fields.hasRoles() ? padColumns(columns, bits) : columns) *
           bits / 8;
  };
  const StreamBits &bits = problem.bits;
  int64_t loops = getScoreLoops(fields.recurrence);
  SmallVector<SharedTile> tiles = {
      {"q", getBytes(fields.tileM, problem.headDim, bits.query),
       /*isStore=*/false,
       /*isOfItem=*/true},
      {"k", loops * getBytes(fields.tileN, problem.headDim, bits.key)},
      {"v", getBytes(fields.tileN, problem.valueHeadDim, bits.value)},
      {"out", getBytes(fields.tileM, problem.valueHeadDim, bits.output),
       /*isStore=*/true}};
  if (fields.scoreStages != 0)
    tiles.push_back(
        {"score", loops * fields.tileM * padColumns(fields.tileN, bits.query) *
                      problem.scoreBits / 8});
  return tiles;
}

int64_t Planner::getSharedMemory(const ScheduleProblem &problem,
                                 const ScheduleFields &fields) const {
  Entries entries = makeStreams(fields);
  SmallVector<SharedTile> tiles = getForwardTiles(problem, fields);
  llvm::append_range(tiles, getSharedTiles(problem, fields));
  return countSharedBytes(tiles, entries.streams, entries.stores, fields.stages,
                          fields.hasRoles());
}

LogicalResult
Planner::checkSharedMemory(const ScheduleProblem &problem,
                           const ScheduleFields &fields, StringRef remedy,
                           function_ref<InFlightDiagnostic()> emitError) const {
  if (fitsSharedMemory(problem, fields))
    return success();
  return emitError() << "schedule needs " << getSharedMemory(problem, fields)
                     << " bytes of shared memory, but '" << problem.target->name
                     << "' has " << problem.target->sharedMemory << ": reduce "
                     << remedy;
}

LogicalResult fovea::checkBlocks(int64_t queryBlock, int64_t keyBlock,
                                 TileSize queries, TileSize keys,
                                 function_ref<InFlightDiagnostic()> emitError) {
  for (auto [tile, block] :
       {std::pair(queries, queryBlock), {keys, keyBlock}}) {
    if (block % 16 != 0)
      return emitError() << "blocks of queries and keys must be multiples of "
                            "16, found size = ["
                         << queryBlock << ", " << keyBlock << ']';
    if (block % tile.size != 0)
      return emitError() << "schedule's '" << tile.field
                         << "' must divide the blocks of " << block
                         << ", found " << tile.size;
  }
  return success();
}

LogicalResult
fovea::checkBudgetSteps(const ScheduleFields &fields,
                        function_ref<InFlightDiagnostic()> emitError) {
  for (auto [name, registers] :
       {std::pair("producer_registers", fields.producerRegisters),
        std::pair("consumer_registers", fields.consumerRegisters)})
    if (registers < kLeastBudget || registers % kBudgetStep != 0)
      return emitError() << "schedule's '" << name << "' must be a multiple of "
                         << kBudgetStep << " from " << kLeastBudget
                         << " on, found " << registers;
  return success();
}

InFlightDiagnostic fovea::noteRoles(InFlightDiagnostic diag,
                                    const TargetInfo &target) {
  if (target.hasRoles())
    return diag;
  Diagnostic &note = diag.attachNote();
  note << "roles need wgmma or tcgen05, which '" << target.name
       << "' does not have; targets with one of them: ";
  llvm::interleaveComma(
      llvm::make_filter_range(
          getTargets(), [](const TargetInfo &one) { return one.hasRoles(); }),
      note, [&](const TargetInfo &one) { note << "'" << one.name << "'"; });
  return diag;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

void Planner::Entries::addStream(StringRef name, int64_t stages, bool isStaged,
                                 StringRef over) {
  plan::StreamPlan stream;
  stream.stages = stages;
  stream.isStaged = isStaged;
  if (!over.empty())
    stream.over = StringAttr::get(context, over);
  streams.push_back(
      plan::StreamAttr::get(context, StringAttr::get(context, name), stream));
}

void Planner::Entries::addRole(const Twine &name, int64_t warps,
                               int64_t registers, ArrayRef<StringRef> owns) {
  roles.push_back(plan::RoleAttr::get(context, name.str(), warps, registers,
                                      Builder(context).getStrArrayAttr(owns)));
}

static plan::KernelPlan makeKernelPlan(const ScheduleFields &fields) {
  plan::KernelPlan kernel;
  kernel.tileM = fields.tileM;
  kernel.tileN = fields.tileN;
  kernel.warps = fields.warps;
  kernel.columnWarps = fields.columnWarps;
  kernel.stages = fields.stages;
  kernel.minBlocks = fields.minBlocks;
  kernel.rowTiles = fields.rowTiles;
  kernel.cluster = fields.cluster;
  kernel.work = fields.work;
  kernel.split = fields.split;
  kernel.longestFirst = fields.longestFirst;
  kernel.chain = fields.chain;
  kernel.pingPong = fields.pingPong;
  kernel.classify = fields.classify;
  kernel.recurrence = fields.recurrence;
  kernel.tau = fields.tau;
  kernel.sumByDot = fields.sumByDot;
  return kernel;
}

/// FlashAttention-3's overlap within a warp group: the scores of the next block
/// are issued with the PV dot of this one, and softmax runs while that one is
/// outstanding.
static StepList makeOrder(plan::MatrixUnitAttrInterface unit) {
  StepList order(unit.getContext());
  order.add("s", 1);
  order.add("o");
  if (unit.accumulatesInMemory())
    return order;
  order.add("s.done", 1);
  order.add("*", 1);
  order.add("o.done");
  order.add("*");
  order.add("o.acc", 1);
  return order;
}

/// Adds the entries of the QK and PV dots.
static void addDots(const ScheduleFields &fields,
                    function_ref<void(StringRef, plan::DotPlan)> add) {
  plan::DotPlan scores, output;
  scores.aInRegisters = fields.queryInRegisters;
  scores.addsToSummand = fields.addByDot;
  output.operandBeforeWait = fields.softmaxPart;
  output.operandByFma = fields.exp2ByFma;
  add("s", scores);
  add("o", output);
}

Planner::Entries Planner::makeStreams(const ScheduleFields &fields) const {
  MLIRContext *context = unit.getContext();
  Entries entries{context};
  // Without roles, a tensor that is loaded once per tile always has one buffer.
  if (fields.hasRoles())
    entries.addStream("q", fields.queryStages);
  if (fields.keyStages != 0)
    entries.addStream("k", fields.keyStages);
  if (fields.scoreStages != 0)
    entries.addStream("score", fields.scoreStages, /*isStaged=*/true);
  if (fields.output == plan::OutputPath::Tma) {
    plan::StorePlan store;
    store.isCopied = true;
    if (fields.outputStages == 0)
      store.over = StringAttr::get(context, "q");
    entries.stores.push_back(
        plan::StoreAttr::get(context, StringAttr::get(context, "out"), store));
  }
  addStreams(fields, entries);
  return entries;
}

plan::KernelAttr Planner::makePlan(const ScheduleFields &fields) const {
  MLIRContext *context = unit.getContext();
  Entries entries = makeStreams(fields);
  addDots(fields, [&](StringRef name, plan::DotPlan dot) {
    if (!(dot == plan::DotPlan()))
      entries.dots.push_back(
          plan::DotAttr::get(context, StringAttr::get(context, name), dot));
  });
  addRoles(fields, entries);
  StepList order =
      fields.overlap ? makeOrder(unit) : StepList(unit.getContext());
  return plan::KernelAttr::get(
      context, unit, makeKernelPlan(fields), entries.streams, entries.dots,
      entries.stores, entries.roles, order.get(), /*userSpecified=*/{});
}
