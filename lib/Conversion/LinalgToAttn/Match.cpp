//===- Match.cpp - Finds attention around a contraction ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Match.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace fovea::raising;

static std::string quote(Operation *op) {
  return "'" + op->getName().getStringRef().str() + "'";
}

//===----------------------------------------------------------------------===//
// The first contraction
//===----------------------------------------------------------------------===//

static llvm::SmallBitVector getAxes(const Space &space,
                                    ArrayRef<Position> positions) {
  llvm::SmallBitVector axes(space.getNumAxes());
  for (const Position &position : positions)
    for (unsigned axis : position.axes)
      axes.set(axis);
  return axes;
}

static bool has(const llvm::SmallBitVector &set, ArrayRef<unsigned> axes) {
  return llvm::all_of(axes, [&](unsigned axis) { return set.test(axis); });
}

/// What is read, if a contraction made it at positions that are axes.
static std::optional<Contraction> getContraction(const Leaf *leaf) {
  if (!leaf || leaf->kind != Leaf::Kind::Element ||
      llvm::any_of(leaf->positions,
                   [](const Position &position) { return position.computed; }))
    return std::nullopt;
  return Contraction::get(leaf->source.getDefiningOp());
}

/// Finds the contraction that makes scores among what `x` reads.
static bool findScores(Match &match, std::optional<Missed> &missed) {
  Expression &expression = *match.expression;
  llvm::DenseSet<Value> slice = expression.getSlice(match.x);
  llvm::SmallBitVector wanted =
      getAxes(*match.space, match.getPositions(*match.weights));
  Operation *other = nullptr;
  for (BlockArgument argument : expression.getBlock().getArguments()) {
    const Leaf *leaf = expression.getLeaf(argument);
    if (!leaf || !slice.contains(argument) || leaf->kind != Leaf::Kind::Element)
      continue;
    auto contraction = getContraction(leaf);
    if (contraction && getAxes(*match.space, leaf->positions) == wanted) {
      match.score = argument;
      match.scores = *contraction;
      return true;
    }
    if (!other &&
        has(getAxes(*match.space, leaf->positions), match.getKeyAxes()))
      other = leaf->source.getDefiningOp();
  }
  std::string reason =
      "the softmax is not of a contraction and elementwise ops "
      "behind it";
  if (other)
    reason += ", found " + quote(other);
  missed = {match.output.op, reason};
  return false;
}

/// Iterations of the first contraction, and which of its operands are keys.
static bool setScoreLoops(Match &match, std::optional<Missed> &missed) {
  Contraction &scores = match.scores;
  const Leaf *leaf = match.expression->getLeaf(match.score);
  match.scoreLoops =
      *getLoopPositions(scores.op, scores.getResult(), leaf->positions);
  match.scoreLoops[scores.reduction] =
      match.space->getPosition(match.output.op.getNumLoops());
  AxisList keys = match.getKeyAxes();
  for (unsigned number : {0, 1}) {
    match.query = &scores.getInput(number);
    match.key = &scores.getInput(1 - number);
    if (has(getAxes(*match.space, match.getPositions(*match.key)), keys) &&
        !getAxes(*match.space, match.getPositions(*match.query)).test(keys[0]))
      return true;
  }
  missed = {scores.op, "the key dimension must be one of one operand"};
  return false;
}

static bool startsAtZero(Match &match, Contraction &contraction,
                         ArrayRef<Position> loops,
                         std::optional<Missed> &missed) {
  OpOperand &init = contraction.getInit();
  auto positions = getOperandPositions(contraction.op, init, loops);
  Value element = positions
                      ? match.expression->getElement(init.get(), *positions)
                      : Value();
  if (element && getConstantFloat(element) == 0.0)
    return true;
  missed = {contraction.op, "the contraction does not start at 0"};
  return false;
}

//===----------------------------------------------------------------------===//
// What is between the contractions
//===----------------------------------------------------------------------===//

namespace {
/// Ops that depend on the scores, up to the second contraction.
struct Between {
  explicit Between(Match &match);
  /// Ops that the weights are computed by.
  bool leadsToWeights(Operation *op) const { return backward.contains(op); }
  bool dependsOnScores(Value value) const {
    Operation *def = value.getDefiningOp();
    return def && forward.contains(def);
  }

  llvm::SetVector<Operation *> forward, backward;
};
} // namespace

Between::Between(Match &match) {
  Block *block = match.output.op->getBlock();
  Operation *last = match.output.op;
  forward.insert(match.scores.op);
  for (unsigned n = 0; n < forward.size(); ++n)
    for (Operation *user : forward[n]->getUsers())
      if (Operation *op = block->findAncestorOpInBlock(*user))
        if (op->isBeforeInBlock(last))
          forward.insert(op);
  if (Operation *def = match.weights->get().getDefiningOp())
    backward.insert(def);
  for (unsigned n = 0; n < backward.size(); ++n)
    for (Value operand : backward[n]->getOperands())
      if (Operation *def = operand.getDefiningOp())
        if (def->getBlock() == block && forward.contains(def))
          backward.insert(def);
}

/// Scores and weights must have no other use: they will not exist.
static bool haveNoOtherUse(const Between &between, Match &match,
                           std::optional<Missed> &missed) {
  for (Operation *op : between.forward) {
    if (!between.leadsToWeights(op))
      continue;
    for (Operation *user : op->getUsers()) {
      if (between.leadsToWeights(user) || user == match.output.op ||
          isOpTriviallyDead(user))
        continue;
      missed = {match.output.op,
                "what " + quote(op) +
                    " computes from the scores is also used by " + quote(user)};
      return false;
    }
  }
  return true;
}

/// Of what depends on scores, a score may depend on itself only.
static bool isElementwise(const Between &between, Match &match,
                          std::optional<Missed> &missed) {
  for (Value part : match.expression->getSlice(match.x)) {
    const Leaf *leaf = match.expression->getLeaf(part);
    if (!leaf || part == match.score || !isa<BlockArgument>(part) ||
        !leaf->source || !between.dependsOnScores(leaf->source))
      continue;
    missed = {match.output.op, "a score depends on what " +
                                   quote(leaf->source.getDefiningOp()) +
                                   " makes of other scores"};
    return false;
  }
  if (between.dependsOnScores(match.value->get())) {
    missed = {match.output.op, "values depend on scores"};
    return false;
  }
  return true;
}

static bool checkBetween(Match &match, std::optional<Missed> &missed) {
  if (match.scores.op->getBlock() != match.output.op->getBlock()) {
    missed = {match.output.op, "the contractions are in different blocks"};
    return false;
  }
  Between between(match);
  return isElementwise(between, match, missed) &&
         haveNoOtherUse(between, match, missed);
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

namespace {
enum class Attempt { Found, NotFound, Again };
} // namespace

/// With the axes that there are: if one has to be cut, `Again`.
static Attempt attempt(Match &match, std::optional<Missed> &missed) {
  Space &space = *match.space;
  match.expression =
      std::make_unique<Expression>(space, match.output.op->getContext());
  match.outputLoops.clear();
  for (unsigned loop = 0; loop < match.output.op.getNumLoops(); ++loop)
    match.outputLoops.push_back(space.getPosition(loop));
  auto decide = [&](bool found) {
    if (space.hasCut())
      return Attempt::Again;
    return found ? Attempt::Found : Attempt::NotFound;
  };
  AxisList keys = match.getKeyAxes();
  if (keys.empty() ||
      !getOperandPositions(match.output.op, *match.weights, match.outputLoops))
    return Attempt::NotFound;
  Value weight = match.expression->getElement(
      match.weights->get(), match.getPositions(*match.weights));
  if (!weight)
    return decide(false);
  match.x = matchSoftmax(*match.expression, weight, keys, missed).x;
  if (!match.x || space.hasCut())
    return decide(false);
  if (keys.size() != 1) {
    missed = {match.output.op, "keys are counted by more than one dimension"};
    return Attempt::NotFound;
  }
  if (!findScores(match, missed))
    return decide(false);
  if (!match.hasScoreLoop) {
    match.hasScoreLoop = true;
    space.addLoop(getLoopExtent(match.scores.op, match.scores.reduction));
    return Attempt::Again;
  }
  return decide(setScoreLoops(match, missed) &&
                startsAtZero(match, match.scores, match.scoreLoops, missed) &&
                startsAtZero(match, match.output, match.outputLoops, missed) &&
                checkBetween(match, missed));
}

bool fovea::raising::findAgain(Match &match, std::optional<Missed> &missed) {
  // An axis is cut a reshape at a time, and never where it was cut before.
  while (true) {
    if (match.space->hasCut())
      match.space->applyCut();
    missed.reset();
    Attempt result = attempt(match, missed);
    if (missed && !missed->where)
      missed->where = match.output.op;
    if (result != Attempt::Again)
      return result == Attempt::Found;
  }
}

std::optional<Match>
fovea::raising::findAttention(Operation *op, std::optional<Missed> &missed) {
  std::optional<Contraction> output = Contraction::get(op);
  if (!output)
    return std::nullopt;
  for (unsigned weights : {0, 1}) {
    Match match;
    match.output = *output;
    match.weights = &match.output.getInput(weights);
    match.value = &match.output.getInput(1 - weights);
    match.space = std::make_unique<Space>(output->op);
    if (findAgain(match, missed))
      return match;
    if (missed)
      break;
  }
  return std::nullopt;
}
