//===- ForwardPlan.cpp - Plan of a forward kernel -------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forward/ForwardPlan.h"

#include "Forward/ForwardProblem.h"

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Schedule/ScheduleRemarks.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace fovea;

static FailureOr<plan::KernelAttr> choosePlan(attn::ForwardOp op,
                                              const KernelOptions &options,
                                              const ScheduleProblem &problem) {
  auto emitError = [&] { return op.emitError(); };
  StringRef kernel = getFunctionName(op);
  if (options.plans && options.plans->get(kernel))
    return options.plans->getForward(kernel, problem, emitError);
  FailureOr<plan::KernelAttr> chosen =
      chooseSchedule(op.getContext(), problem, options.scheduleOverrides,
                     options.scheduleTable, emitError);
  if (failed(chosen))
    return failure();
  if (options.explainSchedule)
    // The op's own emitRemark would attach the op to each remark.
    emitRemark(op.getLoc())
        << "schedule " << ScheduleFields::from(*chosen).print()
        << " for the problem "
        << llvm::formatv("{0}", llvm::json::Value(describeProblem(problem)))
               .str();
  remarkSchedule({op, kernel, options.scheduleOverrides, options.scheduleTable},
                 problem, *chosen);
  return chosen;
}

/// The reason why kv_classify is not used.
static StringRef explainUnclassified(attn::ForwardOp op, PackedHeads heads) {
  if (op.hasBlocks())
    return "the op has block-sparse lists";
  if (heads)
    return "with few queries a block costs less than its runtime predicate";
  return "the mask hides no block within its range of keys";
}

/// Drops fields of the plan that do not apply to the op.
static LogicalResult dropUnusedFields(attn::ForwardOp op, bool hasBoxes,
                                      PackedHeads heads,
                                      plan::KernelAttr &plan) {
  auto report = [&](StringRef field, StringRef reason) {
    return reportMissed(op, getFunctionName(op), plan.isUserSpecified(field),
                        field, reason);
  };
  if (plan.getStream("score").isStaged && !hasBoxes) {
    if (failed(report("score_stages", "score_mod reads no captured tensor "
                                      "block by block")))
      return failure();
    plan = plan.withoutStream("score");
  }
  if (!plan->classify || (canClassify(op, heads) && !op.hasBlocks()))
    return success();
  if (failed(report("classify", explainUnclassified(op, heads))))
    return failure();
  plan = plan.change([](plan::KernelPlan &kernel) { kernel.classify = false; });
  return success();
}

static bool partsRows(attn::ForwardOp op, const KernelOptions &options,
                      plan::KernelAttr plan, PackedHeads heads) {
  return options.heldRows && !computesBoundsFromCaptures(op) &&
         plan.hasRoles() && !heads &&
         plan->warps * plan->cluster > plan.getUnit().getGroupWarps();
}

/// Fails if values that are columns of K are not lowered.
static LogicalResult checkValueColumns(attn::ForwardOp op,
                                       plan::KernelAttr plan) {
  std::optional<ArrayRef<int64_t>> columns = op.getValueColumns();
  if (!columns)
    return success();
  if (int64_t first = columns->front())
    return op.emitError("'value_columns' from ")
           << first << " on are not lowered to kernels: expected columns from "
           << "0 on";
  if (plan.getUnit().accumulatesInMemory())
    return op.emitError("'value_columns' is not lowered to kernels of ")
           << plan.getUnit();
  return success();
}

/// Fails if the row sums that multiply V's mean belong to another role than the
/// output.
static LogicalResult checkMean(attn::ForwardOp op, plan::KernelAttr plan) {
  if (!op.getScaleOperand("v_mean") || plan->rowTiles == 0)
    return success();
  return op.emitError("scale 'v_mean' is not lowered to kernels whose "
                      "accumulators are in tensor memory: expected "
                      "'row_tiles' 0, found ")
         << plan->rowTiles;
}

/// Fails if the plan splits keys that are not one range per query tile.
static LogicalResult checkShares(attn::ForwardOp op, plan::KernelAttr plan) {
  if (plan->work != plan::WorkSchedule::Shares) {
    if (plan->split != 0)
      return op.emitError("'split' needs 'work' shares, found ")
             << plan::stringifyWorkSchedule(plan->work);
    return success();
  }
  if (op.getInvariant() && plan->split == 0)
    return op.emitError("with 'invariant', 'work' shares needs 'split', which "
                        "makes pieces independent of other sequences");
  auto refuse = [&](StringRef reason) {
    return op.emitError("'work' shares is not supported with ") << reason;
  };
  if (op.hasBlocks())
    return refuse("block-sparse lists");
  if (plan->longestFirst)
    return refuse("'longest_first'");
  if (plan->classify)
    return refuse("'classify'");
  if (plan->chain != 0)
    return refuse("'chain'");
  if (plan->cluster != 1)
    return refuse("clusters");
  if (plan.getUnit().accumulatesInMemory())
    return refuse("accumulators in tensor memory");
  return success();
}

/// Adapts a planner's plan to values that are columns of K: the memory of V's
/// stages becomes stages of K, which are in use until the product with P.
static LogicalResult adaptToValueColumns(attn::ForwardOp op,
                                         const ScheduleProblem &problem,
                                         plan::KernelAttr &plan) {
  if (!op.getValueColumns())
    return success();
  int64_t stages = plan.getStream(StringRef("k")).stages +
                   plan->stages * problem.valueHeadDim / problem.headDim;
  auto report = [&](StringRef field, StringRef reason) {
    return reportMissed(op, getFunctionName(op), plan.isUserSpecified(field),
                        field, reason);
  };
  if (plan->chain != 0 &&
      failed(report("chain", "the last block of K is in use until the product "
                             "of the values")))
    return failure();
  if (stages == 1 && plan.isStaged()) {
    if (failed(report("overlap", "K has one stage, which is in use until the "
                                 "product of the values")))
      return failure();
    plan = plan.withoutStages();
  }
  plan = plan.withoutStream("k").change([&](plan::KernelPlan &kernel) {
    kernel.stages = stages;
    kernel.chain = 0;
  });
  return success();
}

FailureOr<ForwardPlan> fovea::planForward(attn::ForwardOp op,
                                          const KernelOptions &options) {
  if (failed(checkTensors(options, op)))
    return failure();
  StagedBias boxes = findScoreBoxes(op);
  // Staged tiles of captured tensors run along queries and keys.
  PackedHeads heads =
      boxes.captures.empty() ? findPackedHeads(op) : PackedHeads();
  ScheduleProblem problem = makeForwardProblem(op, options, boxes, heads);
  FailureOr<plan::KernelAttr> chosen = choosePlan(op, options, problem);
  if (failed(chosen) ||
      failed(dropUnusedFields(op, !boxes.captures.empty(), heads, *chosen)) ||
      failed(checkValueColumns(op, *chosen)) ||
      failed(checkMean(op, *chosen)) || failed(checkShares(op, *chosen)))
    return failure();
  bool isGiven = options.plans && options.plans->get(getFunctionName(op));
  if (!isGiven && failed(adaptToValueColumns(op, problem, *chosen)))
    return failure();

  ForwardPlan plan;
  plan.kernel = chosen->change(
      [&](plan::KernelPlan &kernel) { kernel.tf32 = op.getTf32(); });
  plan.rows = chosen->getClusterRows();
  plan.columns = (*chosen)->tileN;
  plan.headDim = problem.headDim;
  plan.valueHeadDim = problem.valueHeadDim;
  plan.packedHeads = heads;
  bool stagesScores = chosen->getStream("score").isStaged;
  if (stagesScores)
    plan.stagedCaptures = boxes.captures;
  Region &scoreMod = op.getScoreMod();
  plan.sharesBoxes =
      stagesScores && !scoreMod.empty() && scoreMod.getArgument(1).use_empty();
  plan::WorkSchedule work = (*chosen)->work;
  plan.hasSections = picksBlocks(op) && work != plan::WorkSchedule::Single;
  plan.hasFinalTiles = options.finalTiles && plan.hasSections &&
                       work == plan::WorkSchedule::Dynamic;
  // Loop-carried iterator state cannot be prefetched, as copies without roles
  // do.
  plan.selectsBlocks = (*chosen)->classify && chosen->hasRoles();
  plan.partsRows = partsRows(op, options, *chosen, heads);
  int64_t keyBits = plan.headDim * problem.bits.key;
  if (op.getValue())
    keyBits += plan.valueHeadDim * problem.bits.value;
  plan.keyBytes = keyBits / 8;
  return plan;
}
