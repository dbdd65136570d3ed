//===- Expression.cpp - Tensor elements as scalars ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expression.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea::raising;

/// The regions of attn ops have at most 2048 ops.
constexpr unsigned kMostOps = 1024;
/// Maximum number of ops on a path to an element; values after longer paths are
/// captured.
constexpr unsigned kMostSteps = 512;

Type fovea::raising::getComputedType(Type type) {
  return isa<Float16Type, BFloat16Type>(type)
             ? Float32Type::get(type.getContext())
             : type;
}

std::optional<double> fovea::raising::getConstantFloat(Value value) {
  FloatAttr attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return std::nullopt;
  return attr.getValueAsDouble();
}

Expression::Expression(Space &space, MLIRContext *context)
    : space(space), block(std::make_unique<Block>()), builder(context) {
  for (unsigned axis = 0; axis < space.getNumAxes(); ++axis)
    block->addArgument(builder.getIndexType(), builder.getUnknownLoc());
  builder.setInsertionPointToEnd(block.get());
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

const Leaf *Expression::getLeaf(Value value) const {
  if (auto extension = value.getDefiningOp<arith::ExtFOp>())
    value = extension.getIn();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getArgNumber() < space.getNumAxes())
    return nullptr;
  return &leaves[argument.getArgNumber() - space.getNumAxes()];
}

std::optional<unsigned> Expression::getAxis(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getArgNumber() >= space.getNumAxes())
    return std::nullopt;
  return argument.getArgNumber();
}

llvm::DenseSet<Value> Expression::getSlice(Value value, Value end) const {
  llvm::DenseSet<Value> slice;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!slice.insert(next).second || next == end)
      continue;
    if (Operation *def = next.getDefiningOp()) {
      llvm::append_range(work, def->getOperands());
      continue;
    }
    if (const Leaf *leaf = getLeaf(next))
      for (const Position &position : leaf->positions)
        if (position.computed)
          work.push_back(position.computed);
  }
  return slice;
}

llvm::SmallBitVector Expression::getAxesOf(Value value) const {
  llvm::SmallBitVector axes(space.getNumAxes());
  for (Value part : getSlice(value)) {
    if (std::optional<unsigned> axis = getAxis(part))
      axes.set(*axis);
    else if (isa<BlockArgument>(part))
      for (const Position &position : getLeaf(part)->positions)
        for (unsigned axis : position.axes)
          axes.set(axis);
  }
  return axes;
}

//===----------------------------------------------------------------------===//
// Creation of scalars
//===----------------------------------------------------------------------===//

Value Expression::create(Operation *op) {
  for (Operation &other : *block)
    if (OperationEquivalence::isEquivalentTo(
            op, &other, OperationEquivalence::IgnoreLocations)) {
      op->destroy();
      return other.getResult(0);
    }
  block->push_back(op);
  return op->getResult(0);
}

Value Expression::createConstant(TypedAttr value) {
  OperationState state(builder.getUnknownLoc(),
                       arith::ConstantOp::getOperationName());
  arith::ConstantOp::build(builder, state, value);
  return create(Operation::create(state));
}

Value Expression::promote(Value value) {
  Type type = getComputedType(value.getType());
  if (type == value.getType())
    return value;
  OperationState state(value.getLoc(), arith::ExtFOp::getOperationName(), value,
                       {type});
  return create(Operation::create(state));
}

Value Expression::addLeaf(Leaf leaf, Type type, Location loc) {
  for (auto [number, other] : llvm::enumerate(leaves))
    if (other.kind == leaf.kind && other.source == leaf.source &&
        other.positions == leaf.positions && other.axis == leaf.axis)
      return promote(block->getArgument(space.getNumAxes() + number));
  leaves.push_back(std::move(leaf));
  return promote(block->addArgument(type, loc));
}

/// Converts a constant to the type in which it is computed.
static TypedAttr getComputedConstant(TypedAttr attr) {
  auto number = dyn_cast<FloatAttr>(attr);
  if (!number || getComputedType(number.getType()) == number.getType())
    return attr;
  return FloatAttr::get(getComputedType(number.getType()),
                        number.getValueAsDouble());
}

Value Expression::getScalar(Value value) {
  TypedAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return createConstant(getComputedConstant(constant));
  return addLeaf({Leaf::Kind::Scalar, value, {}, 0}, value.getType(),
                 value.getLoc());
}

Value Expression::getIndex(const Position &position) {
  if (position.computed)
    return position.computed;
  if (position.axes.empty())
    return createConstant(builder.getIndexAttr(0));
  if (position.axes.size() == 1)
    return block->getArgument(position.axes.front());
  return addLeaf({Leaf::Kind::Index, {}, {position}, 0}, builder.getIndexType(),
                 builder.getUnknownLoc());
}

/// True if the op is allowed in regions of attn ops, with f32 in place of
/// narrower operands.
static bool isScalarOp(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      isa<arith::BitcastOp>(op))
    return false;
  auto isScalar = [](Type type) {
    return getElementTypeOrSelf(type).isIntOrIndexOrFloat() &&
           !isa<VectorType>(type);
  };
  if (!llvm::all_of(op->getOperandTypes(), isScalar) ||
      !llvm::all_of(op->getResultTypes(), isScalar))
    return false;
  return isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         isMemoryEffectFree(op);
}

Value Expression::cloneScalarOp(Operation *op, ArrayRef<Value> operands) {
  Type type = getComputedType(getElementTypeOrSelf(op->getResult(0).getType()));
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    if (operands[0].getType() == type)
      return operands[0];
    // Narrower types are computed as f32, so only a conversion between f32 and
    // f64 remains.
    StringRef name = operands[0].getType().getIntOrFloatBitWidth() <
                             type.getIntOrFloatBitWidth()
                         ? arith::ExtFOp::getOperationName()
                         : arith::TruncFOp::getOperationName();
    OperationState state(op->getLoc(), name, operands, {type});
    return create(Operation::create(state));
  }
  OperationState state(op->getLoc(), op->getName().getStringRef(), operands,
                       {type});
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return create(Operation::create(state));
}

Value Expression::getArgumentValue(linalg::LinalgOp op,
                                   ArrayRef<Position> loops,
                                   BlockArgument argument) {
  OpOperand *operand = op.getMatchingOpOperand(argument);
  if (!isa<ShapedType>(operand->get().getType()))
    return getScalar(operand->get());
  auto positions = getOperandPositions(op, *operand, loops);
  return positions ? getElement(operand->get(), *positions) : Value();
}

Value Expression::getBodyValue(linalg::LinalgOp op, ArrayRef<Position> loops,
                               Value value) {
  llvm::DenseMap<Value, Value> made;
  return getBodyValue(op, loops, value, made);
}

Value Expression::getBodyValue(linalg::LinalgOp op, ArrayRef<Position> loops,
                               Value value,
                               llvm::DenseMap<Value, Value> &made) {
  auto known = made.find(value);
  if (known != made.end())
    return known->second;
  if (steps > kMostSteps)
    return {};
  ++steps;
  Value result = makeBodyValue(op, loops, value, made);
  --steps;
  made[value] = result;
  return result;
}

Value Expression::makeBodyValue(linalg::LinalgOp op, ArrayRef<Position> loops,
                                Value value,
                                llvm::DenseMap<Value, Value> &made) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (argument.getOwner() == op.getBlock())
      return getArgumentValue(op, loops, argument);
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != op.getBlock())
    return getScalar(value);
  if (auto index = dyn_cast<linalg::IndexOp>(def))
    return getIndex(loops[index.getDim()]);
  TypedAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return createConstant(getComputedConstant(constant));
  auto extract = dyn_cast<tensor::ExtractOp>(def);
  if (!extract && !isScalarOp(def))
    return {};
  SmallVector<Value> operands;
  for (Value operand : extract ? ValueRange(extract.getIndices())
                               : ValueRange(def->getOperands())) {
    operands.push_back(getBodyValue(op, loops, operand, made));
    if (!operands.back())
      return {};
  }
  if (!extract)
    return cloneScalarOp(def, operands);
  Positions positions;
  for (Value index : operands)
    positions.push_back({{}, index});
  return getElement(extract.getTensor(), positions);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value Expression::computeLinalgElement(linalg::LinalgOp op,
                                       const Place &place) {
  if (!op.hasPureTensorSemantics() ||
      op.getNumLoops() != op.getNumParallelLoops())
    return {};
  auto result = cast<OpResult>(place.tensor);
  auto loops = getLoopPositions(op, result, place.positions);
  if (!loops)
    return {};
  return getBodyValue(
      op, *loops,
      op.getBlock()->getTerminator()->getOperand(result.getResultNumber()));
}

/// The element of an arith or math op on whole tensors.
Value Expression::computeMappedElement(Operation *op, const Place &place) {
  if (!isScalarOp(op) || !OpTrait::hasElementwiseMappableTraits(op))
    return {};
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(isa<ShapedType>(operand.getType())
                           ? getElement(operand, place.positions)
                           : getScalar(operand));
    if (!operands.back())
      return {};
  }
  return cloneScalarOp(op, operands);
}

Value Expression::computeElement(const Place &place) {
  if (std::optional<Place> step = stepBack(space, place))
    return getElement(step->tensor, step->positions);
  DenseElementsAttr constant;
  if (matchPattern(place.tensor, m_Constant(&constant)) && constant.isSplat())
    return createConstant(getComputedConstant(
        cast<TypedAttr>(constant.getSplatValue<Attribute>())));
  Operation *def = place.tensor.getDefiningOp();
  if (!def || space.hasCut())
    return {};
  if (auto splat = dyn_cast<tensor::SplatOp>(def))
    return getScalar(splat.getInput());
  if (auto op = dyn_cast<linalg::LinalgOp>(def))
    return computeLinalgElement(op, place);
  return computeMappedElement(def, place);
}

Value Expression::getElement(Value tensor, ArrayRef<Position> positions) {
  if (space.hasCut() || block->getOperations().size() > kMostOps)
    return {};
  Place place{tensor, normalize(tensor, positions)};
  for (auto &[other, value] : known)
    if (other.tensor == tensor && other.positions == place.positions)
      return value;
  ++steps;
  Value value = steps > kMostSteps ? Value() : computeElement(place);
  --steps;
  if (space.hasCut() || block->getOperations().size() > kMostOps)
    return {};
  if (!value)
    value = addLeaf({Leaf::Kind::Element, tensor, place.positions, 0},
                    getElementTypeOrSelf(tensor.getType()), tensor.getLoc());
  known.push_back({place, value});
  return value;
}
