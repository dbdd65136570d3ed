//===- PipelineUses.cpp - Order of the uses of a pipeline -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/PipelineUses.h"
#include "fovea/Dialect/Warp/IR/LaneOrder.h"
#include "fovea/Support/Warps.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// Agents
//===----------------------------------------------------------------------===//

static int64_t countGroups(Region &role) {
  WalkResult walk = role.walk([](Operation *nested) {
    return isa<CopyOp, SendOp, FetchWorkOp, FinishWorkOp, NextWorkOp, DotIntoOp,
               TmemStoreOp>(nested)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return 1;
  auto op = cast<SpecializeOp>(role.getParentOp());
  int64_t warps = op.getWarps()[role.getRegionNumber()];
  return std::max<int64_t>(warps / kGroupWarps, 1) * op.getCluster();
}

SmallVector<Party> warp::getParties(Region &role) {
  int64_t groups = countGroups(role);
  return llvm::map_to_vector(llvm::seq(groups), [&](int64_t group) {
    return Party{&role, group, groups};
  });
}

static std::string describeRole(Region *role) {
  if (!role)
    return "the kernel";
  auto op = cast<SpecializeOp>(role->getParentOp());
  auto name = cast<StringAttr>(op.getNames()[role->getRegionNumber()]);
  return ("role @" + name.getValue()).str();
}

std::string Party::describe() const {
  std::string text = describeRole(role);
  if (groups == 1)
    return text;
  return "warp group " + std::to_string(group) + " of " + text;
}

OwnedRows warp::getOwnedRows(const Party &party, RankedTensorType tile) {
  OwnedRows all = {0, tile.getDimSize(0)};
  auto layout = dyn_cast<ThreadLayoutAttrInterface>(tile.getEncoding());
  if (!layout || !party.role)
    return all;
  int64_t rows = layout.getGroupRows(tile.getShape());
  if (rows * party.groups != all.count)
    return all;
  return {party.group * rows, rows};
}

OwnedRows warp::getOwnedRows(const Party &party, MemRefType buffer) {
  int64_t rows = buffer.getDimSize(buffer.getRank() - 2);
  if (rows % party.groups != 0)
    return {0, rows};
  int64_t held = rows / party.groups;
  return {party.group * held, held};
}

bool warp::readsOwnRows(OpOperand &operand, const Party &party) {
  auto dot = dyn_cast<DotOp>(operand.getOwner());
  return dot && party.role &&
         (party.groups == 1 ||
          (!dot.getTransposeA() && operand == dot.getAMutable()));
}

ProducerState &StageState::getProducer(const Party &party) {
  for (auto &[other, state] : producers)
    if (other == party)
      return state;
  return producers.emplace_back(party, ProducerState()).second;
}

bool StageState::hasFilled(const Party &party, int64_t round) const {
  for (auto &[other, state] : producers)
    if (other == party)
      return state.acquired == round + 1 && state.issuedCommits == round + 1;
  return false;
}

bool StageUse::isFilledBy(const Party &party) const {
  return pipeline && pipeline->stages[stage].hasFilled(party, round);
}

ConsumerState &StageState::getConsumer(const Party &party) {
  for (auto &[other, state] : consumers)
    if (other == party)
      return state;
  return consumers.emplace_back(party, ConsumerState()).second;
}

//===----------------------------------------------------------------------===//
// Users
//===----------------------------------------------------------------------===//

/// Records how the kernel or a role uses a pipeline value.
Outcome PipelineUses::addUsers(Value value, Region *region) {
  Operation *acquire = nullptr;
  bool consumes = false;
  for (Operation *user : value.getUsers()) {
    auto sync = dyn_cast<PipelineOpInterface>(user);
    if (!sync)
      continue;
    consumes |= !sync.isProducerOp();
    ordersTensorMemory |= warp::ordersTensorMemory(sync);
    // Users are listed in reverse program order.
    if (sync.getOpKind() == PipelineOpKind::Acquire)
      acquire = user;
  }
  if (acquire && producer)
    return Outcome::wrong(describeRole(region) +
                          " acquires a stage of a pipeline whose producer is " +
                          describeRole(*producer))
        .at(acquire)
        .note(op, "the pipeline");
  if (acquire)
    producer = region;
  if (!acquire && !consumes)
    return {};
  for (const Party &party :
       region ? getParties(*region) : SmallVector<Party>(1))
    for (StageState &stage : stages) {
      if (acquire)
        stage.getProducer(party);
      if (consumes)
        stage.getConsumer(party);
    }
  return {};
}

Outcome PipelineUses::findUsers() {
  producer.reset();
  Value pipeline = op.getPipeline();
  Outcome outcome = addUsers(pipeline, nullptr);
  if (!outcome.isDone())
    return outcome;
  for (OpOperand &use : pipeline.getUses()) {
    Operation *user = use.getOwner();
    if (auto specialize = dyn_cast<SpecializeOp>(user)) {
      for (Region &role : specialize.getRoles()) {
        outcome = addUsers(role.getArgument(use.getOperandNumber()), &role);
        if (!outcome.isDone())
          return outcome;
      }
      continue;
    }
    if (!isa<PipelineOpInterface>(user))
      return Outcome::wrong(
                 formatv("a pipeline can only be captured by roles or used by "
                         "acquire, commit, wait and release ops, found '{0}'",
                         user->getName()))
          .at(user);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Pipeline ops
//===----------------------------------------------------------------------===//

/// A phase is the parity of the number of uses.
static Outcome checkPhase(int64_t stage, int64_t phase, int64_t round) {
  if (phase == (round & 1))
    return {};
  return Outcome::wrong(
      formatv("phase is {0}, expected {1} in use {2} of stage {3}", phase,
              round & 1, round, stage));
}

int64_t PipelineUses::countReleased(int64_t stage, int64_t limit) const {
  int64_t result = limit;
  for (auto &[party, state] : stages[stage].consumers)
    result = std::min(result, state.given);
  return result;
}

std::string PipelineUses::describeUnreleased(int64_t stage,
                                             int64_t round) const {
  std::string text;
  for (auto &[party, state] : stages[stage].consumers)
    if (state.given <= round)
      text += (text.empty() ? "" : ", ") + party.describe();
  return text;
}

Outcome PipelineUses::acquire(const Party &producer, int64_t stage,
                              int64_t phase, StageUse &use) {
  ProducerState &state = stages[stage].getProducer(producer);
  if (state.acquired > state.issuedCommits)
    return Outcome::wrong(
        formatv("acquires stage {0} again without having committed it", stage));
  int64_t round = state.acquired;
  Outcome outcome = checkPhase(stage, phase, round);
  if (!outcome.isDone())
    return outcome;
  if (countReleased(stage, round) < round)
    return Outcome::waits(
        formatv("until stage {0} is released by {1} (use {2})", stage,
                describeUnreleased(stage, round - 1), round - 1));
  ++state.acquired;
  use = {this, stage, round};
  return {};
}

Outcome PipelineUses::commit(const Party &producer, const StageUse &use,
                             int64_t phase) {
  Outcome outcome = checkPhase(use.stage, phase, use.round);
  if (outcome.isDone())
    ++stages[use.stage].getProducer(producer).issuedCommits;
  return outcome;
}

Outcome PipelineUses::wait(Operation *op, const Party &consumer, int64_t stage,
                           int64_t phase) {
  StageState &shared = stages[stage];
  ConsumerState &state = shared.getConsumer(consumer);
  bool holds = state.waited > state.released;
  // A repeated wait for the current use is allowed.
  if (holds && phase == (state.released & 1))
    return {};
  if (holds)
    return Outcome::wrong(formatv("waits for the next use of stage {0} without "
                                  "having released the current one",
                                  stage))
        .note(state.wait, "waited for here");
  Outcome outcome = checkPhase(stage, phase, state.waited);
  if (!outcome.isDone())
    return outcome;
  if (shared.full <= state.waited)
    return Outcome::waits(
        formatv("until stage {0} is full (use {1})", stage, state.waited));
  ++state.waited;
  state.wait = op;
  return {};
}

Outcome PipelineUses::release(const Party &consumer, int64_t stage,
                              int64_t phase, StageUse &use) {
  ConsumerState &state = stages[stage].getConsumer(consumer);
  if (state.waited == state.released)
    return Outcome::wrong(
        formatv("releases stage {0}, which it has not waited for", stage));
  use = {this, stage, state.released};
  Outcome outcome = checkPhase(stage, phase, use.round);
  if (outcome.isDone())
    ++state.released;
  return outcome;
}

void PipelineUses::signalCommit(const Party &producer, int64_t stage) {
  ++stages[stage].getProducer(producer).committed;
  update(stage);
}

void PipelineUses::signalRelease(const Party &consumer, int64_t stage) {
  ++stages[stage].getConsumer(consumer).given;
}

void PipelineUses::update(int64_t stage) {
  StageState &state = stages[stage];
  if (state.outstandingCopies != 0 || state.producers.empty())
    return;
  int64_t full = state.producers.front().second.committed;
  for (auto &[party, producer] : state.producers)
    full = std::min(full, producer.committed);
  state.full = full;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

Outcome PipelineUses::read(const StageUse &use, const Party &consumer,
                           Operation *writer) {
  const ConsumerState &state = stages[use.stage].getConsumer(consumer);
  if (state.waited <= use.round)
    return Outcome::wrong(
               formatv("reads stage {0} of a pipeline without having waited "
                       "for it",
                       use.stage))
        .note(writer, "filled here")
        .note(op, "the pipeline");
  if (state.released <= use.round)
    return {};
  if (state.waited > state.released)
    return Outcome::wrong(formatv("reads stage {0} of a pipeline, which was "
                                  "not filled for the current use",
                                  use.stage))
        .note(writer, "last filled here");
  return Outcome::wrong(
             formatv("reads stage {0} of a pipeline after releasing it",
                     use.stage))
      .note(writer, "filled here");
}

Outcome PipelineUses::change(const StageUse &use, const Party &consumer,
                             Operation *writer) {
  const ConsumerState &state = stages[use.stage].getConsumer(consumer);
  if (state.waited > use.round && state.released <= use.round)
    return {};
  return Outcome::wrong(
             formatv("stores to stage {0} of a pipeline {1}", use.stage,
                     state.waited > use.round ? "after releasing it"
                                              : "without having waited for it"))
      .note(writer, "filled here")
      .note(op, "the pipeline");
}

Outcome PipelineUses::overwrites(const StageUse &use, Operation *writer) const {
  return Outcome::wrong(
             formatv("overwrites stage {0} of a pipeline before its release "
                     "by {1}",
                     use.stage, describeUnreleased(use.stage, use.round)))
      .note(writer, "filled here")
      .note(op, "the pipeline");
}

/// Every copy must be waited for. Otherwise it may arrive after the CTA has
/// ended, in the shared memory of the next CTA.
Outcome PipelineUses::finish() {
  for (auto [index, stage] : llvm::enumerate(stages)) {
    if (stage.copiedUse < 0)
      continue;
    if (stage.consumers.empty())
      return Outcome::wrong(
                 formatv("the copy into stage {0} is never waited for", index))
          .at(stage.copy);
    for (auto &[party, state] : stage.consumers)
      if (state.waited <= stage.copiedUse)
        return Outcome::wrong(
                   formatv("the copy into stage {0} is never waited for by {1}",
                           index, party.describe()))
            .at(stage.copy);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Ping-pong order
//===----------------------------------------------------------------------===//

Outcome PingPongOrder::begin(const Party &party) {
  if (!role)
    role = party.role;
  if (role != party.role)
    return Outcome::wrong("a ping-pong order must belong to one role, found " +
                          describeRole(role) + " and " +
                          describeRole(party.role));
  int64_t groups = party.groups;
  // A role with a single agent runs the sections of all its warp groups at
  // once.
  if (groups == 1)
    return {};
  if (groups != int64_t(begun.size()))
    return Outcome::wrong(
        formatv("ping-pong order is for {0} warp groups, but the role has {1}",
                begun.size(), groups));
  int64_t mine = begun[party.group] * groups + party.group;
  if (ended < mine)
    return Outcome::waits(formatv("for its ping-pong section {0}", mine));
  ++begun[party.group];
  return {};
}

//===----------------------------------------------------------------------===//
// Agent state
//===----------------------------------------------------------------------===//

Outcome AgentState::acquire(Operation *op, PipelineUses &pipeline,
                            int64_t stage, int64_t phase) {
  StageUse use;
  Outcome outcome = pipeline.acquire(party, stage, phase, use);
  if (outcome.isDone())
    acquired.push_back({use, op});
  return outcome;
}

Outcome AgentState::commit(PipelineUses &pipeline, int64_t stage, int64_t phase,
                           StageUse &use) {
  auto *found = llvm::find_if(acquired, [&](auto &entry) {
    return entry.first.pipeline == &pipeline && entry.first.stage == stage;
  });
  if (found == acquired.end())
    return Outcome::wrong(
        formatv("commits stage {0}, which it has not acquired", stage));
  use = found->first;
  Outcome outcome = pipeline.commit(party, use, phase);
  if (!outcome.isDone())
    return outcome;
  acquired.erase(found);
  return checkLanes(use, "commits");
}

Outcome AgentState::release(PipelineUses &pipeline, int64_t stage,
                            int64_t phase, FindReader findDot,
                            FindReader findCopyOut) {
  StageUse use;
  Outcome outcome = pipeline.release(party, stage, phase, use);
  if (!outcome.isDone())
    return outcome;
  if (Operation *dot = findDot(use))
    return Outcome::wrong(formatv("releases stage {0} while an asynchronous "
                                  "dot may still read it",
                                  stage))
        .note(dot, "the dot");
  if (Operation *copy = findCopyOut(use))
    return Outcome::wrong(formatv("releases stage {0} while a copy out may "
                                  "still read it",
                                  stage))
        .note(copy, "the copy");
  return checkLanes(use, "releases");
}

void AgentState::accessByLanes(LaneAccessOpInterface access,
                               const StageUse &use) {
  std::pair<StageUse, LaneAccessOpInterface> entry = {use, access};
  if (party.role && access.isAccessByLanes() &&
      !llvm::is_contained(laneAccesses, entry))
    laneAccesses.push_back(entry);
}

void AgentState::synchronizeLanes(Operation *op) {
  auto sync = dyn_cast<LaneSyncOpInterface>(op);
  if (!sync || !sync.synchronizesLanes())
    return;
  // The async proxy is tracked by slots: its fence may be for one buffer.
  LaneFence fences = sync.getFences() | LaneFence::AsyncProxy;
  llvm::erase_if(laneAccesses, [&](auto &entry) {
    return containsAll(fences, entry.second.getLaneFences());
  });
}

/// One lane arrives for its warp, so all lanes must have made their accesses.
Outcome AgentState::checkLanes(const StageUse &use, StringRef arrives) const {
  for (auto [accessed, access] : laneAccesses) {
    LaneFence fences = LaneFence::None;
    if (accessed ? !(accessed == use) : !use.pipeline->ordersTensorMemory)
      continue;
    if (!accessed)
      fences = access.getLaneFences();
    bool writes = hasEffect<MemoryEffects::Write>(access.getOperation());
    return Outcome::wrong(
               formatv("{0} stage {1} while lanes of the warp may still {2} "
                       "{3}: expected 'warp.sync_lanes{4}' in between",
                       arrives, use.stage, writes ? "write" : "read",
                       accessed ? "it" : "tensor memory",
                       fences == LaneFence::None ? ""
                       : writes                  ? " tmem_stores"
                                                 : " tmem_loads"))
        .note(access, writes ? "written here" : "read here");
  }
  return {};
}

Outcome AgentState::checkCopy() const {
  if (!acquired.empty())
    return {};
  return Outcome::wrong("an asynchronous copy must be between the acquire and "
                        "the commit of a stage");
}

Outcome AgentState::checkSend(int64_t slot) const {
  if (!acquired.empty() && acquired.back().first.stage == slot)
    return {};
  return Outcome::wrong(
      formatv("sends to slot {0}, whose stage it has not acquired", slot));
}

Outcome AgentState::beginSection(Operation *op, PingPongOrder &order) {
  for (auto &[other, where] : turns)
    if (other == &order)
      return Outcome::wrong("begins a ping-pong section inside another one")
          .note(where, "begun here");
  Outcome outcome = order.begin(party);
  if (outcome.isDone())
    turns.push_back({&order, op});
  return outcome;
}

Outcome AgentState::endSection(PingPongOrder &order) {
  auto *found =
      llvm::find_if(turns, [&](auto &entry) { return entry.first == &order; });
  if (found == turns.end())
    return Outcome::wrong("ends a ping-pong section that it has not begun");
  turns.erase(found);
  order.end();
  return {};
}

Outcome warp::readsUnwritten() {
  return Outcome::wrong("reads shared memory that was not written");
}

Outcome warp::readsUnfenced(Operation *store) {
  return Outcome::wrong(
             "reads a store that no 'warp.fence_stores' has made visible")
      .note(store, "stored here");
}

Outcome warp::overwritesOperand(Operation *dot) {
  return Outcome::wrong("overwrites shared memory that an asynchronous dot may "
                        "still read")
      .note(dot, "the dot");
}

Outcome warp::overwritesSource(Operation *copy) {
  return Outcome::wrong("overwrites shared memory that a copy out may still "
                        "read")
      .note(copy, "the copy");
}
