//===- Agent.cpp - Coroutines of a CTA --------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Creates agents, finds the agent of a frame, and applies outcomes of ops to
// it.
//
//===----------------------------------------------------------------------===//

#include "Warp/Agent.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

FailureOr<Agent *> fovea::interp::getAgent(Operation *op, Frame &frame) {
  if (auto *environment = frame.getEnvironment<WarpEnvironment>())
    return environment->agent;
  frame.fail(op) << "'" << op->getName().getStringRef()
                 << "' is executed outside a kernel";
  return failure();
}

RowRange fovea::interp::getOwnedRows(Frame &frame, RankedTensorType tile) {
  auto *environment = frame.getEnvironment<WarpEnvironment>();
  Party party = environment ? environment->agent->party : Party();
  auto [first, count] = warp::getOwnedRows(party, tile);
  return {first, count};
}

Agent::Agent(const Frame &like, Party party, Cta &cta,
             const GridPosition &position)
    : AgentState(party), environment{this}, cta(cta),
      frame(like.getRegistry(), like.getPrecision()) {
  frame.setEnvironment(&position);
  frame.setEnvironment(&environment);
}

void Agent::fenceStores() {
  for (Slot *slot : unfenced)
    slot->fence(party);
  unfenced.clear();
}

LogicalResult fovea::interp::settle(Operation *op, Agent &agent,
                                    const warp::Outcome &outcome) {
  switch (outcome.kind) {
  case warp::Outcome::Done:
    return success();
  case warp::Outcome::Waits:
    return agent.wait(outcome.text);
  case warp::Outcome::Wrong:
    break;
  }
  agent.frame.fail(outcome.where ? outcome.where : op) << outcome.text;
  for (auto &[where, text] : outcome.notes)
    agent.frame.note(where) << text;
  return failure();
}
