//===- OverlapDots.cpp - Dots in flight under softmax -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduling/AsyncDots.h"
#include "Scheduling/InFlightMma.h"
#include "Scheduling/PrefetchMma.h"
#include "Scheduling/PipelineLoop.h"
#include "Roles/RoleAssignment.h"
#include "Scheduling/TwoStages.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Schedule/Schedule.h"

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

/// Those of the loop's own dots that the plan issues a block before the others.
template <typename Dot>
static SmallVector<Dot> getAhead(scf::ForOp loop, plan::KernelAttr plan) {
  return llvm::filter_to_vector(loop.getBody()->getOps<Dot>(), [&](Dot dot) {
    return plan.getDot(dot.getNameAttr()).ahead != 0;
  });
}

/// A tile of zeros: a constant, or what a vote's body starts with.
static bool isZeros(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto vote = dyn_cast<tile::IfAnyOp>(argument.getOwner()->getParentOp());
    return vote && isZeros(vote.getInits()[argument.getArgNumber()]);
  }
  return matchPattern(value, m_AnyZeroFloat());
}

/// The zeros that the result is a multiple of, also where rows vote for the
/// multiplication; null if anything else is made of them.
static Value getScaledZeros(Value result) {
  if (auto product = result.getDefiningOp<arith::MulFOp>())
    for (Value factor : product->getOperands())
      if (isZeros(factor))
        return factor;
  auto vote = result.getDefiningOp<tile::IfAnyOp>();
  if (!vote)
    return {};
  unsigned index = cast<OpResult>(result).getResultNumber();
  Value init = vote.getInits()[index];
  Value yielded = vote.getBody().front().getTerminator()->getOperand(index);
  return isZeros(init) && (isZeros(yielded) || getScaledZeros(yielded))
             ? init
             : Value();
}

/// The first iteration has nothing to rescale: a zero accumulator stays zero,
/// also one put together of zeros. What else is done with it is done there,
/// too.
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

/// Those of the loop's dots that have the owner of the dots ahead: other roles'
/// dots have nothing to run under.
static SmallVector<DotOp> findOverlapped(scf::ForOp loop, plan::KernelAttr plan,
                                         ArrayRef<plan::RoleAttr> roles) {
  SmallVector<DotOp> ahead = getAhead<DotOp>(loop, plan);
  if (ahead.empty())
    return {};
  auto findOwner = [&](DotOp dot) {
    return lookupOwner(roles, dot.getNameAttr());
  };
  return llvm::filter_to_vector(
      loop.getBody()->getOps<DotOp>(),
      [&](DotOp dot) { return findOwner(dot) == findOwner(ahead.front()); });
}

/// Computes what comes of the early dots a block ahead, under others.
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

/// Issues the early dots a block ahead, and nothing else.
static LogicalResult carry(scf::ForOp loop, ArrayRef<DotOp> early,
                           ArrayRef<DotOp> late) {
  InFlightMma carried(loop, early, late);
  return success(succeeded(carried.analyze()) &&
                 succeeded(pipelineInTwoStages(loop, carried.getOrder())));
}

/// Why the loop stays as it is; empty if it doesn't.
static StringRef overlap(scf::ForOp loop, plan::KernelAttr plan,
                         ArrayRef<plan::RoleAttr> roles) {
  constexpr StringRef nothing =
      "no dot of the loop can run under what is computed from the next block's";
  // Dots in memory form are waited for where somebody reads the memory: only
  // their issue moves.
  if (SmallVector<DotIntoOp> dots = getAhead<DotIntoOp>(loop, plan);
      !dots.empty())
    return succeeded(issueAhead(loop, dots)) ? StringRef() : nothing;
  auto isCarried = [&](DotOp dot) {
    return plan.getDot(dot.getNameAttr()).isCarried;
  };
  SmallVector<DotOp> ahead = getAhead<DotOp>(loop, plan);
  bool areCarried = llvm::any_of(ahead, isCarried);
  if (areCarried && !llvm::all_of(ahead, isCarried))
    return "of the dots that are issued ahead some are carried in flight and "
           "some are not";
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
  if (succeeded((areCarried ? carry : overlapResults)(loop, early, late)))
    return {};
  for (DotWaitOp wait : waits)
    makeSync(wait);
  return nothing;
}

/// Lets `wait` hold one more tile, and gives it to `uses`.
static void holdIn(DotWaitOp wait, Value tile, ArrayRef<OpOperand *> uses) {
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

/// Whoever reads a register operand behind its dot reads what comes out of the
/// wait: what is computed of it would be in registers beside it else, while the
/// product is made. Constants are made anywhere, by each role for itself.
static void holdOperand(DotOp dot) {
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
  holdIn(makeAsync(dot), operand, later);
}

/// The dots of roles whose register operand others read behind them.
static void holdOperands(gpu::GPUFuncOp kernel) {
  SmallVector<DotOp> dots;
  kernel.walk([&](DotOp dot) {
    if (!dot.getAsync() && tile::isRegisterTile(dot.getA().getType()))
      dots.push_back(dot);
  });
  llvm::for_each(dots, holdOperand);
}

/// The last wait between a tile of numbers and the first that reads them wide
/// in the block of `op`; null if there is none.
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

/// Numbers of 16 bits are widened behind the last wait before they are needed,
/// and are of what that wait holds: in any other place, also one that several
/// blocks share, they would take twice the registers while products are made.
static void widenBehindWait(arith::ExtFOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getIn().getType());
  if (!type || !tile::isRegisterTile(type) ||
      type.getElementTypeBitWidth() != 16)
    return;
  DotWaitOp wait = findLastWaitBeforeUse(op);
  if (!wait || wait->isBeforeInBlock(op))
    return;
  op->moveAfter(wait);
  holdIn(wait, op.getIn(), &op->getOpOperand(0));
}

/// Where a wide tile is used beside its rounded form, the operand of a dot,
/// both after a wait, that wait holds the wide one: rounded before it, which
/// ptxas likes to do while nothing else is to be done, both would be in
/// registers.
static void roundBehindWait(arith::TruncFOp op) {
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
    holdIn(cast<DotWaitOp>(wait), op.getIn(), later);
}

/// Says why no dot is issued ahead; the plan has none any more.
static LogicalResult leave(launch::AbiOp abi,
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
    return holdOperands(getOperation());
  SmallVector<scf::ForOp> loops;
  SmallVector<std::pair<Operation *, StringRef>> missed;
  if (!canBeAhead && isAhead)
    missed.push_back({getOperation(), "all warps run one program, or the "
                                      "matrix unit's products are made at "
                                      "once"});
  else
    getOperation().walk([&](scf::ForOp loop) {
      if (getAhead<DotOp>(loop, plan).empty() &&
          getAhead<DotIntoOp>(loop, plan).empty())
        return;
      if (runsOnce(loop))
        loops.push_back(loop);
      else
        missed.push_back({loop, "the loop may run no times"});
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
  llvm::for_each(widened, widenBehindWait);
  SmallVector<arith::TruncFOp> rounded;
  getOperation().walk([&](arith::TruncFOp op) { rounded.push_back(op); });
  llvm::for_each(rounded, roundBehindWait);
  if (overlapped != 0)
    reportDone(getOperation(), abi, "overlap", "Loops", overlapped);
  if (!isAhead || overlapped != 0)
    return;
  if (missed.empty())
    missed.push_back({getOperation(), "no loop has a dot to issue ahead"});
  if (failed(leave(abi, missed)))
    signalPassFailure();
}
