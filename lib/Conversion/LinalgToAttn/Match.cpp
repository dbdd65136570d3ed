//===- Match.cpp - Match attention ----------------------------------------===//
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

/// The contraction that computes a leaf, if the positions of the leaf are axes.
static std::optional<Contraction> getContraction(const Leaf *leaf) {
  if (!leaf || leaf->kind != Leaf::Kind::Element ||
      llvm::any_of(leaf->positions,
                   [](const Position &position) { return position.computed; }))
    return std::nullopt;
  return Contraction::get(leaf->source.getDefiningOp());
}

/// Finds the contraction that computes the scores among the leaves of `x`.
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
      "the softmax input is not a contraction followed by elementwise ops";
  if (other)
    reason += ", found " + quote(other);
  missed = {match.output.op, reason};
  return false;
}

/// Determines the loops of the first contraction, and its key operand.
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
  missed = {scores.op,
            "the key dimension must be a dimension of exactly one operand"};
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
// Ops between the contractions
//===----------------------------------------------------------------------===//

namespace {
/// The ops that depend on the scores, up to the second contraction.
struct Between {
  explicit Between(Match &match);
  /// True if the probabilities depend on the op.
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

/// Checks that scores and probabilities have no other uses, since raising
/// removes them.
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
                "the result of " + quote(op) +
                    ", which depends on the scores, is also used by " +
                    quote(user)};
      return false;
    }
  }
  return true;
}

/// Checks that a score depends on no other score.
static bool isElementwise(const Between &between, Match &match,
                          std::optional<Missed> &missed) {
  for (Value part : match.expression->getSlice(match.x)) {
    const Leaf *leaf = match.expression->getLeaf(part);
    if (!leaf || part == match.score || !isa<BlockArgument>(part) ||
        !leaf->source || !between.dependsOnScores(leaf->source))
      continue;
    missed = {match.output.op, "a score depends on other scores through " +
                                   quote(leaf->source.getDefiningOp())};
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
// Match
//===----------------------------------------------------------------------===//

namespace {
enum class Attempt { Found, NotFound, Again };
} // namespace

/// Matches with the current axes; returns `Again` if an axis must be split.
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
    missed = {match.output.op, "the keys have more than one dimension"};
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
  // Each reshape splits axes at most once, so the loop terminates.
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
