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
               warp::NextWorkOp>(nested)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return walk.wasInterrupted() ? 1 : op.getWarps()[role] / kGroupWarps;
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

//===----------------------------------------------------------------------===//
// PipelineState
//===----------------------------------------------------------------------===//

LogicalResult PipelineState::findConsumers(Frame &frame) {
  consumers.clear();
  bool kernelConsumes = false;
  llvm::SmallVector<Region *> roles;
  for (OpOperand &use : op->getResult(0).getUses()) {
    Operation *user = use.getOwner();
    if (isa<warp::ConsumerWaitOp, warp::ConsumerReleaseOp>(user)) {
      kernelConsumes = true;
      continue;
    }
    if (isa<warp::ProducerAcquireOp, warp::ProducerCommitOp>(user))
      continue;
    auto specialize = dyn_cast<warp::SpecializeOp>(user);
    if (!specialize)
      return frame.fail(user)
             << "a pipeline can only be captured by roles and used by "
                "'warp.producer_*' and 'warp.consumer_*', found '"
             << user->getName().getStringRef() << "'";
    for (Region &role : specialize.getRoles()) {
      BlockArgument argument = role.getArgument(use.getOperandNumber());
      if (llvm::any_of(argument.getUsers(), [](Operation *verb) {
            return isa<warp::ConsumerWaitOp, warp::ConsumerReleaseOp>(verb);
          }))
        roles.push_back(&role);
    }
  }
  if (kernelConsumes)
    consumers.push_back(Party());
  for (Region *role : roles) {
    auto specialize = cast<warp::SpecializeOp>(role->getParentOp());
    int64_t groups = countGroups(specialize, role->getRegionNumber());
    for (int64_t group = 0; group < groups; ++group)
      consumers.push_back({role, group});
  }
  for (StageState &stage : stages)
    for (const Party &party : consumers)
      stage.getConsumer(party);
  return success();
}

int64_t PipelineState::countReleased(int64_t stage, int64_t limit) const {
  int64_t result = limit;
  for (auto &[party, state] : stages[stage].consumers)
    result = std::min(result, state.released);
  return result;
}

std::string PipelineState::describeMissing(int64_t stage, int64_t round) const {
  std::string text;
  for (auto &[party, state] : stages[stage].consumers)
    if (state.released <= round)
      text += (text.empty() ? "" : ", ") + party.describe();
  return text;
}

void PipelineState::update(int64_t stage) {
  StageState &state = stages[stage];
  if (state.copiesInFlight == 0)
    state.full = state.committed;
}
