//===- PipelineHandlers.cpp - Executes synchronisation of warps -----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of pipeline ops, roles, the ping-pong order of warp groups,
// mailboxes and dynamic work. The rules of pipelines are in PipelineUses.h;
// handlers apply them to the state of a CTA.
//
//===----------------------------------------------------------------------===//

#include "Warp/SharedAccess.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

namespace {
/// The operands of a pipeline op, read and checked.
struct PipelineOperands {
  PipelineState &pipeline;
  int64_t index, phase;
};
} // namespace

/// All pipeline ops have the same operands.
static FailureOr<PipelineOperands> readOperands(Operation *op, Frame &frame) {
  auto &pipeline = frame.get(op->getOperand(0)).getObject<PipelineState>();
  FailureOr<int64_t> stage =
      getStage(op, frame, op->getOperand(1), pipeline.stages.size());
  if (failed(stage))
    return failure();
  int64_t phase = frame.getInteger(op->getOperand(2));
  if (phase != 0 && phase != 1) {
    frame.fail(op) << "a phase must be 0 or 1, found " << phase;
    return failure();
  }
  return PipelineOperands{pipeline, *stage, phase};
}

static LogicalResult executePipeline(Operation *op, Frame &frame) {
  auto make = cast<warp::PipelineOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  auto pipeline = (*agent)->cta.getObject<PipelineState>(op, make);
  if (failed(settle(op, **agent, pipeline->findUsers())))
    return failure();
  frame.set(make.getPipeline(), RuntimeValue::object(std::move(pipeline)));
  return success();
}

static LogicalResult executeAcquire(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  FailureOr<PipelineOperands> operands = readOperands(op, frame);
  if (failed(operands))
    return failure();
  warp::Outcome outcome = (*agent)->acquire(op, operands->pipeline,
                                            operands->index, operands->phase);
  if (!outcome.isDone())
    return settle(op, **agent, outcome);
  (*agent)->synchronised = true;
  return success();
}

FailureOr<Signal> fovea::interp::commitStage(Operation *op, Agent &agent) {
  Frame &frame = agent.frame;
  FailureOr<PipelineOperands> operands = readOperands(op, frame);
  if (failed(operands))
    return failure();
  StageUse use;
  if (failed(settle(op, agent,
                    agent.commit(operands->pipeline, operands->index,
                                 operands->phase, use))))
    return failure();
  // Outside of roles, neither TMA nor the async proxy of MMA units reads
  // stages.
  if (!agent.party.role)
    agent.fenceStores();
  agent.synchronised = true;
  return Signal{&operands->pipeline, operands->index, agent.party,
                /*releases=*/false};
}

static LogicalResult executeCommit(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  FailureOr<Signal> signal = commitStage(op, **agent);
  if (failed(signal))
    return failure();
  signal->apply();
  (*agent)->cta.notify();
  return success();
}

static LogicalResult executeWait(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  FailureOr<PipelineOperands> operands = readOperands(op, frame);
  if (failed(operands))
    return failure();
  warp::Outcome outcome = operands->pipeline.wait(
      op, (*agent)->party, operands->index, operands->phase);
  (*agent)->synchronised = true;
  return settle(op, **agent, outcome);
}

/// A dot of the agent that may still read the stage.
static PendingDot *findReader(const Agent &agent, const StageUse &use) {
  auto reads = [&](const PendingDot &dot) {
    return !dot.complete && llvm::any_of(dot.operands, [&](Slot *slot) {
      return slot->use == use;
    });
  };
  for (auto &dot : agent.dots)
    if (reads(*dot))
      return dot.get();
  for (auto &dot : agent.cta.getDots())
    if (dot->issuer == agent.party && reads(*dot))
      return dot.get();
  return nullptr;
}

FailureOr<Signal> fovea::interp::releaseStage(Operation *op, Agent &agent,
                                              bool afterDots) {
  Frame &frame = agent.frame;
  FailureOr<PipelineOperands> operands = readOperands(op, frame);
  if (failed(operands))
    return failure();
  auto findDot = [&](const StageUse &use) -> Operation * {
    PendingDot *dot = afterDots ? nullptr : findReader(agent, use);
    return dot ? dot->op : nullptr;
  };
  auto findCopyOut = [&](const StageUse &use) -> Operation * {
    for (auto &[slot, copy] : agent.copiesOut)
      if (slot->use == use)
        return copy;
    return nullptr;
  };
  if (failed(settle(op, agent,
                    agent.release(operands->pipeline, operands->index,
                                  operands->phase, findDot, findCopyOut))))
    return failure();
  agent.synchronised = true;
  return Signal{&operands->pipeline, operands->index, agent.party,
                /*releases=*/true};
}

static LogicalResult executeRelease(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  FailureOr<Signal> signal = releaseStage(op, **agent, /*afterDots=*/false);
  if (failed(signal))
    return failure();
  signal->apply();
  (*agent)->cta.notify();
  return success();
}

//===----------------------------------------------------------------------===//
// Roles and ping-pong order
//===----------------------------------------------------------------------===//

static LogicalResult executeSpecialize(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  return (*agent)->cta.executeRoles(cast<warp::SpecializeOp>(op), **agent);
}

static LogicalResult executeTurns(Operation *op, Frame &frame) {
  auto make = cast<warp::TurnsOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  auto turns = (*agent)->cta.getObject<TurnsState>(
      op, make.getTurns().getType().getGroups());
  frame.set(make.getTurns(), RuntimeValue::object(std::move(turns)));
  return success();
}

/// The scheduler records that the lanes have synchronised.
static LogicalResult executeSyncLanes(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  if (cast<warp::SyncLanesOp>(op).getAsyncProxy())
    (*agent)->fenceStores();
  return success();
}

static LogicalResult executeBeginTurn(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  auto begin = cast<warp::BeginTurnOp>(op);
  auto &turns = frame.get(begin.getTurns()).getObject<TurnsState>();
  warp::Outcome outcome = (*agent)->beginSection(op, turns);
  if (!outcome.isDone())
    return settle(op, **agent, outcome);
  (*agent)->synchronised = true;
  return success();
}

static LogicalResult executeEndTurn(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  auto end = cast<warp::EndTurnOp>(op);
  auto &turns = frame.get(end.getTurns()).getObject<TurnsState>();
  if (failed(settle(op, **agent, (*agent)->endSection(turns))))
    return failure();
  (*agent)->cta.notify();
  (*agent)->synchronised = true;
  return success();
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

static void fetchWorkItem(Operation *op, Agent &agent) {
  int64_t number = agent.cta.position.grid[0] + agent.cta.grid.nextWork++;
  agent.frame.set(op->getResult(0), RuntimeValue::integer(number));
  agent.synchronised = true;
}

static LogicalResult executeNextWork(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  int64_t count = frame.getInteger(cast<warp::NextWorkOp>(op).getCount());
  if (count != (*agent)->cta.numNextWork)
    return frame.fail(op)
           << "count must be the number of earlier calls in the CTA, found "
           << count << " instead of " << (*agent)->cta.numNextWork;
  ++(*agent)->cta.numNextWork;
  fetchWorkItem(op, **agent);
  return success();
}

static LogicalResult executeFetchWork(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  if (Operation *finish = (*agent)->cta.finish) {
    frame.fail(op) << "fetches work after 'warp.finish_work'";
    frame.note(finish) << "finished here";
    return failure();
  }
  (*agent)->cta.fetch = op;
  fetchWorkItem(op, **agent);
  return success();
}

static LogicalResult executeFinishWork(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  if ((*agent)->cta.finish)
    return frame.fail(op) << "the CTA finishes its work twice";
  (*agent)->cta.finish = op;
  (*agent)->synchronised = true;
  return success();
}

static LogicalResult executeMailbox(Operation *op, Frame &frame) {
  auto make = cast<warp::MailboxOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  frame.set(make.getMailbox(),
            RuntimeValue::object((*agent)->cta.getObject<MailboxState>(
                op, make.getMailbox().getType().getSlots())));
  return success();
}

static LogicalResult executeSend(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  auto send = cast<warp::SendOp>(op);
  auto &mailbox = frame.get(send.getMailbox()).getObject<MailboxState>();
  FailureOr<int64_t> stage =
      getStage(op, frame, send.getStage(), mailbox.slots.size());
  if (failed(stage))
    return failure();
  int64_t value = frame.getInteger(send.getValue());
  if (!llvm::isInt<32>(value))
    return frame.fail(op) << "sends " << value
                          << ", which does not fit in 32 bits";
  if (failed(settle(op, **agent, (*agent)->checkSend(*stage))))
    return failure();
  Slot &slot = mailbox.slots[*stage];
  if (failed(
          claim(op, **agent, slot, (*agent)->getAcquired(), WriteKind::Copy)))
    return failure();
  slot.contents = RuntimeValue::integer(value);
  (*agent)->synchronised = true;
  return success();
}

static LogicalResult executeReceive(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  auto receive = cast<warp::ReceiveOp>(op);
  auto &mailbox = frame.get(receive.getMailbox()).getObject<MailboxState>();
  FailureOr<int64_t> stage =
      getStage(op, frame, receive.getStage(), mailbox.slots.size());
  if (failed(stage) || failed(checkRead(op, **agent, mailbox.slots[*stage])))
    return failure();
  frame.set(receive.getValue(), mailbox.slots[*stage].contents);
  return success();
}

void fovea::interp::registerPipelineHandlers(InterpreterRegistry &registry) {
  registry.add<warp::PipelineOp>(executePipeline);
  registry.add<warp::ProducerAcquireOp>(executeAcquire);
  registry.add<warp::ProducerCommitOp>(executeCommit);
  registry.add<warp::ConsumerWaitOp>(executeWait);
  registry.add<warp::ConsumerReleaseOp>(executeRelease);
  registry.add<warp::SpecializeOp>(executeSpecialize);
  registry.add<warp::SyncLanesOp>(executeSyncLanes);
  registry.add<warp::TurnsOp>(executeTurns);
  registry.add<warp::BeginTurnOp>(executeBeginTurn);
  registry.add<warp::EndTurnOp>(executeEndTurn);
  registry.add<warp::NextWorkOp>(executeNextWork);
  registry.add<warp::FetchWorkOp>(executeFetchWork);
  registry.add<warp::FinishWorkOp>(executeFinishWork);
  registry.add<warp::MailboxOp>(executeMailbox);
  registry.add<warp::SendOp>(executeSend);
  registry.add<warp::ReceiveOp>(executeReceive);
}
