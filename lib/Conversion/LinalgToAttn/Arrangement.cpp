//===- Arrangement.cpp - Axes of batch, heads and rows --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Traces operands back through reshapes, transpositions, extensions and, for
// keys and values, broadcasts over heads, to tensors that attention can use.
// Axes that keys and values lack belong to the queries: one of them is the
// sequence, the others are heads that share keys.
//
//===----------------------------------------------------------------------===//

#include "Arrangement.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::raising;

//===----------------------------------------------------------------------===//
// Following operands back
//===----------------------------------------------------------------------===//

namespace {
/// The kinds of ops that may be skipped.
struct Peeling {
  bool extensions, factors, broadcasts;
};

struct Peeled {
  Place place;
  double factor = 1.0;
};
} // namespace

static std::optional<double> getFloat(Value value) {
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return std::nullopt;
  if (auto elements = dyn_cast<DenseFPElementsAttr>(attr))
    if (elements.isSplat())
      attr = elements.getSplatValue<FloatAttr>();
  auto number = dyn_cast<FloatAttr>(attr);
  return number ? std::optional(number.getValueAsDouble()) : std::nullopt;
}

/// The value of a linalg op's operand if all its elements are equal constants.
static std::optional<double> getOperandFloat(Value operand) {
  if (auto fill = operand.getDefiningOp<linalg::FillOp>())
    operand = fill.getInputs().front();
  if (auto splat = operand.getDefiningOp<tensor::SplatOp>())
    operand = splat.getInput();
  return getFloat(operand);
}

/// The value of a body's value if it is the same constant in all iterations.
static std::optional<double> getBodyFloat(linalg::LinalgOp op, Value value) {
  value = skipFloatCasts(value);
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == op.getBlock())
    return getOperandFloat(op.getMatchingOpOperand(argument)->get());
  return getFloat(value);
}

/// Strips extensions and constant factors of a value of a body.
static Value stripBodyValue(linalg::LinalgOp op, Value value,
                            const Peeling &peeling, double &factor) {
  while (Operation *def = value.getDefiningOp()) {
    if (def->getBlock() != op.getBlock())
      return {};
    if (isa<arith::ExtFOp>(def) && peeling.extensions) {
      value = def->getOperand(0);
      continue;
    }
    if (!isa<arith::MulFOp, arith::DivFOp>(def) || !peeling.factors)
      return {};
    std::optional<double> number = getBodyFloat(op, def->getOperand(1));
    value = def->getOperand(0);
    if (!number && isa<arith::MulFOp>(def)) {
      number = getBodyFloat(op, def->getOperand(0));
      value = def->getOperand(1);
    }
    if (!number)
      return {};
    factor *= isa<arith::MulFOp>(def) ? *number : 1.0 / *number;
  }
  return value;
}

/// Steps through an elementwise op that extends one tensor or multiplies it by
/// a constant.
static std::optional<Peeled> stepThroughUnary(const Place &place,
                                              const Peeling &peeling) {
  auto op = place.tensor.getDefiningOp<linalg::LinalgOp>();
  if (!op || !op.hasPureTensorSemantics() ||
      op.getNumLoops() != op.getNumParallelLoops())
    return std::nullopt;
  auto result = cast<OpResult>(place.tensor);
  double factor = 1.0;
  Value value = stripBodyValue(
      op, op.getBlock()->getTerminator()->getOperand(result.getResultNumber()),
      peeling, factor);
  auto argument = dyn_cast_or_null<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBlock())
    return std::nullopt;
  OpOperand *operand = op.getMatchingOpOperand(argument);
  auto loops = getLoopPositions(op, result, place.positions);
  auto positions = loops ? getOperandPositions(op, *operand, *loops)
                         : std::optional<Positions>();
  if (!positions)
    return std::nullopt;
  return Peeled{{operand->get(), *positions}, factor};
}

/// The same for arith ops on whole tensors.
static std::optional<Peeled> stepThroughMapped(const Place &place,
                                               const Peeling &peeling) {
  Operation *def = place.tensor.getDefiningOp();
  if (isa_and_nonnull<arith::ExtFOp>(def) && peeling.extensions)
    return Peeled{{def->getOperand(0), place.positions}};
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(def) || !peeling.factors)
    return std::nullopt;
  if (auto number = getOperandFloat(def->getOperand(1)))
    return Peeled{{def->getOperand(0), place.positions},
                  isa<arith::MulFOp>(def) ? *number : 1.0 / *number};
  auto number = getOperandFloat(def->getOperand(0));
  if (!number || !isa<arith::MulFOp>(def))
    return std::nullopt;
  return Peeled{{def->getOperand(1), place.positions}, *number};
}

static unsigned countAxes(const Place &place) {
  unsigned count = 0;
  for (const Position &position : place.positions)
    count += position.axes.size();
  return count;
}

static Peeled peel(Match &match, OpOperand &operand, const Peeling &peeling) {
  Peeled peeled{{operand.get(), match.getPositions(operand)}};
  while (true) {
    std::optional<Peeled> next;
    if (std::optional<Place> step = stepBack(*match.space, peeled.place))
      next = Peeled{*step};
    if (!next)
      next = stepThroughUnary(peeled.place, peeling);
    if (!next)
      next = stepThroughMapped(peeled.place, peeling);
    if (!next || hasEncoding(next->place.tensor) ||
        (!peeling.broadcasts &&
         countAxes(next->place) < countAxes(peeled.place)))
      return peeled;
    next->factor *= peeled.factor;
    peeled = *next;
  }
}

//===----------------------------------------------------------------------===//
// Kinds of axes
//===----------------------------------------------------------------------===//

static AxisList getAxes(ArrayRef<Position> positions) {
  AxisList axes;
  for (const Position &position : positions)
    llvm::append_range(axes, position.axes);
  return axes;
}

static AxisList without(ArrayRef<unsigned> axes, ArrayRef<unsigned> others) {
  AxisList left;
  for (unsigned axis : axes)
    if (!llvm::is_contained(others, axis))
      left.push_back(axis);
  return left;
}

/// Selects the axis of the query sequence: the longest one, and the last of
/// these.
static AxisList chooseQueries(const Space &space, ArrayRef<unsigned> rows) {
  AxisList chosen;
  auto getLength = [&](unsigned axis) {
    return space[axis].isDynamic() ? std::numeric_limits<int64_t>::max()
                                   : space[axis].size;
  };
  for (unsigned axis : rows)
    if (chosen.empty() || getLength(axis) >= getLength(chosen.front()))
      chosen = {axis};
  return chosen;
}

/// True if heads that share keys are contiguous in the order of all axes.
static bool shareInOrder(ArrayRef<unsigned> order, ArrayRef<unsigned> shared) {
  return order.take_front(shared.size()) == shared;
}

namespace {
class Arranger {
public:
  Arranger(Match &match, std::optional<Missed> &missed)
      : match(match), space(*match.space), missed(missed) {}
  std::optional<Arrangement> run();

private:
  bool miss(const Twine &reason) {
    missed = {match.output.op, reason.str()};
    return false;
  }
  bool findKinds();
  bool findOperands(bool broadcasts);
  bool findTypes();
  void chooseOrder();
  unsigned rate(const Arrangement &choice) const;

  Match &match;
  const Space &space;
  std::optional<Missed> &missed;
  Arrangement found;
  /// The axes of scores without the keys, in order; those that keys and values
  /// have, too; those that they lack and that are not `found.queries`.
  AxisList order, shared, grouped;
};
} // namespace

/// Determines the key, head dimension and row axes from the contractions alone.
bool Arranger::findKinds() {
  AxisList scores = getAxes(match.getPositions(*match.weights));
  found.keys = match.getKeyAxes();
  order = without(scores, found.keys);
  found.head = match.scoreLoops[match.scores.reduction].axes;
  AxisList query = getAxes(match.getPositions(*match.query)),
           key = getAxes(match.getPositions(*match.key)),
           value = getAxes(match.getPositions(*match.value));
  found.valueHead = without(value, scores);
  if (!without(order, query).empty())
    return miss("the queries lack a dimension of the scores");
  if (!llvm::is_contained(value, found.keys.front()))
    return miss("the values lack the key dimension");
  if (!without(without(key, value), found.head).empty() ||
      !without(without(value, key), found.valueHead).empty())
    return miss("keys and values do not have the same dimensions");
  for (const AxisList &width : {found.head, found.valueHead})
    if (width.empty() || ShapedType::isDynamic(space.getSize(width)))
      return miss("the head dimension must be static, and more than 1");
  for (unsigned axis = 0; axis < space.getNumAxes(); ++axis)
    if (space[axis].size == 0 ||
        space[axis].size > attn::AttentionOpInterface::kMaxSequenceLength)
      return miss("dimensions must be at least 1 and at most 2^30");
  AxisList output = getAxes(*getOperandPositions(
      match.output.op, match.output.getInit(), match.outputLoops));
  if (output.size() != order.size() + found.valueHead.size())
    return miss("the result of the second contraction has a dimension that no "
                "operand has");
  shared = without(order, without(order, key));
  found.queries = chooseQueries(space, without(order, shared));
  grouped = without(without(order, shared), found.queries);
  return true;
}

/// Determines the operands. With `broadcasts`, heads that result from repeated
/// keys and values are heads that share them.
bool Arranger::findOperands(bool broadcasts) {
  auto find = [&](bool extensions) {
    Peeled q = peel(match, *match.query, {extensions, true, false}),
           k = peel(match, *match.key, {extensions, true, broadcasts}),
           v = peel(match, *match.value, {extensions, false, broadcasts});
    found.query = q.place;
    found.key = k.place;
    found.value = v.place;
    found.scale = q.factor * k.factor;
    Type type = getElementTypeOrSelf(q.place.tensor.getType());
    return getElementTypeOrSelf(k.place.tensor.getType()) == type &&
           getElementTypeOrSelf(v.place.tensor.getType()) == type;
  };
  if (!find(/*extensions=*/true) && !find(/*extensions=*/false))
    return miss("queries, keys and values have different element types");
  AxisList rows = without(order, found.queries);
  AxisList ofKey = getAxes(found.key.positions),
           ofValue = getAxes(found.value.positions);
  AxisList left = without(rows, without(rows, ofKey));
  if (left != without(rows, without(rows, ofValue)) ||
      (broadcasts && (!shareInOrder(rows, left) ||
                      !llvm::is_contained(ofKey, found.keys.front()) ||
                      !llvm::is_contained(ofValue, found.keys.front()))))
    return false;
  shared = left;
  grouped = without(rows, shared);
  return true;
}

bool Arranger::findTypes() {
  Type element = getElementTypeOrSelf(found.query.tensor.getType());
  if (!isa<Float16Type, BFloat16Type, Float32Type>(element)) {
    std::string name;
    llvm::raw_string_ostream(name) << element;
    return miss("elements must be f16, bf16 or f32, found " + name);
  }
  Type output = getElementTypeOrSelf(match.output.getResult().getType());
  if (output != element && !output.isF32())
    return miss("the output must have the queries' element type, or f32");
  return true;
}

/// Rates the match of a tensor with attention's layout: 3 for an exact match, 2
/// if a reshape is needed.
static unsigned rate(ArrayRef<Position> positions, const Groups &groups) {
  if (isGrouped(positions, groups))
    return 3;
  AxisList axes;
  for (const AxisList &group : groups)
    llvm::append_range(axes, group);
  return getAxes(positions) == axes ? 2 : 0;
}

unsigned Arranger::rate(const Arrangement &choice) const {
  return 2 * (::rate(choice.query.positions, choice.getQueryGroups()) +
              ::rate(choice.key.positions, choice.getKeyGroups()) +
              ::rate(choice.value.positions, choice.getValueGroups())) +
         ::rate(choice.output.positions, choice.getOutputGroups());
}

/// Selects the layout, and the shared axes that are heads, with the fewest
/// transpositions.
void Arranger::chooseOrder() {
  unsigned count = shared.size();
  SmallVector<unsigned> cuts = {count > 1 ? count - 1 : count};
  for (unsigned cut = 0; cut <= count; ++cut)
    if (cut != cuts.front())
      cuts.push_back(cut);
  std::optional<Arrangement> best;
  for (unsigned cut : cuts)
    for (attn::Layout layout : {attn::Layout::BHSD, attn::Layout::BSHD}) {
      Arrangement choice = found;
      choice.layout = layout;
      choice.batch.assign(shared.begin(), shared.begin() + cut);
      choice.keyHeads.assign(shared.begin() + cut, shared.end());
      choice.queryHeads = choice.keyHeads;
      llvm::append_range(choice.queryHeads, grouped);
      if (!best || rate(choice) > rate(*best))
        best = choice;
    }
  found = *best;
}

std::optional<Arrangement> Arranger::run() {
  if (!findKinds())
    return std::nullopt;
  if (!findOperands(/*broadcasts=*/true)) {
    if (missed || match.space->hasCut())
      return std::nullopt;
    if (!findOperands(/*broadcasts=*/false) && !missed)
      miss("keys and values do not have the same dimensions");
    if (missed)
      return std::nullopt;
  }
  if (match.space->hasCut() || !findTypes())
    return std::nullopt;
  found.output = findOutput(match, found);
  chooseOrder();
  return found;
}

std::optional<Arrangement>
fovea::raising::arrange(Match &match, std::optional<Missed> &missed) {
  return Arranger(match, missed).run();
}
