//===- SharedAccess.cpp - Accesses to shared memory -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the checks of reads and writes from the state of slots, pipelines,
// and outstanding dots and copies.
//
//===----------------------------------------------------------------------===//

#include "Warp/SharedAccess.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

FailureOr<int64_t> fovea::interp::getStage(Operation *op, Frame &frame,
                                           Value stage, int64_t count) {
  int64_t index = frame.getInteger(stage);
  if (index >= 0 && index < count)
    return index;
  frame.fail(op) << "stage " << index << " lies outside [0, " << count << ")";
  return failure();
}

/// A dot that may still read the slot. Dots in tensor memory execute after
/// earlier ones of their own role.
static PendingDot *findReader(Agent &writer, const Slot &slot, WriteKind kind) {
  for (auto &agent : writer.cta.getAgents())
    for (auto &dot : agent->dots)
      if (!dot->complete && llvm::is_contained(dot->operands, &slot))
        return dot.get();
  for (auto &dot : writer.cta.getDots()) {
    if (kind == WriteKind::Dot && dot->issuer == writer.party)
      continue;
    if (llvm::is_contained(dot->operands, &slot))
      return dot.get();
  }
  return nullptr;
}

LogicalResult fovea::interp::checkRead(Operation *op, Agent &agent,
                                       Slot &slot) {
  if (!slot.writer)
    return settle(op, agent, warp::readsUnwritten());
  if (slot.use) {
    if (failed(settle(
            op, agent,
            slot.use.pipeline->read(slot.use, agent.party, slot.writer))))
      return failure();
  } else if (slot.writingParty->role && !(*slot.writingParty == agent.party)) {
    agent.frame.fail(op) << "reads shared memory that "
                         << slot.writingParty->describe()
                         << " wrote: expected a pipeline between the two";
    agent.frame.note(slot.writer) << "written here";
    return failure();
  }
  if (slot.product && !slot.product->complete &&
      !(slot.product->issuer == agent.party)) {
    agent.frame.fail(op) << "reads the result of an outstanding dot";
    agent.frame.note(slot.writer) << "the dot";
    return failure();
  }
  if (!slot.contents) {
    agent.frame.fail(op) << "reads shared memory while a copy into it is "
                            "outstanding";
    agent.frame.note(slot.writer) << "copied here";
    return failure();
  }
  if (!slot.use && !llvm::is_contained(slot.readers, agent.party))
    slot.readers.push_back(agent.party);
  return success();
}

/// Returns true if the consumer's release of the stage use is visible to the
/// writer.
static bool hasReleased(const Party &consumer, const warp::ConsumerState &state,
                        int64_t round, const Agent &writer, WriteKind kind) {
  if (state.given > round)
    return true;
  if (!(consumer == writer.party))
    return false;
  return (kind == WriteKind::Store && state.waited > round) ||
         (kind == WriteKind::Dot && state.released > round);
}

static LogicalResult checkStageWrite(Operation *op, Agent &agent,
                                     const Slot &slot, WriteKind kind) {
  const StageUse &use = slot.use;
  for (auto &[party, state] : use.pipeline->stages[use.stage].consumers) {
    if (hasReleased(party, state, use.round, agent, kind))
      continue;
    return settle(op, agent, use.pipeline->overwrites(use, slot.writer));
  }
  return success();
}

/// Checks that the overwritten contents have no readers left.
static LogicalResult checkWrite(Operation *op, Agent &agent, const Slot &slot,
                                const StageUse &use, WriteKind kind) {
  Frame &frame = agent.frame;
  if (PendingDot *dot = findReader(agent, slot, kind))
    return settle(op, agent, warp::overwritesOperand(dot->op));
  if (failed(checkCopiesOut(op, agent, slot, /*ofAgentOnly=*/false)))
    return failure();
  if (slot.use)
    return slot.use == use ? success() : checkStageWrite(op, agent, slot, kind);
  // The start and the end of roles synchronise the CTA.
  if (agent.party.role)
    for (const Party &reader : slot.readers)
      if (reader.role && !(reader == agent.party))
        return frame.fail(op)
               << "overwrites shared memory that " << reader.describe()
               << " read: expected a pipeline between the two";
  return success();
}

LogicalResult fovea::interp::checkCopiesOut(Operation *op, Agent &agent,
                                            const Slot &slot,
                                            bool ofAgentOnly) {
  for (auto &other : agent.cta.getAgents())
    for (auto &[read, copy] : other->copiesOut) {
      if (read != &slot || (ofAgentOnly && other.get() != &agent))
        continue;
      return settle(op, agent, warp::overwritesSource(copy));
    }
  return success();
}

LogicalResult fovea::interp::checkFenced(Operation *op, Agent &agent,
                                         const Slot &slot, bool readsOwnRows) {
  Operation *store = slot.findUnfenced(agent.party, readsOwnRows);
  return store ? settle(op, agent, warp::readsUnfenced(store)) : success();
}

LogicalResult fovea::interp::checkChangeInPlace(Operation *op, Agent &agent,
                                                const Slot &slot) {
  PendingDot *dot = findReader(agent, slot, WriteKind::Store);
  if (!dot)
    return success();
  agent.frame.fail(op) << "changes shared memory that an asynchronous dot may "
                          "still read";
  agent.frame.note(dot->op) << "the dot";
  return failure();
}

LogicalResult fovea::interp::claim(Operation *op, Agent &agent, Slot &slot,
                                   StageUse use, WriteKind kind) {
  if (failed(checkWrite(op, agent, slot, use, kind)))
    return failure();
  // A stage that is changed in place remains a stage.
  if (kind == WriteKind::Store && !use && slot.use &&
      slot.use.pipeline->stages[slot.use.stage]
              .getConsumer(agent.party)
              .waited > slot.use.round)
    use = slot.use;
  slot.contents = RuntimeValue();
  slot.product.reset();
  slot.use = use;
  slot.writer = op;
  slot.writingParty = agent.party;
  slot.readers.clear();
  slot.stored.clear();
  slot.unfenced.clear();
  return success();
}

LogicalResult fovea::interp::claimRows(Operation *op, Agent &agent, Slot &slot,
                                       StageUse use) {
  if (slot.use == use)
    return success();
  if (failed(checkCopiesOut(op, agent, slot, /*ofAgentOnly=*/false)) ||
      (slot.use && failed(checkStageWrite(op, agent, slot, WriteKind::Copy))))
    return failure();
  slot.contents = RuntimeValue();
  slot.use = use;
  slot.writer = op;
  slot.writingParty = agent.party;
  slot.readers.clear();
  slot.stored.clear();
  return success();
}
