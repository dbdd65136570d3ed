//===- Variant.cpp - Create score_mod and mask_mod ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Variant.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::raising;

Variant::Variant(Match &match, const Arrangement &arrangement,
                 double maskedBelow)
    : match(match), expression(*match.expression),
      groups({arrangement.batch, arrangement.queryHeads, arrangement.queries,
              arrangement.keys}),
      score(match.x), scale(arrangement.scale) {
  findMasks(maskedBelow);
  findScale();
  findCaptures();
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// Creates i1 arithmetic in the expression.
static Value makeLogic(Expression &expression, StringRef name, Value lhs,
                       Value rhs) {
  OperationState state(lhs.getLoc(), name, {lhs, rhs}, {lhs.getType()});
  return expression.create(Operation::create(state));
}

static Value negate(Expression &expression, Value condition) {
  Value allTrue =
      expression.createConstant(expression.getBuilder().getBoolAttr(true));
  return makeLogic(expression, arith::XOrIOp::getOperationName(), condition,
                   allTrue);
}

/// Joins the remaining operands of a sum or difference.
Value Variant::joinTerms(Operation *op, Value lhs, Value rhs) {
  auto isZero = [](Value value) { return getConstantFloat(value) == 0.0; };
  bool isSum = isa<arith::AddFOp>(op);
  if (lhs != op->getOperand(0) && isZero(lhs) && isSum)
    return rhs;
  if (rhs != op->getOperand(1) && isZero(rhs))
    return lhs;
  Operation *joined = op->clone();
  joined->setOperands({lhs, rhs});
  return expression.create(joined);
}

/// Strips masks of a value that is a term of the score: a select of -inf by a
/// condition that does not depend on scores.
Value Variant::stripMask(Value value, double maskedBelow) {
  if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(value.getDefiningOp())) {
    Operation *op = value.getDefiningOp();
    Value lhs = stripMask(op->getOperand(0), maskedBelow),
          rhs = isa<arith::AddFOp>(op)
                    ? stripMask(op->getOperand(1), maskedBelow)
                    : op->getOperand(1);
    if (lhs == op->getOperand(0) && rhs == op->getOperand(1))
      return value;
    return joinTerms(op, lhs, rhs);
  }
  auto choice = value.getDefiningOp<arith::SelectOp>();
  if (!choice || !choice.getCondition().getType().isSignlessInteger(1) ||
      expression.getSlice(choice.getCondition()).contains(match.score))
    return value;
  for (bool seenIf : {true, false}) {
    Value seen = seenIf ? choice.getTrueValue() : choice.getFalseValue(),
          hidden = seenIf ? choice.getFalseValue() : choice.getTrueValue();
    std::optional<double> number = getConstantFloat(hidden);
    // A finite number may be a bias and not a mask.
    if (!number || !(*number <= maskedBelow))
      continue;
    Value condition = choice.getCondition();
    if (!seenIf)
      condition = negate(expression, condition);
    mask = mask ? makeLogic(expression, arith::AndIOp::getOperationName(), mask,
                            condition)
                : condition;
    return stripMask(seen, maskedBelow);
  }
  return value;
}

void Variant::findMasks(double maskedBelow) {
  score = stripMask(score, maskedBelow);
}

//===----------------------------------------------------------------------===//
// Scale
//===----------------------------------------------------------------------===//

/// The unmodified score, in f32.
static Value getComputedScore(Value score) {
  for (Operation *user : score.getUsers())
    if (isa<arith::ExtFOp>(user))
      return user->getResult(0);
  return score;
}

/// The constant factor by which the op multiplies `value`.
static std::optional<double> getFactor(Operation *op, Value value) {
  if (!isa<arith::MulFOp, arith::DivFOp>(op))
    return std::nullopt;
  bool isFirst = op->getOperand(0) == value;
  if (!isFirst && isa<arith::DivFOp>(op))
    return std::nullopt;
  auto number = getConstantFloat(op->getOperand(isFirst ? 1 : 0));
  if (!number || isa<arith::MulFOp>(op))
    return number;
  return 1.0 / *number;
}

/// Moves constant factors that apply to all uses of the score into the scale.
void Variant::findScale() {
  base = getComputedScore(match.score);
  while (true) {
    llvm::DenseSet<Value> slice = expression.getSlice(score);
    Operation *only = nullptr;
    for (Operation *user : base.getUsers()) {
      if (!slice.contains(user->getResult(0)))
        continue;
      // Equal ops are one op.
      if (only && only != user)
        return;
      only = user;
    }
    if (!only || base == score)
      return;
    std::optional<double> factor = getFactor(only, base);
    if (!factor || !std::isfinite(float(*factor * scale)))
      return;
    scale *= *factor;
    base = only->getResult(0);
  }
}

//===----------------------------------------------------------------------===//
// Captured values
//===----------------------------------------------------------------------===//

static bool isSameCapture(const Leaf &a, const Leaf &b) {
  return a.kind == b.kind && a.source == b.source && a.axis == b.axis;
}

void Variant::addCapture(const Leaf &leaf) {
  if (llvm::none_of(captures, [&](const Leaf &other) {
        return isSameCapture(leaf, other);
      }))
    captures.push_back(leaf);
}

unsigned Variant::getCapture(const Leaf &leaf) const {
  return llvm::find_if(
             captures,
             [&](const Leaf &other) { return isSameCapture(leaf, other); }) -
         captures.begin();
}

/// The coordinate of attention that is exactly the list of axes.
std::optional<unsigned> Variant::getCoordinate(const AxisList &axes) const {
  const auto *found = llvm::find(groups, axes);
  if (axes.empty() || found == groups.end())
    return std::nullopt;
  return found - groups.begin();
}

/// The axes that a region needs individually.
llvm::SmallBitVector
Variant::getSingleAxes(const llvm::DenseSet<Value> &slice) const {
  llvm::SmallBitVector single(match.space->getNumAxes());
  for (Value part : slice) {
    if (part == base || !isa<BlockArgument>(part))
      continue;
    if (std::optional<unsigned> axis = expression.getAxis(part)) {
      single.set(*axis);
      continue;
    }
    for (const Position &position : expression.getLeaf(part)->positions)
      if (!getCoordinate(position.axes))
        for (unsigned axis : position.axes)
          single.set(axis);
  }
  return single;
}

/// Captures the extents needed to split a coordinate or to compose an index of
/// axes: all except the outermost one.
void Variant::addExtents(ArrayRef<unsigned> axes) {
  if (axes.empty())
    return;
  for (unsigned axis : axes.drop_front())
    if ((*match.space)[axis].isDynamic())
      addCapture({Leaf::Kind::Extent, {}, {}, axis});
}

void Variant::findCaptures() {
  for (Value root : {score, mask}) {
    if (!root || root == base)
      continue;
    llvm::DenseSet<Value> slice = expression.getSlice(root, base);
    for (BlockArgument argument : expression.getBlock().getArguments()) {
      const Leaf *leaf = expression.getLeaf(argument);
      if (!leaf || !slice.contains(argument) || argument == base)
        continue;
      if (leaf->kind != Leaf::Kind::Index)
        addCapture(*leaf);
      for (const Position &position : leaf->positions)
        if (!getCoordinate(position.axes))
          addExtents(position.axes);
    }
    llvm::SmallBitVector single = getSingleAxes(slice);
    for (const AxisList &group : groups)
      if (llvm::any_of(group, [&](unsigned axis) { return single.test(axis); }))
        addExtents(group);
  }
}

static bool canBeCaptured(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  Type element = getElementTypeOrSelf(type);
  if (isa<Float16Type, BFloat16Type, Float32Type>(element) ||
      element.isSignlessInteger(32) || element.isSignlessInteger(64))
    return !tensor || (tensor.getRank() <= 4 && !tensor.getEncoding());
  if (!tensor)
    return element.isIndex();
  return tensor.getRank() <= 4 && !tensor.getEncoding() &&
         (element.isSignlessInteger(1) || element.isSignlessInteger(8) ||
          element.isSignlessInteger(16));
}

bool Variant::check(std::optional<Missed> &missed) const {
  auto miss = [&](const Twine &reason) {
    missed = {match.output.op, reason.str()};
    return false;
  };
  if (!score.getType().isF32())
    return miss("scores must be computed in f32, or in narrower floats");
  for (const Leaf &leaf : captures) {
    if (leaf.kind == Leaf::Kind::Extent || canBeCaptured(leaf.source.getType()))
      continue;
    std::string type;
    llvm::raw_string_ostream(type) << leaf.source.getType();
    return miss("a score depends on a value that can't be captured, of type " +
                Twine(type));
  }
  if (!std::isfinite(float(scale)))
    return miss("the scale is not finite");
  return true;
}

SmallVector<Value> Variant::makeCaptures(OpBuilder &builder, Location loc) {
  SmallVector<Value> values;
  for (const Leaf &leaf : captures) {
    if (leaf.kind == Leaf::Kind::Extent) {
      OpFoldResult extent = getExtent(builder, loc, *match.space, leaf.axis);
      values.push_back(cast<Value>(extent));
      continue;
    }
    Value value = leaf.source;
    // Scalars are captured as f32.
    if (isa<Float16Type, BFloat16Type>(value.getType()))
      value = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
    values.push_back(value);
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

Value Variant::getExtentIn(OpBuilder &builder, Location loc, unsigned axis,
                           ValueRange captured) {
  const Extent &extent = (*match.space)[axis];
  if (!extent.isDynamic())
    return arith::ConstantIndexOp::create(builder, loc, extent.size);
  return captured[getCapture({Leaf::Kind::Extent, {}, {}, axis})];
}

Value Variant::getIndexIn(OpBuilder &builder, Location loc,
                          const Position &position, ValueRange coordinates,
                          ValueRange captured, const IRMapping &mapping) {
  if (position.computed)
    return mapping.lookup(position.computed);
  if (std::optional<unsigned> coordinate = getCoordinate(position.axes))
    return coordinates[*coordinate];
  if (position.axes.empty())
    return arith::ConstantIndexOp::create(builder, loc, 0);
  auto getAxis = [&](unsigned axis) {
    return mapping.lookup<Value>(expression.getBlock().getArgument(axis));
  };
  Value index = getAxis(position.axes.front());
  for (unsigned axis : llvm::drop_begin(position.axes)) {
    Value extent = getExtentIn(builder, loc, axis, captured);
    Value outer = arith::MulIOp::create(builder, loc, index, extent);
    index = arith::AddIOp::create(builder, loc, outer, getAxis(axis));
  }
  return index;
}

/// Splits the coordinates of attention into axes.
void Variant::mapAxes(OpBuilder &builder, Location loc, ValueRange coordinates,
                      ValueRange captured, const llvm::SmallBitVector &used,
                      IRMapping &mapping) {
  for (auto [group, coordinate] : llvm::zip(groups, coordinates)) {
    if (llvm::none_of(group, [&](unsigned axis) { return used.test(axis); }))
      continue;
    Value rest = coordinate;
    for (unsigned axis : llvm::reverse(group)) {
      Value argument = expression.getBlock().getArgument(axis);
      if (axis == group.front()) {
        mapping.map(argument, rest);
        break;
      }
      Value extent = getExtentIn(builder, loc, axis, captured);
      if (used.test(axis))
        mapping.map(argument,
                    arith::RemUIOp::create(builder, loc, rest, extent));
      rest = arith::DivUIOp::create(builder, loc, rest, extent);
    }
  }
}

void Variant::fillRegion(OpBuilder &builder, attn::ForwardOp op, Region &region,
                         Value root, bool hasScore) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = op.getLoc();
  SmallVector<Type> types;
  if (hasScore)
    types.push_back(builder.getF32Type());
  unsigned first = types.size();
  types.append(4, builder.getIndexType());
  llvm::append_range(types, op.getCaptures().getTypes());
  Block *block = builder.createBlock(&region, {}, types,
                                     SmallVector<Location>(types.size(), loc));
  ValueRange coordinates = block->getArguments().slice(first, 4),
             captured = block->getArguments().drop_front(first + 4);
  IRMapping mapping;
  if (hasScore)
    mapping.map(base, block->getArgument(0));

  llvm::DenseSet<Value> slice = expression.getSlice(root, base);
  mapAxes(builder, loc, coordinates, captured, getSingleAxes(slice), mapping);
  auto makeLeaf = [&](BlockArgument argument) {
    const Leaf *leaf = expression.getLeaf(argument);
    if (!leaf || mapping.contains(argument))
      return;
    auto getIndex = [&](const Position &position) {
      return getIndexIn(builder, loc, position, coordinates, captured, mapping);
    };
    if (leaf->kind == Leaf::Kind::Index) {
      mapping.map(argument, getIndex(leaf->positions.front()));
      return;
    }
    Value source = captured[getCapture(*leaf)];
    if (leaf->kind == Leaf::Kind::Element) {
      SmallVector<Value> indices;
      for (const Position &position : leaf->positions)
        indices.push_back(getIndex(position));
      source = tensor::ExtractOp::create(builder, loc, source, indices);
    }
    mapping.map(argument, source);
  };
  // A leaf is created at its first use; the values of its indices precede it.
  for (Operation &inner : expression.getBlock()) {
    Value result = inner.getResult(0);
    if (!slice.contains(result) || mapping.contains(result))
      continue;
    for (Value operand : inner.getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand))
        makeLeaf(argument);
    // The scalar was already extended when it was captured.
    Value only = inner.getNumOperands() == 1
                     ? mapping.lookupOrNull(inner.getOperand(0))
                     : Value();
    if (isa<arith::ExtFOp>(inner) && only && only.getType() == result.getType())
      mapping.map(result, only);
    else
      builder.clone(inner, mapping);
  }
  if (auto argument = dyn_cast<BlockArgument>(root))
    makeLeaf(argument);
  attn::YieldOp::create(builder, loc, mapping.lookup(root));
}

void Variant::fillRegions(OpBuilder &builder, attn::ForwardOp op) {
  if (score != base)
    fillRegion(builder, op, op.getScoreMod(), score, /*hasScore=*/true);
  if (mask)
    fillRegion(builder, op, op.getMaskMod(), mask, /*hasScore=*/false);
}
