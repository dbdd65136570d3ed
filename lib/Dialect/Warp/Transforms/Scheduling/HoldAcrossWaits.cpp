//===- HoldAcrossWaits.cpp - Keep tiles live across waits -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps register operands of dots, and the narrower one of a tile's two forms,
// live across waits. Registers are scarce while dots are outstanding.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/AsyncDots.h"

#include "fovea/Dialect/Launch/IR/Launch.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPHOLDACROSSWAITS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct HoldAcrossWaitsPass
    : warp::impl::WarpHoldAcrossWaitsBase<HoldAcrossWaitsPass> {
  void runOnKernel() override;
};
} // namespace

/// Keeps one more tile live across `wait`, and makes `uses` read it from there.
static void keepLiveAcross(DotWaitOp wait, Value tile,
                           ArrayRef<OpOperand *> uses) {
  OpBuilder b(wait);
  SmallVector<Value> held(wait.getHeld());
  held.push_back(tile);
  auto holds = DotWaitOp::create(b, wait.getLoc(), wait.getPending(),
                                 wait.getAbove(), held);
  wait->replaceAllUsesWith(holds->getResults().drop_back());
  wait.erase();
  for (OpOperand *use : uses)
    use->set(holds.getHeldResults().back());
}

/// Makes later users of a register operand read it from the dot's wait.
/// Otherwise values computed from it would occupy registers beside the operand
/// while the dot is outstanding. Constants need no register across the wait.
static bool keepOperandLive(DotOp dot) {
  Value operand = dot.getA();
  if (matchPattern(operand, m_Constant()))
    return false;
  SmallVector<OpOperand *> later;
  for (OpOperand &use : operand.getUses()) {
    Operation *place = dot->getBlock()->findAncestorOpInBlock(*use.getOwner());
    if (place && dot->isBeforeInBlock(place))
      later.push_back(&use);
  }
  if (later.empty())
    return false;
  keepLiveAcross(makeAsync(dot), operand, later);
  return true;
}

/// Keeps register operands that have later users live across their dots.
static int64_t keepOperandsLive(gpu::GPUFuncOp kernel) {
  SmallVector<DotOp> dots;
  kernel.walk([&](DotOp dot) {
    if (!dot.getAsync() && tile::isRegisterTile(dot.getA().getType()))
      dots.push_back(dot);
  });
  return llvm::count_if(dots, keepOperandLive);
}

/// The last wait between the definition of a 16-bit tile and the first user of
/// its widened form in the block of `op`; null if there is none.
static DotWaitOp findLastWaitBeforeUse(arith::ExtFOp op) {
  Block *block = op->getBlock();
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *place = block->findAncestorOpInBlock(*user);
    if (place && (!first || place->isBeforeInBlock(first)))
      first = place;
  }
  Operation *source = op.getIn().getDefiningOp();
  for (; first && first != source; first = first->getPrevNode())
    if (auto wait = dyn_cast<DotWaitOp>(first))
      return wait;
  return nullptr;
}

/// Widens a tile of at most 16 bits after the last wait before its first use,
/// and keeps the narrow tile live across that wait. Anywhere else, the wide
/// tile would take at least twice the registers while dots are outstanding.
static bool widenAfterWait(arith::ExtFOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getIn().getType());
  if (!type || !tile::isRegisterTile(type) ||
      type.getElementTypeBitWidth() > 16)
    return false;
  DotWaitOp wait = findLastWaitBeforeUse(op);
  if (!wait || wait->isBeforeInBlock(op))
    return false;
  op->moveAfter(wait);
  keepLiveAcross(wait, op.getIn(), &op->getOpOperand(0));
  return true;
}

/// If a wide tile and its rounded form (the operand of a dot) are both used
/// after a wait, keeps the wide tile live across that wait. Otherwise ptxas
/// tends to schedule the rounding before the wait, and both would occupy
/// registers.
static bool roundAfterWait(arith::TruncFOp op) {
  auto dot = op->hasOneUse() ? dyn_cast<DotOp>(*op->user_begin()) : DotOp();
  Block *block = op->getBlock();
  if (!dot || dot.getA() != op.getResult() || dot->getBlock() != block ||
      !tile::isRegisterTile(op.getType()))
    return false;
  Operation *def = op.getIn().getDefiningOp();
  Operation *wait = op->getPrevNode();
  while (wait && wait != def && !isa<DotWaitOp>(wait))
    wait = wait->getPrevNode();
  if (!wait || wait == def)
    return false;
  SmallVector<OpOperand *> later;
  for (OpOperand &use : op.getIn().getUses()) {
    Operation *place = block->findAncestorOpInBlock(*use.getOwner());
    if (place && wait->isBeforeInBlock(place))
      later.push_back(&use);
  }
  if (later.size() <= 1)
    return false;
  keepLiveAcross(cast<DotWaitOp>(wait), op.getIn(), later);
  return true;
}

void HoldAcrossWaitsPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  plan::KernelAttr plan = abi.getPlan();
  if (!plan.hasRoles() || !plan.getUnit().isAsynchronous())
    return;
  if (!plan.isStaged()) {
    numHeld += keepOperandsLive(getOperation());
    return;
  }
  SmallVector<arith::ExtFOp> widened;
  getOperation().walk([&](arith::ExtFOp op) { widened.push_back(op); });
  numHeld += llvm::count_if(widened, widenAfterWait);
  SmallVector<arith::TruncFOp> rounded;
  getOperation().walk([&](arith::TruncFOp op) { rounded.push_back(op); });
  numHeld += llvm::count_if(rounded, roundAfterWait);
}
