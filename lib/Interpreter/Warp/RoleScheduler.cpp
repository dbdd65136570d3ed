//===- RoleScheduler.cpp - Interleaves the roles of a CTA -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the next agent, copy or dot at random, starts and ends roles, and
// checks a CTA's state at the end of agents.
//
//===----------------------------------------------------------------------===//

#include "Warp/RoleScheduler.h"

#include "fovea/Interpreter/Trace.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

/// Average number of ops without synchronisation after which the scheduler
/// switches agents.
static constexpr uint64_t kOpsPerSwitch = 32;

Cta::Cta(const Frame &like, const GridPosition &position, uint64_t seed,
         GridState &grid)
    : position(position), grid(grid), seed(seed),
      // Adjacent seeds and CTAs get unrelated sequences.
      random(seed * 0x9E3779B97F4A7C15u + uint64_t(position.block[0])) {
  auto *traced = like.getEnvironment<TraceEnvironment>();
  if (traced && position.block[0] == 0)
    trace = traced->trace;
  copyWeight = drawWeight();
  dotWeight = drawWeight();
  agents.push_back(
      std::make_unique<Agent>(like, Party(), *this, this->position));
}

/// Very different speeds reveal errors that equal speeds hide.
unsigned Cta::drawWeight() {
  static constexpr unsigned kWeights[] = {1, 4, 32};
  return kWeights[draw(std::size(kWeights))];
}

LogicalResult Cta::start(Region &kernel, ArrayRef<RuntimeValue> arguments) {
  Agent &agent = *agents.front();
  if (succeeded(agent.frame.start(kernel, arguments)))
    return success();
  failed = &agent.frame;
  return failure();
}

LogicalResult Cta::run() {
  Status status = Status::Running;
  while (status == Status::Running)
    status = advance();
  if (status == Status::Blocked)
    status = reportDeadlock();
  return success(status != Status::Failed);
}

//===----------------------------------------------------------------------===//
// Scheduling
//===----------------------------------------------------------------------===//

Cta::Status Cta::advance() {
  uint64_t total = (copies.size() + writes.size()) * copyWeight +
                   (dots.empty() ? 0 : dotWeight);
  auto canRun = [&](const Agent &agent) {
    return !agent.finished &&
           !(agent.waiting && agent.waitingSince == getState());
  };
  for (auto &agent : agents)
    if (canRun(*agent))
      total += agent->weight;
  if (total == 0)
    return isBlocked() ? Status::Blocked : reportDeadlock();
  uint64_t ticket = draw(total);
  for (auto &agent : agents) {
    if (!canRun(*agent))
      continue;
    if (ticket < agent->weight)
      return runAgent(*agent);
    ticket -= agent->weight;
  }
  size_t landed = ticket / copyWeight;
  if (landed < copies.size())
    landCopy(landed);
  else if (landed < copies.size() + writes.size())
    landWrite(landed - copies.size());
  else
    finishDot();
  return Status::Running;
}

bool Cta::isBlocked() const {
  return llvm::any_of(agents, [](const auto &agent) {
    return !agent->finished && agent->waiting && agent->waitsForOthers;
  });
}

Cta::Status Cta::runAgent(Agent &agent) {
  while (true) {
    if (trace && trace->isFull())
      return Status::Stopped;
    agent.waiting = false;
    Operation *op = agent.frame.getNextOp();
    switch (agent.frame.step()) {
    case Frame::Status::Failed:
      return fail(agent);
    case Frame::Status::Suspended:
      agent.waiting = true;
      agent.waitingSince = getState();
      return Status::Running;
    case Frame::Status::Finished:
      agent.finished = true;
      notify();
      if (llvm::failed(checkEnd(agent)))
        return fail(agent);
      finishWrites(agent);
      return &agent == agents.front().get() ? Status::Finished
                                            : Status::Running;
    case Frame::Status::Running:
      agent.synchronizeLanes(op);
      if (trace)
        trace->record(op, agent);
      break;
    }
    if (std::exchange(agent.synchronised, false) || draw(kOpsPerSwitch) == 0)
      return Status::Running;
  }
}

void Cta::landCopy(size_t index) {
  std::swap(copies[index], copies.back());
  PendingCopy copy = std::move(copies.back());
  copies.pop_back();
  copy.slot->contents = std::move(copy.data);
  --copy.use.pipeline->stages[copy.use.stage].outstandingCopies;
  copy.use.pipeline->update(copy.use.stage);
  notify();
}

void Cta::landWrite(size_t index) {
  std::swap(writes[index], writes.back());
  writes.back().write();
  writes.pop_back();
}

void Cta::finishWrites(Agent &agent) {
  for (size_t index = writes.size(); index-- > 0;)
    if (writes[index].issuer == &agent)
      landWrite(index);
}

void Cta::finishDot() {
  std::shared_ptr<PendingDot> dot = std::move(dots.front());
  dots.erase(dots.begin());
  dot->complete = true;
  for (const Signal &signal : dot->signals)
    signal.apply();
  notify();
}

void Cta::signalAfterDots(Agent &agent, const Signal &signal) {
  if (agent.lastDot)
    agent.lastDot->signalled = true;
  if (agent.lastDot && !agent.lastDot->complete) {
    agent.lastDot->signals.push_back(signal);
    return;
  }
  signal.apply();
  notify();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

LogicalResult Cta::executeRoles(warp::SpecializeOp op, Agent &agent) {
  if (agent.party.role)
    return agent.frame.fail(op) << "a role cannot have roles of its own";
  if (!roles)
    return startRoles(op, agent);
  bool finished = llvm::all_of(ArrayRef(agents).drop_front(),
                               [](auto &role) { return role->finished; });
  if (!finished)
    return agent.wait("until its roles are done");
  agents.resize(1);
  roles = nullptr;
  return success();
}

LogicalResult Cta::startRoles(warp::SpecializeOp op, Agent &agent) {
  roles = op;
  hadRoles = true;
  SmallVector<RuntimeValue> captures;
  for (Value capture : op.getCaptures())
    captures.push_back(agent.frame.get(capture));
  for (Region &role : op.getRoles())
    for (const Party &party : warp::getParties(role)) {
      agents.push_back(
          std::make_unique<Agent>(agent.frame, party, *this, position));
      agents.back()->weight = drawWeight();
      if (llvm::failed(agents.back()->frame.start(role, captures))) {
        agent.frame.adoptFailure(agents.back()->frame);
        return failure();
      }
    }
  notify();
  return agent.wait("until its roles are done");
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

Cta::Status Cta::fail(Agent &agent) {
  failed = &agent.frame;
  if (hadRoles)
    agent.frame.note() << "in " << agent.party.describe() << ", seed "
                       << int64_t(seed);
  return Status::Failed;
}

Cta::Status Cta::reportDeadlock() {
  Agent *first = nullptr;
  for (auto &agent : agents) {
    if (agent->finished || (roles && !agent->party.role))
      continue;
    if (!first) {
      first = agent.get();
      Operation *op = first->frame.getNextOp();
      first->frame.fail(op)
          << "deadlock: " << first->party.describe() << " waits "
          << first->waitsFor << ", which never happens";
      continue;
    }
    first->frame.note(agent->frame.getNextOp())
        << agent->party.describe() << " waits " << agent->waitsFor;
  }
  return fail(*first);
}

LogicalResult Cta::checkEnd(Agent &agent) {
  if (!agent.acquired.empty()) {
    auto &[use, op] = agent.acquired.front();
    return agent.frame.fail(op)
           << "stage " << use.stage << " is acquired and never committed";
  }
  if (!agent.dots.empty())
    return agent.frame.fail(agent.dots.front()->op)
           << "the result of an asynchronous dot is never waited for";
  if (agent.lastDot && !agent.lastDot->signalled)
    return agent.frame.fail(agent.lastDot->op)
           << "no 'warp.commit_after_dots' or 'warp.release_after_dots' "
              "follows "
              "the dot";
  if (!agent.copiesOut.empty())
    return agent.frame.fail(agent.copiesOut.front().second)
           << "the CTA may end before its shared memory is read: no "
              "'warp.copy_out_wait' follows";
  if (!agent.turns.empty())
    return agent.frame.fail(agent.turns.front().second)
           << "'warp.begin_turn' has no 'warp.end_turn' after it";
  if (agent.party.role)
    return success();
  if (llvm::failed(checkWork(agent)))
    return failure();
  return checkFills(agent);
}

LogicalResult Cta::checkWork(Agent &agent) {
  if (fetch && !finish)
    return agent.frame.fail(fetch) << "the CTA fetches work and ends without "
                                      "'warp.finish_work'";
  return success();
}

LogicalResult Cta::checkFills(Agent &agent) {
  if (!hadRoles)
    return success();
  for (auto &[op, object] : objects)
    if (isa<warp::PipelineOp>(op) &&
        llvm::failed(
            settle(op, agent, static_cast<PipelineState &>(*object).finish())))
      return failure();
  return success();
}
