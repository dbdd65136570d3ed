//===- OverlapDots.cpp - Dots in flight under softmax -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DotsAhead.h"
#include "PipelineLoop.h"
#include "Ring.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Target/Schedule.h"

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

/// What one iteration of a loop does, in the order of the pipelined loop.
///
/// Early dots are those that the plan issues a block ahead; they depend on
/// no other dot of their iteration. Late dots are the others. Stage 0 is
/// everything up to the late dots, stage 1 the late dots with their copies.
class TwoStages {
public:
  TwoStages(scf::ForOp loop, plan::KernelAttr plan) : loop(loop), plan(plan) {}

  /// Fails if there is nothing to overlap.
  LogicalResult analyze();
  StagedOrder getOrder();
  /// Operands of late dots that stage 0 computes from the last iteration's
  /// result.
  SmallVector<Operation *> getRescales();

private:
  Operation *inBody(Operation *op) {
    return loop.getBody()->findAncestorOpInBlock(*op);
  }
  /// Ops of the body that `op` needs, also through values that the loop
  /// carries.
  SmallVector<Operation *> getNeeded(Operation *op);
  bool usesResultOf(Operation *op, const llvm::SetVector<Operation *> &defs);
  void findLateRoots();
  void findFirstStage();
  void addReductions();
  void findAfterLate();

  scf::ForOp loop;
  plan::KernelAttr plan;
  SmallVector<DotOp> early, late;
  llvm::SetVector<Operation *> lateRoots, firstStage;
  /// Ops of stage 0 that use what stage 1 of the last iteration gave.
  llvm::SetVector<Operation *> afterLate;
};
} // namespace

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// The alloc behind a view of one stage.
static Value getBuffer(Value operand) {
  if (auto stage = operand.getDefiningOp<StageOp>())
    return stage.getBuffer();
  return operand;
}

/// Whether the plan issues the dot a block before the others of its loop.
template <typename Dot>
static bool isAhead(Dot dot, plan::KernelAttr plan) {
  return plan.getDot(dot.getNameAttr()).ahead != 0;
}

/// Those of the loop's own dots.
template <typename Dot>
static SmallVector<Dot> getAhead(scf::ForOp loop, plan::KernelAttr plan) {
  return llvm::filter_to_vector(loop.getBody()->getOps<Dot>(),
                                [&](Dot dot) { return isAhead(dot, plan); });
}

static DotWaitOp getWait(DotOp dot) {
  return dyn_cast<DotWaitOp>(*dot.getResult().user_begin());
}

SmallVector<Operation *> TwoStages::getNeeded(Operation *op) {
  SmallVector<Operation *> needed;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      if (auto argument = dyn_cast<BlockArgument>(operand)) {
        if (argument.getOwner() != loop.getBody() ||
            argument == loop.getInductionVar())
          continue;
        operand = loop.getTiedLoopYieldedValue(argument)->get();
      }
      Operation *def = operand.getDefiningOp();
      if (def && loop->isProperAncestor(def) && inBody(def) != op)
        needed.push_back(inBody(def));
    }
  });
  return needed;
}

/// Whether the op, or one inside, uses a result of `defs` in one iteration.
bool TwoStages::usesResultOf(Operation *op,
                             const llvm::SetVector<Operation *> &defs) {
  WalkResult found = op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def && loop->isProperAncestor(def) && inBody(def) != op &&
          defs.contains(inBody(def)))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found.wasInterrupted();
}

/// Late dots, their waits, what is computed from what these give, and what
/// brings the dots' operands.
void TwoStages::findLateRoots() {
  llvm::SetVector<Value> buffers, pipelines;
  for (DotOp dot : late) {
    lateRoots.insert(dot);
    lateRoots.insert(getWait(dot));
    buffers.insert(getBuffer(dot.getB()));
  }
  for (Operation &op : loop.getBody()->without_terminator())
    if (isMemoryEffectFree(&op) && usesResultOf(&op, lateRoots))
      lateRoots.insert(&op);
  // What changes a product's operand stays ahead of it.
  loop->walk([&](ZeroRowsOp zero) {
    if (buffers.contains(getBuffer(zero.getBuffer())))
      lateRoots.insert(inBody(zero));
  });
  // A copy belongs to the pipeline whose stage was acquired last before it.
  Value acquired;
  for (Operation &op : *loop.getBody()) {
    if (auto acquire = dyn_cast<ProducerAcquireOp>(op))
      acquired = acquire.getPipeline();
    auto copy = dyn_cast<CopyOp>(op);
    if (copy && buffers.contains(getBuffer(copy.getTarget()))) {
      lateRoots.insert(copy);
      pipelines.insert(acquired);
    }
  }
  for (Operation &op : *loop.getBody())
    if (isa<ProducerAcquireOp, ProducerCommitOp, ConsumerWaitOp,
            ConsumerReleaseOp>(op) &&
        pipelines.contains(op.getOperand(0)))
      lateRoots.insert(&op);
}

/// All that has effects and is no part of the late dots, and what those and the
/// late dots' register operands need.
void TwoStages::findFirstStage() {
  SmallVector<Operation *> worklist;
  auto add = [&](Operation *op) {
    if (!lateRoots.contains(op) && firstStage.insert(op))
      worklist.push_back(op);
  };
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isMemoryEffectFree(&op))
      add(&op);
  for (DotOp dot : late)
    for (Value operand : {Value(dot.getA()), Value(dot.getAcc())})
      if (Operation *def = operand.getDefiningOp())
        if (loop->isProperAncestor(def))
          add(inBody(def));
  while (!worklist.empty())
    for (Operation *needed : getNeeded(worklist.pop_back_val()))
      add(needed);
}

/// Sums of what stage 0 computes are a part of it: the loop would carry whole
/// tiles to add them up in stage 1.
void TwoStages::addReductions() {
  llvm::SetVector<Operation *> reductions;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (firstStage.contains(&op) || lateRoots.contains(&op) ||
        !isMemoryEffectFree(&op) ||
        !(isa<tile::ReduceOp>(op) || usesResultOf(&op, reductions)))
      continue;
    if (!llvm::all_of(getNeeded(&op), [&](Operation *needed) {
          return firstStage.contains(needed);
        }))
      continue;
    firstStage.insert(&op);
    reductions.insert(&op);
  }
}

void TwoStages::findAfterLate() {
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!firstStage.contains(&op))
      continue;
    bool isAfter = false;
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands()) {
        auto argument = dyn_cast<BlockArgument>(operand);
        if (argument && argument.getOwner() == loop.getBody() &&
            argument != loop.getInductionVar()) {
          Operation *def =
              loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp();
          isAfter |= def && lateRoots.contains(def);
        }
        Operation *def = operand.getDefiningOp();
        isAfter |= def && loop->isProperAncestor(def) &&
                   afterLate.contains(inBody(def));
      }
    });
    if (isAfter)
      afterLate.insert(&op);
  }
}

LogicalResult TwoStages::analyze() {
  for (auto dot : loop.getBody()->getOps<DotOp>()) {
    if (!dot.getAsync() || !dot.getResult().hasOneUse())
      return failure();
    DotWaitOp wait = getWait(dot);
    if (!wait || wait->getBlock() != loop.getBody())
      return failure();
    (isAhead(dot, plan) ? early : late).push_back(dot);
  }
  if (early.empty() || late.empty())
    return failure();
  findLateRoots();
  findFirstStage();
  addReductions();
  findAfterLate();
  if (llvm::any_of(firstStage,
                   [&](Operation *op) { return usesResultOf(op, lateRoots); }))
    return failure();
  // A late dot whose operand stage 0 would need at once has nothing to hide
  // under.
  return failure(
      llvm::any_of(early, [&](DotOp dot) { return afterLate.contains(dot); }));
}

StagedOrder TwoStages::getOrder() {
  Operation *earlyWait = getWait(early.back()), *lateWait = nullptr;
  for (DotOp dot : early)
    if (getWait(dot)->isBeforeInBlock(earlyWait))
      earlyWait = getWait(dot);
  for (DotOp dot : late)
    if (!lateWait || getWait(dot)->isBeforeInBlock(lateWait))
      lateWait = getWait(dot);
  StagedOrder order;
  auto append = [&](unsigned stage, function_ref<bool(Operation *)> belongs) {
    for (Operation &op : loop.getBody()->without_terminator())
      if (firstStage.contains(&op) == (stage == 0) && belongs(&op))
        order.emplace_back(&op, stage);
  };
  // The next scores are issued, then the last product, and softmax runs under
  // it. What came of the last product is rescaled after its wait.
  append(0, [&](Operation *op) { return op->isBeforeInBlock(earlyWait); });
  append(1, [&](Operation *op) { return op->isBeforeInBlock(lateWait); });
  append(0, [&](Operation *op) {
    return !op->isBeforeInBlock(earlyWait) && !afterLate.contains(op);
  });
  append(1, [&](Operation *op) { return !op->isBeforeInBlock(lateWait); });
  append(0, [&](Operation *op) {
    return !op->isBeforeInBlock(earlyWait) && afterLate.contains(op);
  });
  return order;
}

SmallVector<Operation *> TwoStages::getRescales() {
  SmallVector<Operation *> rescales;
  auto add = [&](Value value) {
    Operation *def = value.getDefiningOp();
    if (def && afterLate.contains(def) && !llvm::is_contained(rescales, def))
      rescales.push_back(def);
  };
  for (DotOp dot : late) {
    auto concat = dot.getAcc().getDefiningOp<ConcatColumnsOp>();
    if (!concat)
      add(dot.getAcc());
    else
      llvm::for_each(concat.getParts(), add);
  }
  return rescales;
}

//===----------------------------------------------------------------------===//
// Transformation
//===----------------------------------------------------------------------===//

/// Issue and wait instead of a synchronous dot.
static DotWaitOp makeAsync(DotOp dot) {
  OpBuilder b(dot);
  auto issued =
      DotOp::create(b, dot.getLoc(), dot.getA(), dot.getB(), dot.getAcc(),
                    dot.getOnes(), dot.getTransposeA(), dot.getTransposeB(),
                    /*async=*/true, dot.getNameAttr());
  auto wait = DotWaitOp::create(b, dot.getLoc(), issued.getResult(),
                                ValueRange(), ValueRange());
  dot.getResult().replaceAllUsesWith(wait.getResult());
  dot.erase();
  return wait;
}

/// Undoes the above, where nothing moved in between.
static void makeSync(DotWaitOp wait) {
  auto issued = wait.getPending().getDefiningOp<DotOp>();
  OpBuilder b(issued);
  auto dot = DotOp::create(b, issued.getLoc(), issued.getA(), issued.getB(),
                           issued.getAcc(), issued.getOnes(),
                           issued.getTransposeA(), issued.getTransposeB(),
                           /*async=*/false, issued.getNameAttr());
  wait.getResult().replaceAllUsesWith(dot.getResult());
  wait.erase();
  issued.erase();
}

static bool isZeroSplat(Value value) {
  return matchPattern(value, m_AnyZeroFloat());
}

/// The first iteration has nothing to rescale: a zero accumulator stays zero,
/// also one put together of zeros.
static void foldFirstRescale(Operation *op) {
  llvm::SetVector<Operation *> concats;
  for (Value result : op->getResults()) {
    for (Operation *user : result.getUsers())
      if (isa<ConcatColumnsOp>(user))
        concats.insert(user);
    for (Value operand : op->getOperands())
      if (operand.getType() == result.getType() && isZeroSplat(operand)) {
        result.replaceAllUsesWith(operand);
        break;
      }
  }
  OperationFolder folder(op->getContext());
  for (Operation *concat : concats)
    (void)folder.tryToFold(concat);
}

static LogicalResult overlap(scf::ForOp loop, plan::KernelAttr plan) {
  // Dots in memory form are waited for where somebody reads the memory: only
  // their issue moves.
  if (SmallVector<DotIntoOp> dots = getAhead<DotIntoOp>(loop, plan);
      !dots.empty())
    return issueAhead(loop, dots);
  SmallVector<DotOp> dots(loop.getBody()->getOps<DotOp>());
  SmallVector<DotWaitOp> waits;
  for (DotOp dot : dots)
    if (!dot.getAsync())
      waits.push_back(makeAsync(dot));
  TwoStages stages(loop, plan);
  auto leaveAlone = [&] {
    for (DotWaitOp wait : waits)
      makeSync(wait);
    return failure();
  };
  if (failed(stages.analyze()))
    return leaveAlone();
  SmallVector<Operation *> rescales = stages.getRescales(), firstRescales;
  FailureOr<scf::ForOp> pipelined = pipelineInTwoStages(
      loop, stages.getOrder(), [&](Operation *op, Operation *first) {
        if (llvm::is_contained(rescales, op))
          firstRescales.push_back(first);
      });
  if (failed(pipelined))
    return leaveAlone();
  for (Operation *op : firstRescales)
    foldFirstRescale(op);
  return success();
}

void OverlapDotsPass::runOnKernel() {
  tile::AbiOp abi = tile::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  plan::KernelAttr plan = abi.getPlan();
  SmallVector<scf::ForOp> loops, mayBeEmpty;
  getOperation().walk([&](scf::ForOp loop) {
    if (!getAhead<DotOp>(loop, plan).empty() ||
        !getAhead<DotIntoOp>(loop, plan).empty())
      (runsOnce(loop) ? loops : mayBeEmpty).push_back(loop);
  });
  SmallVector<std::pair<Operation *, StringRef>> missed;
  for (scf::ForOp loop : mayBeEmpty)
    missed.push_back({loop, "the loop may run no times"});
  bool isOverlapped = false;
  for (scf::ForOp loop : loops) {
    if (failed(overlap(loop, plan))) {
      missed.push_back({loop, "no dot of the loop can run under what is "
                              "computed from the next block's"});
      continue;
    }
    isOverlapped = true;
    ++numOverlapped;
  }
  if (!plan.hasDot([](const plan::DotPlan &dot) { return dot.ahead; }) ||
      isOverlapped)
    return;
  if (missed.empty())
    missed.push_back({getOperation(), "no loop has a dot to issue ahead"});
  for (auto [op, reason] : missed)
    if (failed(reportMissed(op, abi, "overlap", reason)))
      return signalPassFailure();
  abi.setPlanAttr(plan.changeDots([](plan::DotPlan &dot) { dot.ahead = 0; }));
}
