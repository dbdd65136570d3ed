//===- OverlapDots.cpp - Overlap dots with softmax ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pipelines loops so that dots are outstanding while softmax runs
// (intra-warpgroup pipelining of FlashAttention 3). The plan's `ahead` selects
// the prefetched dots; TwoStages, InFlightMma and PrefetchMma compute the
// schedules. The pass also keeps 16-bit tiles, and not their wide forms, in
// registers across waits.
//
//===----------------------------------------------------------------------===//

#include "Roles/RoleAssignment.h"
#include "Scheduling/AsyncDots.h"
#include "Scheduling/InFlightMma.h"
#include "Scheduling/PipelineLoop.h"
#include "Scheduling/PrefetchMma.h"
#include "Scheduling/TwoStages.h"

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/FoldUtils.h"
#include "llvm/ADT/SetVector.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPOVERLAPDOTS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct OverlapDotsPass : warp::impl::WarpOverlapDotsBase<OverlapDotsPass> {
  void runOnKernel() override;
};
} // namespace

/// The dots of the loop body that the plan issues one block ahead.
template <typename Dot>
static SmallVector<Dot> getPrefetchedDots(scf::ForOp loop,
                                          plan::KernelAttr plan) {
  return llvm::filter_to_vector(loop.getBody()->getOps<Dot>(), [&](Dot dot) {
    return plan.getDot(dot.getNameAttr()).ahead != 0;
  });
}

/// True for a zero constant, or for a block argument of `tile.if_any` with a
/// zero init.
static bool isZeros(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto ifAny = dyn_cast<tile::IfAnyOp>(argument.getOwner()->getParentOp());
    return ifAny && isZeros(ifAny.getInits()[argument.getArgNumber()]);
  }
  return matchPattern(value, m_AnyZeroFloat());
}

/// The zero tile of which `result` is a multiple, also under a `tile.if_any`
/// around the multiplication. Null if `result` is not a multiple of zeros.
static Value getScaledZeros(Value result) {
  if (auto product = result.getDefiningOp<arith::MulFOp>())
    for (Value factor : product->getOperands())
      if (isZeros(factor))
        return factor;
  auto ifAny = result.getDefiningOp<tile::IfAnyOp>();
  if (!ifAny)
    return {};
  unsigned index = cast<OpResult>(result).getResultNumber();
  Value init = ifAny.getInits()[index];
  Value yielded = ifAny.getBody().front().getTerminator()->getOperand(index);
  return isZeros(init) && (isZeros(yielded) || getScaledZeros(yielded))
             ? init
             : Value();
}

/// Folds the rescale of the first iteration: a zero accumulator stays zero,
/// also a concatenation of zeros. Other ops on the accumulator stay.
static void foldFirstRescale(Operation *op) {
  llvm::SetVector<Operation *> concats;
  for (Value result : op->getResults()) {
    Value zeros = getScaledZeros(result);
    if (!zeros)
      continue;
    for (Operation *user : result.getUsers())
      if (isa<ConcatColumnsOp>(user))
        concats.insert(user);
    result.replaceAllUsesWith(zeros);
  }
  OperationFolder folder(op->getContext());
  for (Operation *concat : concats)
    (void)folder.tryToFold(concat);
}

/// The dots of the loop with the same owner as the prefetched dots. Dots of
/// other roles can't overlap with this role's computation.
static SmallVector<DotOp> findOverlapped(scf::ForOp loop, plan::KernelAttr plan,
                                         ArrayRef<plan::RoleAttr> roles) {
  SmallVector<DotOp> ahead = getPrefetchedDots<DotOp>(loop, plan);
  if (ahead.empty())
    return {};
  auto findOwner = [&](DotOp dot) {
    return lookupOwner(roles, dot.getNameAttr());
  };
  return llvm::filter_to_vector(
      loop.getBody()->getOps<DotOp>(),
      [&](DotOp dot) { return findOwner(dot) == findOwner(ahead.front()); });
}

/// Prefetches the early dots and the computation on their results by one block,
/// so that the computation runs while the late dots are outstanding.
static LogicalResult overlapResults(scf::ForOp loop, ArrayRef<DotOp> early,
                                    ArrayRef<DotOp> late) {
  TwoStages stages(loop, early, late);
  if (failed(stages.analyze()))
    return failure();
  SmallVector<Operation *> rescales = stages.getRescales(), firstRescales;
  FailureOr<scf::ForOp> pipelined = pipelineInTwoStages(
      loop, stages.getOrder(), [&](Operation *op, Operation *first) {
        if (llvm::is_contained(rescales, op))
          firstRescales.push_back(first);
      });
  if (failed(pipelined))
    return failure();
  for (Operation *op : firstRescales)
    foldFirstRescale(op);
  return success();
}

/// Prefetches only the issue of the early dots by one block.
static LogicalResult prefetchIssue(scf::ForOp loop, ArrayRef<DotOp> early,
                                   ArrayRef<DotOp> late) {
  InFlightMma carried(loop, early, late);
  return success(succeeded(carried.analyze()) &&
                 succeeded(pipelineInTwoStages(loop, carried.getOrder())));
}

/// Pipelines the loop. Returns the reason if it stays unchanged, else an empty
/// string.
static StringRef overlap(scf::ForOp loop, plan::KernelAttr plan,
                         ArrayRef<plan::RoleAttr> roles) {
  constexpr StringRef nothing =
      "no dot of the loop can overlap the computation on the next block's dot";
  // The readers of the memory wait for `warp.dot_into`, so only its issue
  // moves.
  if (SmallVector<DotIntoOp> dots = getPrefetchedDots<DotIntoOp>(loop, plan);
      !dots.empty())
    return succeeded(prefetchDots(loop, dots)) ? StringRef() : nothing;
  auto isCarried = [&](DotOp dot) {
    return plan.getDot(dot.getNameAttr()).isCarried;
  };
  SmallVector<DotOp> ahead = getPrefetchedDots<DotOp>(loop, plan);
  bool areCarried = llvm::any_of(ahead, isCarried);
  if (areCarried && !llvm::all_of(ahead, isCarried))
    return "some of the prefetched dots are loop-carried and some are not";
  SmallVector<DotWaitOp> waits;
  SmallVector<DotOp> early, late;
  for (DotOp dot : findOverlapped(loop, plan, roles)) {
    SmallVector<DotOp> &group =
        plan.getDot(dot.getNameAttr()).ahead ? early : late;
    if (!dot.getAsync()) {
      waits.push_back(makeAsync(dot));
      dot = waits.back().getPending().getDefiningOp<DotOp>();
    }
    group.push_back(dot);
  }
  if (succeeded(
          (areCarried ? prefetchIssue : overlapResults)(loop, early, late)))
    return {};
  for (DotWaitOp wait : waits)
    makeSync(wait);
  return nothing;
}

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
static void keepOperandLive(DotOp dot) {
  Value operand = dot.getA();
  if (matchPattern(operand, m_Constant()))
    return;
  SmallVector<OpOperand *> later;
  for (OpOperand &use : operand.getUses()) {
    Operation *place = dot->getBlock()->findAncestorOpInBlock(*use.getOwner());
    if (place && dot->isBeforeInBlock(place))
      later.push_back(&use);
  }
  if (later.empty())
    return;
  keepLiveAcross(makeAsync(dot), operand, later);
}

/// Keeps register operands that have later users live across their dots.
static void keepOperandsLive(gpu::GPUFuncOp kernel) {
  SmallVector<DotOp> dots;
  kernel.walk([&](DotOp dot) {
    if (!dot.getAsync() && tile::isRegisterTile(dot.getA().getType()))
      dots.push_back(dot);
  });
  llvm::for_each(dots, keepOperandLive);
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

/// Widens a 16-bit tile after the last wait before its first use, and keeps the
/// 16-bit tile live across that wait. Anywhere else, the wide tile would take
/// twice the registers while dots are outstanding.
static void widenAfterWait(arith::ExtFOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getIn().getType());
  if (!type || !tile::isRegisterTile(type) ||
      type.getElementTypeBitWidth() != 16)
    return;
  DotWaitOp wait = findLastWaitBeforeUse(op);
  if (!wait || wait->isBeforeInBlock(op))
    return;
  op->moveAfter(wait);
  keepLiveAcross(wait, op.getIn(), &op->getOpOperand(0));
}

/// If a wide tile and its rounded form (the operand of a dot) are both used
/// after a wait, keeps the wide tile live across that wait. Otherwise ptxas
/// tends to schedule the rounding before the wait, and both would occupy
/// registers.
static void roundAfterWait(arith::TruncFOp op) {
  auto dot = op->hasOneUse() ? dyn_cast<DotOp>(*op->user_begin()) : DotOp();
  Block *block = op->getBlock();
  if (!dot || dot.getA() != op.getResult() || dot->getBlock() != block ||
      !tile::isRegisterTile(op.getType()))
    return;
  Operation *def = op.getIn().getDefiningOp();
  Operation *wait = op->getPrevNode();
  while (wait && wait != def && !isa<DotWaitOp>(wait))
    wait = wait->getPrevNode();
  if (!wait || wait == def)
    return;
  SmallVector<OpOperand *> later;
  for (OpOperand &use : op.getIn().getUses()) {
    Operation *place = block->findAncestorOpInBlock(*use.getOwner());
    if (place && wait->isBeforeInBlock(place))
      later.push_back(&use);
  }
  if (later.size() > 1)
    keepLiveAcross(cast<DotWaitOp>(wait), op.getIn(), later);
}

/// Reports why no dot is prefetched, and removes the prefetch from the plan.
static LogicalResult
reportNoPrefetch(launch::AbiOp abi,
                 ArrayRef<std::pair<Operation *, StringRef>> missed) {
  for (auto [op, reason] : missed)
    if (failed(reportMissed(op, abi, "overlap", reason)))
      return failure();
  abi.setPlanAttr(abi.getPlan().changeDots([](plan::DotPlan &dot) {
    dot.ahead = 0;
    dot.isCarried = false;
  }));
  return success();
}

void OverlapDotsPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  plan::KernelAttr plan = abi.getPlan();
  bool isAhead =
      plan.hasDot([](const plan::DotPlan &dot) { return dot.ahead; });
  bool canBeAhead = plan.hasRoles() && plan.getUnit().isAsynchronous();
  if (canBeAhead && !isAhead)
    return keepOperandsLive(getOperation());
  SmallVector<scf::ForOp> loops;
  SmallVector<std::pair<Operation *, StringRef>> missed;
  if (!canBeAhead && isAhead)
    missed.push_back(
        {getOperation(),
         "the kernel has no roles, or its MMA unit is synchronous"});
  else
    getOperation().walk([&](scf::ForOp loop) {
      if (getPrefetchedDots<DotOp>(loop, plan).empty() &&
          getPrefetchedDots<DotIntoOp>(loop, plan).empty())
        return;
      if (runsOnce(loop))
        loops.push_back(loop);
      else
        missed.push_back({loop, "the loop may run zero iterations"});
    });
  SmallVector<plan::RoleAttr> roles = getRoles(getOperation(), abi);
  int64_t overlapped = 0;
  for (scf::ForOp loop : loops) {
    if (StringRef reason = overlap(loop, plan, roles); !reason.empty()) {
      missed.push_back({loop, reason});
      continue;
    }
    ++overlapped;
    ++numOverlapped;
  }
  SmallVector<arith::ExtFOp> widened;
  getOperation().walk([&](arith::ExtFOp op) { widened.push_back(op); });
  llvm::for_each(widened, widenAfterWait);
  SmallVector<arith::TruncFOp> rounded;
  getOperation().walk([&](arith::TruncFOp op) { rounded.push_back(op); });
  llvm::for_each(rounded, roundAfterWait);
  if (overlapped != 0)
    reportDone(getOperation(), abi, "overlap", "Loops", overlapped);
  if (!isAhead || overlapped != 0)
    return;
  if (missed.empty())
    missed.push_back({getOperation(), "no loop has a dot to prefetch"});
  if (failed(reportNoPrefetch(abi, missed)))
    signalPassFailure();
}
