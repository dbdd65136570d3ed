//===- SharedMemoryModel.cpp - What the warps of a CTA share ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemoryModel.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

static constexpr int64_t kGroupWarps = 4;

int64_t fovea::interp::countGroups(warp::SpecializeOp op, unsigned role) {
  WalkResult walk = op.getRoles()[role].walk([](Operation *nested) {
    return isa<warp::ProducerAcquireOp, warp::ProducerCommitOp, warp::CopyOp,
               warp::SendOp, warp::FetchWorkOp, warp::FinishWorkOp,
               warp::NextWorkOp, warp::DotIntoOp, warp::CopyOutOp,
               warp::LocalStoreOp, warp::TmemStoreOp>(nested)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return 1;
  return std::max<int64_t>(op.getWarps()[role] / kGroupWarps, 1) *
         op.getCluster();
}

std::string Party::describe() const {
  if (!role)
    return "the kernel";
  auto op = cast<warp::SpecializeOp>(role->getParentOp());
  unsigned index = role->getRegionNumber();
  std::string text =
      ("role @" + cast<StringAttr>(op.getNames()[index]).getValue()).str();
  if (countGroups(op, index) == 1)
    return text;
  return "warp group " + std::to_string(group) + " of " + text;
}

ConsumerState &StageState::getConsumer(const Party &party) {
  for (auto &[other, state] : consumers)
    if (other == party)
      return state;
  return consumers.emplace_back(party, ConsumerState()).second;
}

void Signal::apply() const {
  StageState &state = pipeline->stages[stage];
  if (consumer) {
    ++state.getConsumer(*consumer).given;
    return;
  }
  ++state.committed;
  pipeline->update(stage);
}

//===----------------------------------------------------------------------===//
// PipelineState
//===----------------------------------------------------------------------===//

/// Notes what a pipeline's value is used for in the kernel or in a role.
LogicalResult PipelineState::addUsers(Frame &frame, Value value,
                                      Region *region) {
  Operation *acquire = nullptr;
  bool consumes = false;
  for (Operation *user : value.getUsers()) {
    consumes |= isa<warp::ConsumerWaitOp, warp::ConsumerReleaseOp,
                    warp::ReleaseAfterDotsOp>(user);
    // Users come in reverse order.
    if (isa<warp::ProducerAcquireOp>(user))
      acquire = user;
  }
  Party party{region, 0};
  if (acquire && producer) {
    frame.fail(acquire) << party.describe()
                        << " acquires a stage of a pipeline whose producer is "
                        << producer->describe();
    frame.note(op) << "the pipeline";
    return failure();
  }
  if (acquire)
    producer = party;
  if (!consumes)
    return success();
  int64_t groups =
      region ? countGroups(cast<warp::SpecializeOp>(region->getParentOp()),
                           region->getRegionNumber())
             : 1;
  for (party.group = 0; party.group < groups; ++party.group)
    for (StageState &stage : stages)
      stage.getConsumer(party);
  return success();
}

LogicalResult PipelineState::findUsers(Frame &frame) {
  producer.reset();
  Value pipeline = op->getResult(0);
  if (failed(addUsers(frame, pipeline, nullptr)))
    return failure();
  for (OpOperand &use : pipeline.getUses()) {
    Operation *user = use.getOwner();
    if (auto specialize = dyn_cast<warp::SpecializeOp>(user)) {
      for (Region &role : specialize.getRoles())
        if (failed(addUsers(frame, role.getArgument(use.getOperandNumber()),
                            &role)))
          return failure();
      continue;
    }
    if (!isa<warp::ProducerAcquireOp, warp::ProducerCommitOp,
             warp::CommitAfterDotsOp, warp::ConsumerWaitOp,
             warp::ConsumerReleaseOp, warp::ReleaseAfterDotsOp>(user))
      return frame.fail(user)
             << "a pipeline can only be captured by roles and used by what "
                "acquires, commits, waits and releases, found '"
             << user->getName().getStringRef() << "'";
  }
  return success();
}

int64_t PipelineState::countReleased(int64_t stage, int64_t limit) const {
  int64_t result = limit;
  for (auto &[party, state] : stages[stage].consumers)
    result = std::min(result, state.given);
  return result;
}

std::string PipelineState::describeMissing(int64_t stage, int64_t round) const {
  std::string text;
  for (auto &[party, state] : stages[stage].consumers)
    if (state.given <= round)
      text += (text.empty() ? "" : ", ") + party.describe();
  return text;
}

void PipelineState::update(int64_t stage) {
  StageState &state = stages[stage];
  if (state.copiesInFlight == 0)
    state.full = state.committed;
}
