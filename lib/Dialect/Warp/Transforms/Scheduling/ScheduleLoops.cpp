//===- ScheduleLoops.cpp - Schedule loops by the plan's order -------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules loops by the plan's order: LoopSteps finds the ops that the steps
// name, LoopSchedule computes a stage and a position for each op, and the
// upstream loop pipeliner expands the loop.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/AsyncDots.h"
#include "Scheduling/LoopSchedule.h"
#include "Scheduling/LoopSteps.h"
#include "Scheduling/PendingSums.h"
#include "Scheduling/PipelineLoop.h"
#include "Scheduling/PrefetchMma.h"
#include "Scheduling/Rematerialize.h"

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/FoldUtils.h"
#include "llvm/ADT/SetVector.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPSCHEDULELOOPS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct ScheduleLoopsPass
    : warp::impl::WarpScheduleLoopsBase<ScheduleLoopsPass> {
  void runOnKernel() override;
};
} // namespace

/// Ops that stay unchanged, and why.
using MissedLoops = SmallVector<std::pair<Operation *, StringRef>>;

//===----------------------------------------------------------------------===//
// First iteration
//===----------------------------------------------------------------------===//

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

/// The ops that compute accumulators of dots in the loop, or the parts of them.
static llvm::SetVector<Operation *> findRescales(scf::ForOp loop) {
  llvm::SetVector<Operation *> rescales;
  auto add = [&](Value value) {
    Operation *def = value.getDefiningOp();
    if (def && def->getBlock() == loop.getBody())
      rescales.insert(def);
  };
  for (auto dot : loop.getBody()->getOps<DotOp>()) {
    auto concat = dot.getAcc().getDefiningOp<ConcatColumnsOp>();
    if (concat)
      llvm::for_each(concat.getParts(), add);
    else
      add(dot.getAcc());
  }
  return rescales;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

static LogicalResult expand(scf::ForOp loop, const LoopSchedule &schedule) {
  llvm::SetVector<Operation *> rescales = findRescales(loop);
  SmallVector<Operation *> first;
  FailureOr<scf::ForOp> pipelined = pipelineInTwoStages(
      loop, schedule.getOrder(), [&](Operation *op, Operation *clone) {
        if (rescales.contains(op))
          first.push_back(clone);
      });
  if (failed(pipelined))
    return failure();
  llvm::for_each(first, foldFirstRescale);
  return success();
}

/// True if ops of the loop have different stages. Parts of dots alone do not
/// make it worth to pipeline a loop.
static bool isStaged(ArrayRef<LoopStep> steps) {
  SmallVector<int64_t> stages;
  for (const LoopStep &step : steps)
    if (step.part == plan::StepPart::Op || step.part == plan::StepPart::Read)
      stages.push_back(step.stage);
  return !stages.empty() && !llvm::all_equal(stages);
}

static void reorder(scf::ForOp loop, const LoopSchedule &schedule) {
  for (auto [op, stage] : schedule.getOrder())
    op->moveBefore(loop.getBody()->getTerminator());
}

/// The dots of early steps that write tensor memory.
static SmallVector<DotIntoOp> findEarlyDotsInto(ArrayRef<LoopStep> steps) {
  SmallVector<DotIntoOp> dots;
  for (const LoopStep &step : steps)
    for (Operation *op : step.ops)
      if (auto dot = dyn_cast<DotIntoOp>(op); dot && step.stage > 0)
        dots.push_back(dot);
  llvm::sort(dots,
             [](DotIntoOp a, DotIntoOp b) { return a->isBeforeInBlock(b); });
  return dots;
}

/// Schedules a loop. Fails after a diagnostic if the order is illegal.
static LogicalResult scheduleLoop(scf::ForOp loop, plan::KernelAttr plan) {
  makeListedDotsAsync(loop, plan);
  SmallVector<LoopStep> steps = findSteps(loop, plan);
  OrderError error;
  auto compute = [&](LoopSchedule &schedule) -> LogicalResult {
    if (succeeded(schedule.compute(error)))
      return success();
    InFlightDiagnostic diag = error.op->emitError() << error.text;
    diag.attachNote(error.other->getLoc()) << "the other op is here";
    return diag;
  };
  LoopSchedule stages(loop, steps);
  if (failed(compute(stages)))
    return failure();
  if (!isStaged(steps)) {
    reorder(loop, stages);
    return success();
  }
  rematerialize(loop, [&](Operation *op) { return stages.getStage(op); });
  // The clones are ops of their own.
  LoopSchedule schedule(loop, steps);
  if (failed(compute(schedule)))
    return failure();
  if (failed(expand(loop, schedule)))
    return loop.emitError("this loop can't be pipelined");
  return success();
}

/// Lets loops carry the sums of the dots X whose step "X.read" the order lists.
static LogicalResult carryPendingSums(gpu::GPUFuncOp kernel,
                                      plan::KernelAttr plan) {
  SmallVector<DotOp> dots;
  kernel.walk([&](DotOp dot) {
    if (isListed(plan, dot, plan::StepPart::Read))
      dots.push_back(dot);
  });
  return success(llvm::all_of(
      dots, [](DotOp dot) { return succeeded(carryPendingSum(dot)); }));
}

/// True if the loop contains dots that are asynchronous already: their waits
/// are not steps.
static bool hasAsyncDots(scf::ForOp loop, plan::KernelAttr plan) {
  return llvm::any_of(loop.getBody()->getOps<DotOp>(), [&](DotOp dot) {
    return dot.getAsync() && !isListed(plan, dot, plan::StepPart::Read);
  });
}

/// The loops that contain steps. A loop with steps of different stages must run
/// at least once; the reasons for others are added to `missed`.
static SmallVector<scf::ForOp>
findLoops(gpu::GPUFuncOp kernel, plan::KernelAttr plan, MissedLoops &missed) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    SmallVector<LoopStep> steps = findSteps(loop, plan);
    bool isEmpty = llvm::all_of(
        steps, [](const LoopStep &step) { return step.ops.empty(); });
    if (isEmpty || plan.isStaged() !=
                       (isStaged(steps) || !findEarlyDotsInto(steps).empty()))
      return;
    if (hasAsyncDots(loop, plan))
      missed.push_back({loop, "the loop contains asynchronous dots"});
    else if (isStaged(steps) && !runsOnce(loop))
      missed.push_back({loop, "the loop may run zero iterations"});
    else
      loops.push_back(loop);
  });
  return loops;
}

/// Reports the loops that stay unchanged, and removes the stages from the plan.
static LogicalResult report(launch::AbiOp abi, const MissedLoops &missed) {
  plan::KernelAttr plan = abi.getPlan();
  bool carries = llvm::any_of(plan.getOrder(), [](plan::StepAttr step) {
    return step.getPart() == plan::StepPart::Read;
  });
  for (auto [op, reason] : missed)
    if (failed(
            reportMissed(op, abi, carries ? "in_flight" : "overlap", reason)))
      return failure();
  abi.setPlanAttr(plan.withoutStages());
  return success();
}

void ScheduleLoopsPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  plan::KernelAttr plan = abi.getPlan();
  // Dots without listed waits are synchronous: the program's order stays.
  if (!plan.isAsynchronous())
    return;
  MissedLoops missed;
  if (!plan.hasRoles() || !plan.getUnit().isAsynchronous()) {
    missed.push_back({getOperation(), "the kernel has no roles, or its MMA "
                                      "unit is synchronous"});
    if (failed(report(abi, missed)))
      signalPassFailure();
    return;
  }
  if (failed(carryPendingSums(getOperation(), plan)))
    return signalPassFailure();
  SmallVector<scf::ForOp> loops = findLoops(getOperation(), plan, missed);
  int64_t count = 0;
  for (scf::ForOp loop : loops) {
    SmallVector<LoopStep> steps = findSteps(loop, plan);
    // The readers of tensor memory wait for a dot, so only its issue moves.
    SmallVector<DotIntoOp> dots = findEarlyDotsInto(steps);
    if (dots.empty() && failed(scheduleLoop(loop, plan)))
      return signalPassFailure();
    if (!dots.empty() && failed(prefetchDots(loop, dots)))
      missed.push_back({loop, "no dot of the loop can be issued early"});
    else
      count += isStaged(steps) || !dots.empty();
  }
  numLoops += count;
  if (count != 0)
    return reportDone(getOperation(), abi, "overlap", "Loops", count);
  if (plan.isStaged() && missed.empty())
    missed.push_back({getOperation(), "no loop has steps of different stages"});
  if (!missed.empty() && failed(report(abi, missed)))
    signalPassFailure();
}
