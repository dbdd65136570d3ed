//===- BackwardPlan.cpp - Plan of a backward pass -------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backward/BackwardPlan.h"

#include "CaptureGrads/CaptureGrads.h"
#include "CaptureGrads/ContributionShares.h"
#include "Regions/RelativePositionValues.h"

#include "fovea/Schedule/BackwardSchedule.h"
#include "fovea/Schedule/ScheduleRemarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

/// Reports ops that cannot be lowered.
static LogicalResult checkLowered(const KernelOptions &options,
                                  attn::BackwardOp op) {
  if (failed(checkTensors(options, op)) || failed(checkSums(op)))
    return failure();
  // Both operands of an MMA have the same type.
  Type values = op.getValueType().getElementType(),
       gradients = cast<RankedTensorType>(op.getOutputGradient().getType())
                       .getElementType();
  if (values != gradients)
    return op.emitError("output gradient has element type ")
           << gradients << ", expected v's " << values << ": round it to "
           << cast<RankedTensorType>(op.getOutputGradient().getType())
                  .clone(values)
           << " first";
  if (!op.getScoreMod().empty() && op.getScoreGradient().empty())
    return op.emitError("score_mod's derivative is not known: run "
                        "attn-differentiate first");
  return success();
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// True if the derivative with respect to the score depends on the score.
static bool readsScores(attn::BackwardOp op) {
  Region &gradient = op.getScoreGradient();
  return !gradient.empty() && !gradient.getArgument(0).use_empty();
}

/// Values that depend on the relative position alone, are expensive to compute,
/// and have a user that also depends on something else.
static SmallVector<Value> findDiagonals(Region &region,
                                        const RegionDependences &dependences) {
  llvm::SmallDenseSet<Value> dear;
  SmallVector<Value> found;
  for (Operation &op : region.front().without_terminator()) {
    if (op.getNumResults() != 1 || !dependences.isByDistance(op.getResult(0)))
      continue;
    Value result = op.getResult(0);
    if (!isExpensiveRelative(&op, dependences, /*rowsAreKeys=*/true) &&
        llvm::none_of(op.getOperands(),
                      [&](Value operand) { return dear.contains(operand); }))
      continue;
    dear.insert(result);
    bool leaves = llvm::any_of(op.getUsers(), [&](Operation *user) {
      return user->getNumResults() != 1 ||
             !dependences.isByDistance(user->getResult(0));
    });
    if (leaves && isa<FloatType>(result.getType()))
      found.push_back(result);
  }
  return found;
}

/// Describes the computation per pair in score_mod and its derivative, beyond
/// adding values per row, per column and per relative position.
static void describeModifiers(attn::BackwardOp op, BackwardProblem &problem) {
  unsigned captures = op.getCaptures().size();
  problem.readsScores = readsScores(op);
  problem.modifies = problem.readsScores;
  if (Region &region = op.getScoreMod(); !region.empty()) {
    problem.hasScoreMod = true;
    RegionDependences dependences(region, captures);
    SmallVector<Value> diagonals = findDiagonals(region, dependences);
    problem.diagonals += diagonals.size();
    problem.modifies |= !dependences.isSumOfSides(
        region.front().getTerminator()->getOperand(0), diagonals);
  }
  if (Region &region = op.getScoreGradient(); !region.empty())
    problem.diagonals +=
        findDiagonals(region, RegionDependences(region, captures)).size();
  if (op.getDropoutAttr())
    problem.hasDropout = problem.modifies = problem.readsScores = true;
}

/// True if key tiles accumulate values other than dS and dS times one per-pair
/// factor.
static bool hasLongShares(attn::BackwardOp op) {
  return llvm::any_of(getKeyShares(op), [](const Share &share) {
    auto product = share.value.getDefiningOp<arith::MulFOp>();
    return share.value.getDefiningOp() &&
           !(product && isa<BlockArgument>(product.getLhs()));
  });
}

bool fovea::mayHideKeys(attn::BackwardOp op) {
  return !op.getMaskMod().empty() || op.hasBlocks();
}

/// The planner's description of the op.
static BackwardProblem makeProblem(attn::BackwardOp op,
                                   const KernelOptions &options) {
  BackwardProblem problem{options.target,
                          int64_t(op.getQueryType().getElementTypeBitWidth()),
                          options.padHeadDim(op.getQueryType()),
                          options.padHeadDim(op.getValueType())};
  problem.query = bool(op.getQueryGradient());
  problem.key = bool(op.getKeyGradient());
  problem.value = bool(op.getValueGradient());
  problem.sums = needsPairSums(op);
  if (problem.sums && canTilesFindSums(op)) {
    problem.keyTilesComputeSums = true;
    problem.sumsByKey = !getContributions(op, PairPlaces::Keys).empty();
    problem.sumsByRelativePosition = !getReducedContributions(op).empty();
    problem.relativePositionShares = getRelativeShares(op).size();
  }
  describeModifiers(op, problem);
  // With the score blocks of narrow heads such values would be spilled.
  constexpr int64_t kNarrowColumns = 128;
  if (problem.keyTilesComputeSums && problem.getColumns() <= kNarrowColumns)
    problem.modifies |= hasLongShares(op);
  problem.isDeterministic = op.getDeterministic();
  problem.isPacked = op.getSequence().getPlaces().packsKeys();
  problem.isUneven = mayHideKeys(op) || problem.isPacked;
  problem.classifies = !op.getKvClassify().empty();
  if (op.hasBlocks()) {
    problem.queryBlock = op.getQueryBlock();
    problem.keyBlock = op.getKeyBlock();
  }
  return problem;
}

/// The form of the pass and the plans of its kernels, from the target's
/// planners.
static FailureOr<BackwardPlans> choosePlans(attn::BackwardOp op,
                                            const KernelOptions &options,
                                            const BackwardProblem &problem) {
  auto emitError = [&] { return op.emitError(); };
  StringRef kernel = getFunctionName(op);
  if (options.plans && options.plans->get(kernel))
    return options.plans->getBackward(kernel, problem, emitError);
  FailureOr<BackwardPlans> chosen = chooseBackwardPlans(
      op.getContext(), problem, options.scheduleOverrides, emitError);
  if (failed(chosen))
    return failure();
  remarkBackwardPlans({op, kernel, options.scheduleOverrides}, problem,
                      *chosen);
  return chosen;
}

//===----------------------------------------------------------------------===//
// Order of heads and blocks
//===----------------------------------------------------------------------===//

/// True if the heads of a group are processed block by block. Heads are
/// processed one after the other if each tile or head has its own blocks, or if
/// all tiles process all blocks, since tiles then stay together anyway. The
/// same holds for ordered accumulation if groups may have one head or if blocks
/// are long: tiles that start together wait once for each earlier tile, which
/// is too much for few iterations.
static bool visitsGroupByBlocks(attn::BackwardOp op, plan::KernelAttr plan) {
  constexpr unsigned kHeadArgument = 1;
  constexpr int64_t kLongBlock = 128;
  int64_t heads = op.getQueryType().getDimSize(op.getHeadDim()),
          keyHeads = op.getKeyType().getDimSize(op.getHeadDim());
  bool mayBeGrouped = heads != keyHeads || ShapedType::isDynamic(heads);
  if (!mayBeGrouped || op.hasBlocks() || plan->classify)
    return false;
  bool mayBeAlone =
      ShapedType::isDynamic(heads) || ShapedType::isDynamic(keyHeads);
  if (op.getDeterministic() && (mayBeAlone || plan->tileN >= kLongBlock))
    return false;
  Region &bounds = op.getQueryBounds();
  return !bounds.empty() && bounds.getArgument(kHeadArgument).use_empty();
}

/// True if the query bounds are the same for all keys.
static bool boundsAreOfAllKeys(attn::BackwardOp op) {
  constexpr unsigned kFirstKey = 2, kLastKey = 3;
  Region &bounds = op.getQueryBounds();
  return bounds.empty() || (bounds.getArgument(kFirstKey).use_empty() &&
                            bounds.getArgument(kLastKey).use_empty());
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {
/// Lists the kernels of one form of the pass.
class PartFinder {
public:
  PartFinder(attn::BackwardOp op, const BackwardPlans &plans,
             const BackwardProblem &problem, bool hasSlotTable)
      : op(op), plans(plans), problem(problem), hasSlotTable(hasSlotTable) {}

  /// In launch order.
  SmallVector<BackwardKernelPlan> find();

private:
  BackwardKernelPlan make(BackwardKernelPlan::Kind kind, StringRef suffix,
                          plan::KernelAttr plan);
  BackwardKernelPlan makeKeys(StringRef suffix, plan::KernelAttr plan,
                              bool findsKey, bool findsValue);
  void addKeys(SmallVectorImpl<BackwardKernelPlan> &found);
  BackwardKernelPlan makeSlotCounts();
  bool visitsGroups() const;
  /// With dQ accumulated in memory, and with dQ computed over query tiles.
  SmallVector<BackwardKernelPlan> findOfSums();
  SmallVector<BackwardKernelPlan> findOfTiles();

  attn::BackwardOp op;
  const BackwardPlans &plans;
  const BackwardProblem &problem;
  bool hasSlotTable;
};
} // namespace

BackwardKernelPlan PartFinder::make(BackwardKernelPlan::Kind kind,
                                    StringRef suffix, plan::KernelAttr plan) {
  BackwardKernelPlan part{kind, suffix, plan};
  part.headDim = problem.headDim;
  part.valueHeadDim = problem.valueHeadDim;
  return part;
}

BackwardKernelPlan PartFinder::makeKeys(StringRef suffix, plan::KernelAttr plan,
                                        bool findsKey, bool findsValue) {
  BackwardKernelPlan keys = make(BackwardKernelPlan::Keys, suffix, plan);
  keys.key = findsKey;
  keys.value = findsValue;
  keys.addsQuery = plans.accumulatesDq() && findsKey;
  keys.dqAccum = plans.getDqAccum();
  keys.sums = plans.keys->pairSums;
  keys.visitsGroups = visitsGroups();
  keys.followsDiagonal = hasSlotTable && !keys.visitsGroups;
  keys.beginsApart =
      keys.followsDiagonal && !(plans.keys->classify && boundsAreOfAllKeys(op));
  return keys;
}

/// Sums per key cover one head at a time.
bool PartFinder::visitsGroups() const {
  return !(plans.keys->pairSums && problem.sumsByKey) &&
         visitsGroupByBlocks(op, plans.keys);
}

BackwardKernelPlan PartFinder::makeSlotCounts() {
  BackwardKernelPlan slots =
      make(BackwardKernelPlan::SlotCounts, "turns", plans.keys);
  slots.visitsGroups = visitsGroups();
  return slots;
}

/// Adds one kernel for dK and dV, or one for each.
void PartFinder::addKeys(SmallVectorImpl<BackwardKernelPlan> &found) {
  bool isShared = problem.key && problem.value && !plans.values;
  if (problem.value && !isShared)
    found.push_back(makeKeys("values", plans.values ? plans.values : plans.keys,
                             /*findsKey=*/false, /*findsValue=*/true));
  if (problem.key)
    found.push_back(makeKeys("keys", plans.keys, /*findsKey=*/true, isShared));
}

SmallVector<BackwardKernelPlan> PartFinder::findOfSums() {
  SmallVector<BackwardKernelPlan> found;
  // The slot counts need only the kernels before the preprocess kernel, which
  // then runs concurrently with them.
  if (hasSlotTable)
    found.push_back(makeSlotCounts());
  BackwardKernelPlan delta =
      make(BackwardKernelPlan::Delta, "delta", plans.queries);
  delta.addsQuery = delta.storesDelta = true;
  delta.dqAccum = plans.getDqAccum();
  delta.sinks = bool(op.getSinksGradient());
  found.push_back(delta);
  addKeys(found);
  BackwardKernelPlan round =
      make(BackwardKernelPlan::Round, "queries", plans.queries);
  round.scale = bool(op.getScaleGradient());
  round.dqAccum = plans.getDqAccum();
  found.push_back(round);
  if (problem.sums && !plans.keys->pairSums) {
    BackwardKernelPlan sums = make(BackwardKernelPlan::Queries, "sums",
                                   plans.sums ? plans.sums : plans.queries);
    sums.sums = true;
    found.push_back(sums);
  }
  return found;
}

SmallVector<BackwardKernelPlan> PartFinder::findOfTiles() {
  SmallVector<BackwardKernelPlan> found;
  bool hasSinks = bool(op.getSinksGradient());
  // The queries kernel computes delta, if there is one.
  if (problem.query || problem.sums) {
    BackwardKernelPlan queries =
        make(BackwardKernelPlan::Queries, "queries",
             problem.sums && plans.sums ? plans.sums : plans.queries);
    queries.query = problem.query;
    queries.scale = problem.query && op.getScaleGradient();
    queries.sums = problem.sums;
    queries.sinks = hasSinks;
    queries.storesDelta = problem.key;
    found.push_back(queries);
  } else if (problem.key || hasSinks) {
    BackwardKernelPlan delta =
        make(BackwardKernelPlan::Delta, "delta", plans.queries);
    delta.storesDelta = problem.key;
    delta.sinks = hasSinks;
    found.push_back(delta);
  }
  addKeys(found);
  return found;
}

SmallVector<BackwardKernelPlan> PartFinder::find() {
  return plans.accumulatesDq() ? findOfSums() : findOfTiles();
}

static unsigned findMainPart(ArrayRef<BackwardKernelPlan> parts) {
  unsigned last = parts.size() - 1;
  for (unsigned index = last; index > 0; --index)
    if (!parts[index].hasQueryTiles())
      return index;
  return last;
}

FailureOr<BackwardPlan> fovea::planBackward(attn::BackwardOp op,
                                            const KernelOptions &options) {
  if (failed(checkLowered(options, op)))
    return failure();
  BackwardProblem problem = makeProblem(op, options);
  FailureOr<BackwardPlans> plans = choosePlans(op, options, problem);
  if (failed(plans))
    return failure();
  for (plan::KernelAttr *kernel :
       {&plans->keys, &plans->values, &plans->queries, &plans->sums})
    if (*kernel)
      *kernel = kernel->change(
          [&](plan::KernelPlan &fields) { fields.tf32 = op.getTf32(); });
  BackwardPlan plan;
  plan.keys = plans->keys;
  plan.dqAccum = plans->getDqAccum();
  plan.hasSlotTable =
      plan.dqAccum.isOrdered &&
      (!op.getQueryBounds().empty() || plans->keys->classify || op.hasBlocks());
  plan.parts = PartFinder(op, *plans, problem, plan.hasSlotTable).find();
  plan.mainPart = findMainPart(plan.parts);
  for (auto [index, part] : llvm::enumerate(plan.parts))
    if (!part.plan)
      return op.emitError("schedule has no plan of kernel '")
             << getFunctionName(op) << "_" << part.suffix << "'";
  return plan;
}
