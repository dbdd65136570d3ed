//===- BackwardPlan.cpp - What is decided of a backward pass ----*- C++ -*-===//
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

#include "fovea/Schedule/ScheduleRemarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace fovea;

/// What has no lowering to kernels yet is said, with what it is.
static LogicalResult checkLowered(const KernelOptions &options,
                                  attn::BackwardOp op) {
  if (failed(checkTensors(options, op)) || failed(checkSums(op)))
    return failure();
  // Products of matrices have operands of one type.
  Type values = op.getValueType().getElementType(),
       gradients = cast<RankedTensorType>(op.getOutputGradient().getType())
                       .getElementType();
  if (values != gradients)
    return op.emitError("kernels take an output gradient of v's element type, ")
           << values << ", found " << gradients
           << ": round it before, and let the op take it as "
           << cast<RankedTensorType>(op.getOutputGradient().getType())
                  .clone(values);
  if (!op.getScoreMod().empty() && op.getScoreGradient().empty())
    return op.emitError("score_mod's derivative is not known: run "
                        "attn-differentiate first");
  return success();
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Whether the derivative by a score depends on the score.
static bool readsScores(attn::BackwardOp op) {
  Region &gradient = op.getScoreGradient();
  return !gradient.empty() && !gradient.getArgument(0).use_empty();
}

/// Numbers that the region reads or computes for each distance, and takes to
/// what differs otherwise.
static SmallVector<Value> findDiagonals(Region &region,
                                        const RegionDependences &dependences) {
  llvm::SmallDenseSet<Value> dear;
  SmallVector<Value> found;
  for (Operation &op : region.front().without_terminator()) {
    if (op.getNumResults() != 1 || !dependences.isByDistance(op.getResult(0)))
      continue;
    Value result = op.getResult(0);
    if (!isDearByDistance(&op, dependences, /*rowsAreKeys=*/true) &&
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

/// What score_mod and its derivative compute for each pair, beside what is
/// added to the values of the block's rows and columns.
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
    problem.modifies = problem.readsScores = true;
}

/// Whether tiles of keys sum up more than derivatives by scores, or multiples
/// of those by one number of a pair.
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

/// What the op's schedules depend on.
static BackwardProblem makeProblem(attn::BackwardOp op,
                                   const KernelOptions &options) {
  BackwardProblem problem{options.target,
                          int64_t(op.getQueryType().getElementTypeBitWidth()),
                          options.padHeadDim(op.getQueryType()),
                          options.padHeadDim(op.getValueType())};
  problem.query = bool(op.getQueryGradient());
  problem.key = bool(op.getKeyGradient());
  problem.value = bool(op.getValueGradient());
  problem.sums = asksForPairSums(op);
  if (problem.sums && canTilesFindSums(op)) {
    problem.tilesFindSums = true;
    problem.sumsByKey = !getContributions(op, PairPlaces::Keys).empty();
    problem.sumsByDistance = !getReducedContributions(op).empty();
    problem.distanceShares = getDistanceShares(op).size();
  }
  describeModifiers(op, problem);
  // Beside as many pairs as narrow heads' blocks have they would be spilled.
  constexpr int64_t kNarrowColumns = 128;
  if (problem.tilesFindSums && problem.getColumns() <= kNarrowColumns)
    problem.modifies |= hasLongShares(op);
  problem.isDeterministic = op.getDeterministic();
  problem.isPacked = op.getSequence().getKeyPlaces().arePacked;
  problem.isUneven = mayHideKeys(op) || problem.isPacked;
  problem.classifies = !op.getKvClassify().empty();
  if (op.hasBlocks()) {
    problem.queryBlock = op.getQueryBlock();
    problem.keyBlock = op.getKeyBlock();
  }
  return problem;
}

/// The form and the plans of the kernels, by the target's planners.
static FailureOr<BackwardPlans> choosePlans(attn::BackwardOp op,
                                            const KernelOptions &options,
                                            const BackwardProblem &problem) {
  FailureOr<BackwardPlans> chosen =
      chooseBackwardPlans(op.getContext(), problem, options.scheduleOverrides,
                          [&] { return op.emitError(); });
  if (failed(chosen))
    return failure();
  auto function = op->getParentOfType<FunctionOpInterface>();
  remarkBackwardPlans({op, function ? function.getName() : StringRef(),
                       options.scheduleOverrides},
                      problem, *chosen);
  return chosen;
}

//===----------------------------------------------------------------------===//
// The order of work
//===----------------------------------------------------------------------===//

/// Heads are visited one after the other where tiles meet other blocks for
/// each, or all blocks: these stay together as it is. So they are where tiles
/// take turns and might have one head each, or long blocks: tiles that begin
/// together wait for a turn each of those before them, which takes too much of
/// so few visits.
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

/// Whether the bounds on queries are the same for all keys.
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
/// Finds the kernels that a form of the pass has.
class PartFinder {
public:
  PartFinder(attn::BackwardOp op, const BackwardPlans &plans,
             const BackwardProblem &problem, bool hasTurnTable)
      : op(op), plans(plans), problem(problem), hasTurnTable(hasTurnTable) {}

  /// In the order in which they run.
  SmallVector<BackwardKernelPlan> find();

private:
  BackwardKernelPlan make(BackwardKernelPlan::Kind kind, StringRef suffix,
                    plan::KernelAttr plan);
  BackwardKernelPlan makeKeys(StringRef suffix, bool findsKey, bool findsValue);
  void addKeys(SmallVectorImpl<BackwardKernelPlan> &found);
  BackwardKernelPlan makeTurns();
  bool visitsGroups() const;
  /// Where dQ is summed in memory, and where it is not.
  SmallVector<BackwardKernelPlan> findOfSums();
  SmallVector<BackwardKernelPlan> findOfTiles();

  attn::BackwardOp op;
  const BackwardPlans &plans;
  const BackwardProblem &problem;
  bool hasTurnTable;
};
} // namespace

BackwardKernelPlan PartFinder::make(BackwardKernelPlan::Kind kind, StringRef suffix,
                              plan::KernelAttr plan) {
  BackwardKernelPlan part{kind, suffix, plan};
  part.headDim = problem.headDim;
  part.valueHeadDim = problem.valueHeadDim;
  return part;
}

BackwardKernelPlan PartFinder::makeKeys(StringRef suffix, bool findsKey,
                                  bool findsValue) {
  BackwardKernelPlan keys = make(BackwardKernelPlan::Keys, suffix, plans.keys);
  keys.key = findsKey;
  keys.value = findsValue;
  keys.addsQuery = plans.sumsQueries && findsKey;
  keys.sumsByRegister = plans.sumsByRegister;
  keys.ordersSums = plans.ordersSums;
  keys.keepsGradients = plans.keepsGradients;
  keys.valuesLate = plans.valuesLate;
  keys.roundsWeights = plans.roundsWeights;
  keys.startsFromDelta = plans.startsFromDelta && !op.getDropoutAttr();
  keys.exponentsFirst = plans.exponentsFirst;
  keys.deltaFirst = plans.deltaFirst;
  keys.slopesFirst = plans.slopesFirst;
  keys.keyRoles = plans.keyRoles;
  keys.addsAhead = plans.addsAhead;
  keys.partRows = plans.partRows;
  keys.partColumns = plans.partColumns;
  keys.sums = plans.keysFindSums;
  keys.visitsGroups = visitsGroups();
  keys.followsDiagonal = hasTurnTable && !keys.visitsGroups;
  keys.beginsApart =
      keys.followsDiagonal && !(plans.keys->classify && boundsAreOfAllKeys(op));
  return keys;
}

/// Sums by key are of one head at a time.
bool PartFinder::visitsGroups() const {
  return !(plans.keysFindSums && problem.sumsByKey) &&
         visitsGroupByBlocks(op, plans.keys);
}

BackwardKernelPlan PartFinder::makeTurns() {
  BackwardKernelPlan turns = make(BackwardKernelPlan::Turns, "turns", plans.keys);
  turns.visitsGroups = visitsGroups();
  return turns;
}

/// What tiles of keys find: by one kernel, or dK and dV by one each.
void PartFinder::addKeys(SmallVectorImpl<BackwardKernelPlan> &found) {
  if (problem.key && problem.value && plans.sharesKeyTiles) {
    found.push_back(makeKeys("keys", true, true));
    return;
  }
  if (problem.value)
    found.push_back(makeKeys("values", false, true));
  if (problem.key)
    found.push_back(makeKeys("keys", true, false));
}

SmallVector<BackwardKernelPlan> PartFinder::findOfSums() {
  SmallVector<BackwardKernelPlan> found;
  // Turns need what comes before D's kernel, which then runs beside them.
  if (hasTurnTable)
    found.push_back(makeTurns());
  BackwardKernelPlan delta = make(BackwardKernelPlan::Delta, "delta", plans.queries);
  delta.addsQuery = delta.storesDelta = true;
  delta.ordersSums = plans.ordersSums;
  delta.sinks = bool(op.getSinksGradient());
  found.push_back(delta);
  addKeys(found);
  BackwardKernelPlan round = make(BackwardKernelPlan::Round, "queries", plans.queries);
  round.scale = bool(op.getScaleGradient());
  round.sumsByRegister = plans.sumsByRegister;
  found.push_back(round);
  if (problem.sums && !plans.keysFindSums) {
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
  // D comes from the queries' kernel, where there is one.
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
    BackwardKernelPlan delta = make(BackwardKernelPlan::Delta, "delta", plans.queries);
    delta.storesDelta = problem.key;
    delta.sinks = hasSinks;
    found.push_back(delta);
  }
  addKeys(found);
  return found;
}

SmallVector<BackwardKernelPlan> PartFinder::find() {
  return plans.sumsQueries ? findOfSums() : findOfTiles();
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
  BackwardPlan plan;
  plan.keys = plans->keys;
  plan.sumsQueries = plans->sumsQueries;
  plan.ordersSums = plans->ordersSums;
  plan.hasTurnTable =
      plans->ordersSums &&
      (!op.getQueryBounds().empty() || plans->keys->classify || op.hasBlocks());
  plan.parts = PartFinder(op, *plans, problem, plan.hasTurnTable).find();
  plan.mainPart = findMainPart(plan.parts);
  return plan;
}
