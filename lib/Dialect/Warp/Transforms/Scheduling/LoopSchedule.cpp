//===- LoopSchedule.cpp - Stages and order of a loop's ops ----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the schedule of a loop: modulo scheduling in which the plan states
// the stages and the order, and the dependences only check and complete it.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/LoopSchedule.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// The stage of an op that is not known yet: later than all others.
static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

bool warp::isLargeTile(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || llvm::is_contained(type.getShape(), 1))
    return false;
  unsigned bits = type.getElementTypeBitWidth();
  return bits >= 32 || bits == 1;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void LoopSchedule::assignListedStages() {
  for (auto [index, step] : llvm::enumerate(steps))
    for (Operation *op : step.ops) {
      listed[op] = index;
      stages[op] = step.stage;
      computed.insert(op);
    }
  SmallVector<Operation *> worklist(computed.begin(), computed.end());
  while (!worklist.empty())
    for (const LoopDependence &dependence :
         dependences.getTargets(worklist.pop_back_val()))
      if ((dependence.kind == LoopDependence::Value ||
           (dependence.kind == LoopDependence::Stage &&
            dependence.distance == 0)) &&
          computed.insert(dependence.to).second)
        worklist.push_back(dependence.to);
}

/// Makes a computed op as late as its operands need.
bool LoopSchedule::lowerToSources(Operation *op) {
  int64_t least = stages.lookup(op);
  for (const LoopDependence &dependence : dependences.getSources(op))
    if (dependence.kind != LoopDependence::Memory &&
        computed.contains(dependence.from))
      least =
          std::min(least, stages.lookup(dependence.from) + dependence.distance);
  bool changes = least != stages.lookup(op);
  stages[op] = least;
  return changes;
}

/// Makes an op as early as its earliest user, but no earlier than its operands
/// allow.
bool LoopSchedule::raiseToUsers(Operation *op) {
  int64_t most = stages.lookup(op);
  for (const LoopDependence &dependence : dependences.getTargets(op))
    if (dependence.kind == LoopDependence::Value ||
        (dependence.kind == LoopDependence::Stage && dependence.distance == 0))
      most = std::max(most, stages.lookup(dependence.to));
  if (auto found = earliest.find(op); found != earliest.end())
    most = std::min(most, found->second);
  bool changes = most != stages.lookup(op);
  stages[op] = most;
  return changes;
}

void LoopSchedule::assignStages() {
  assignListedStages();
  auto repeat = [&](function_ref<bool(Operation *)> change) {
    bool changes = true;
    while (changes) {
      changes = false;
      for (Operation *op : dependences.getOps())
        changes |= !listed.contains(op) && change(op);
    }
  };
  int64_t first = kUnknown, last = std::numeric_limits<int64_t>::max();
  for (const LoopStep &step : steps) {
    first = std::max(first, step.stage);
    last = std::min(last, step.stage);
  }
  for (Operation *op : dependences.getOps())
    if (!listed.contains(op))
      stages[op] = computed.contains(op) ? first : kUnknown;
  repeat([&](Operation *op) {
    return computed.contains(op) && lowerToSources(op);
  });
  // A large tile is computed where it is used: the loop would carry it in
  // registers.
  for (Operation *op : dependences.getOps()) {
    if (listed.contains(op) || !computed.contains(op))
      continue;
    earliest[op] = stages.lookup(op);
    if (isMemoryEffectFree(op) && llvm::any_of(op->getResults(), isLargeTile) &&
        !op->use_empty())
      stages[op] = kUnknown;
  }
  repeat([&](Operation *op) { return raiseToUsers(op); });
  // An op without users in the loop goes with its operands.
  for (Operation *op : dependences.getOps()) {
    if (stages.lookup(op) != kUnknown)
      continue;
    int64_t stage = first;
    bool isKnown = false;
    for (const LoopDependence &dependence : dependences.getSources(op))
      if (int64_t source = stages.lookup(dependence.from);
          source != kUnknown && dependence.distance == 0) {
        stage = std::min(stage, source);
        isKnown = true;
      }
    stages[op] = isKnown ? stage : last;
  }
  repeat([&](Operation *op) { return raiseToUsers(op); });
}

/// The step that lists the op, or the op's name.
std::string LoopSchedule::nameOf(Operation *op) const {
  if (auto found = listed.find(op); found != listed.end())
    return "'" + steps[found->second].name + "'";
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "'" << op->getName() << "'";
  auto named = dyn_cast<tile::NamedOpInterface>(op);
  if (!named && op->getNumOperands() != 0)
    named = op->getOperand(0).getDefiningOp<PipelineOp>();
  if (named && named.getNameAttr())
    stream << " of " << named.getNameAttr();
  return text;
}

/// The name of the ring that a chain of dependences leads through, if any.
static StringAttr findRing(ArrayRef<LoopDependence> chain) {
  for (const LoopDependence &link : chain)
    for (Operation *op : {link.to, link.from})
      if (link.kind == LoopDependence::Stage && op->getNumOperands() != 0)
        if (auto pipeline = op->getOperand(0).getDefiningOp<PipelineOp>())
          return pipeline.getNameAttr();
  return {};
}

static std::string describe(ArrayRef<LoopDependence> chain) {
  auto has = [&](LoopDependence::Kind kind) {
    return llvm::any_of(
        chain, [&](const LoopDependence &link) { return link.kind == kind; });
  };
  if (StringAttr ring = findRing(chain))
    return "the stages of \"" + ring.str() + "\" lie in between";
  if (has(LoopDependence::Memory))
    return "both access the same memory";
  return chain.size() == 1 ? "it uses its result" : "it depends on its result";
}

/// Describes a chain of dependences that the order violates, from an op to the
/// listed op that it must follow.
OrderError LoopSchedule::explain(ArrayRef<LoopDependence> chain) {
  int64_t distance = 0;
  for (const LoopDependence &link : chain)
    distance += link.distance;
  Operation *op = chain.front().to, *from = chain.back().from;
  return {op, from,
          "the plan's order is illegal: " + nameOf(op) + " must run after " +
              nameOf(from) + " of " +
              (distance == 0 ? "the same iteration"
                             : "iteration i - " + std::to_string(distance)) +
              ", because " + describe(chain)};
}

/// Follows the dependences of an op, chosen by `leads`, up to a listed op.
SmallVector<LoopDependence>
LoopSchedule::findChain(const LoopDependence &first,
                        function_ref<bool(const LoopDependence &)> leads) {
  SmallVector<LoopDependence> chain = {first};
  llvm::DenseSet<Operation *> seen;
  while (!listed.contains(chain.back().from) &&
         seen.insert(chain.back().from).second) {
    ArrayRef<LoopDependence> sources =
        dependences.getSources(chain.back().from);
    const auto *next = llvm::find_if(sources, leads);
    if (next == sources.end())
      break;
    chain.push_back(*next);
  }
  return chain;
}

/// A stage of a ring is committed in the iteration that acquires it.
LogicalResult LoopSchedule::checkCommits(OrderError &error) {
  for (Operation *commit : dependences.getOps())
    for (Operation *acquire : dependences.getOps()) {
      bool isPair = isa<ProducerCommitOp>(commit) &&
                    isa<ProducerAcquireOp>(acquire) &&
                    commit->getOperand(0) == acquire->getOperand(0);
      if (!isPair || stages.lookup(commit) == stages.lookup(acquire))
        continue;
      error = {commit, acquire,
               "the plan's order is illegal: " + nameOf(commit) +
                   " must have the stage of " + nameOf(acquire) +
                   ", which it commits, but they are " +
                   std::to_string(stages.lookup(commit)) + " and " +
                   std::to_string(stages.lookup(acquire))};
      return failure();
    }
  return success();
}

LogicalResult LoopSchedule::checkStages(OrderError &error) {
  for (Operation *op : dependences.getOps())
    for (const LoopDependence &dependence : dependences.getSources(op)) {
      int64_t early = stages.lookup(op) - stages.lookup(dependence.from);
      if (early <= dependence.distance)
        continue;
      // An op that the order does not list got its stage from an operand.
      error = explain(findChain(dependence, [&](const LoopDependence &link) {
        return constrains(link);
      }));
      error.text += ", but the order lets it run " + std::to_string(early) +
                    (early == 1 ? " iteration" : " iterations") + " earlier";
      return failure();
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

bool LoopSchedule::constrains(const LoopDependence &dependence) const {
  return stages.lookup(dependence.from) + dependence.distance ==
         stages.lookup(dependence.to);
}

/// The last step that the op has to follow, or its own; -1: none.
int64_t LoopSchedule::getLastStep(Operation *op) {
  auto [found, isNew] = lastSteps.try_emplace(op, -1);
  if (!isNew)
    return found->second;
  auto own = listed.find(op);
  int64_t last = own == listed.end() ? -1 : own->second;
  for (const LoopDependence &dependence : dependences.getSources(op))
    if (constrains(dependence))
      last = std::max(last, getLastStep(dependence.from));
  return lastSteps[op] = last;
}

LogicalResult LoopSchedule::place(Operation *op, OrderError &error) {
  if (placed.contains(op))
    return success();
  if (!active.insert(op).second) {
    error = {op, op,
             "the plan's order is illegal: " + nameOf(op) +
                 " would have to run before itself"};
    return failure();
  }
  SmallVector<LoopDependence> sources;
  for (const LoopDependence &dependence : dependences.getSources(op))
    if (constrains(dependence) && !placed.contains(dependence.from))
      sources.push_back(dependence);
  llvm::sort(sources, [](const LoopDependence &a, const LoopDependence &b) {
    return a.from != b.from && a.from->isBeforeInBlock(b.from);
  });
  for (const LoopDependence &dependence : sources) {
    if (active.contains(dependence.from)) {
      error = explain(dependence);
      error.text += ", but the order places it before";
      return failure();
    }
    if (failed(place(dependence.from, error)))
      return failure();
  }
  active.erase(op);
  placed.insert(op);
  placedOps.push_back(op);
  return success();
}

/// True for ops that delay their role: arithmetic on tiles, and acquires of
/// stages that threads fill. A dot that does not need them is issued before
/// them, and they run while it is outstanding.
bool LoopSchedule::delaysRole(Operation *op) {
  if (isa<ProducerAcquireOp>(op))
    return llvm::any_of(dependences.getTargets(op),
                        [](const LoopDependence &dependence) {
                          return isa<LocalStoreOp>(dependence.to);
                        });
  return isMemoryEffectFree(op) &&
         llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

static bool issuesDot(Operation *op) {
  auto dot = dyn_cast<DotOp>(op);
  return dot && dot.getAsync();
}

/// Places the ops that come before a step, and the step.
LogicalResult LoopSchedule::placeStep(int64_t index, OrderError &error) {
  const LoopStep &step = steps[index];
  Operation *end = nullptr;
  for (Operation *op : step.ops)
    if (!end || end->isBeforeInBlock(op))
      end = op;
  bool isIssue = llvm::any_of(step.ops, issuesDot);
  for (Operation *op : dependences.getOps()) {
    bool comesBefore = stages.lookup(op) == step.stage &&
                       getLastStep(op) <= index && !(isIssue && delaysRole(op));
    if (comesBefore && failed(place(op, error)))
      return failure();
    if (op == end)
      break;
  }
  for (Operation *op : step.ops) {
    if (int64_t last = getLastStep(op); last > index) {
      auto leads = [&](const LoopDependence &link) {
        return constrains(link) && getLastStep(link.from) == last;
      };
      error = explain(
          findChain(*llvm::find_if(dependences.getSources(op), leads), leads));
      error.text += ", but the order lists '" + step.name + "' before '" +
                    steps[last].name + "'";
      return failure();
    }
    if (failed(place(op, error)))
      return failure();
  }
  return success();
}

LogicalResult LoopSchedule::compute(OrderError &error) {
  assignStages();
  if (failed(checkStages(error)) || failed(checkCommits(error)))
    return failure();
  for (int64_t index = 0, count = steps.size(); index < count; ++index)
    if (failed(placeStep(index, error)))
      return failure();
  // The rest, the latest stage first.
  llvm::SetVector<int64_t> all;
  for (Operation *op : dependences.getOps())
    all.insert(stages.lookup(op));
  SmallVector<int64_t> latestFirst = all.takeVector();
  llvm::sort(latestFirst);
  for (int64_t stage : latestFirst)
    for (Operation *op : dependences.getOps())
      if (stages.lookup(op) == stage && failed(place(op, error)))
        return failure();
  return success();
}

StagedOrder LoopSchedule::getOrder() const {
  int64_t first = kUnknown;
  for (Operation *op : placedOps)
    first = std::max(first, stages.lookup(op));
  StagedOrder order;
  for (Operation *op : placedOps)
    order.emplace_back(op, first - stages.lookup(op));
  return order;
}
