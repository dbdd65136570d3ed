//===- Space.cpp - Common axes of two contractions ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Space.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea::raising;

Extent fovea::raising::getLoopExtent(linalg::LinalgOp op, unsigned loop) {
  Extent found;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      auto place = dyn_cast<AffineDimExpr>(expr);
      if (!place || place.getPosition() != loop)
        continue;
      Extent extent = Extent::get(operand.get(), dim);
      if (!extent.isDynamic())
        return extent;
      // The size of a result is the size of its init operand.
      if (!found.tensor || op.isDpsInit(&operand))
        found = extent;
    }
  }
  return found;
}

Space::Space(linalg::LinalgOp output) {
  for (unsigned loop = 0; loop < output.getNumLoops(); ++loop)
    loops.push_back({getLoopExtent(output, loop)});
  renumber();
}

void Space::addLoop(Extent extent) {
  loops.push_back({extent});
  renumber();
}

void Space::renumber() {
  axes.clear();
  for (auto &parts : loops) {
    llvm::erase_if(parts, [](const Extent &part) { return part.size == 1; });
    llvm::append_range(axes, parts);
  }
}

AxisList Space::getAxes(unsigned loop) const {
  unsigned first = 0;
  for (unsigned before = 0; before < loop; ++before)
    first += loops[before].size();
  return llvm::to_vector<4>(
      llvm::seq<unsigned>(first, first + loops[loop].size()));
}

int64_t Space::getSize(ArrayRef<unsigned> list) const {
  int64_t size = 1;
  for (unsigned axis : list) {
    if (axes[axis].isDynamic())
      return ShapedType::kDynamic;
    size *= axes[axis].size;
  }
  return size;
}

void Space::applyCut() {
  unsigned axis = cut->axis;
  for (auto &parts : loops) {
    if (axis >= parts.size()) {
      axis -= parts.size();
      continue;
    }
    parts.erase(parts.begin() + axis);
    parts.insert(parts.begin() + axis, cut->parts.begin(), cut->parts.end());
    break;
  }
  cut.reset();
  renumber();
}

/// Steps from an op's result to an operand with the same extent; returns the
/// extent unchanged if there is none.
static Extent resolveElementwise(Operation *op, Extent extent) {
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    ReassociationIndices wide;
    for (int64_t dim : collapse.getReassociationIndices()[extent.dim])
      if (collapse.getSrcType().getDimSize(dim) != 1)
        wide.push_back(dim);
    if (wide.size() == 1)
      return Extent{extent.size, collapse.getSrc(), unsigned(wide.front())};
  }
  if (OpTrait::hasElementwiseMappableTraits(op))
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()))
        return Extent{extent.size, operand, extent.dim};
  return extent;
}

Extent fovea::raising::resolve(Extent extent) {
  auto fromSize = [](OpFoldResult size) {
    auto value = dyn_cast<Value>(size);
    auto dim = value ? value.getDefiningOp<tensor::DimOp>() : tensor::DimOp();
    std::optional<int64_t> index =
        dim ? dim.getConstantIndex() : std::optional<int64_t>();
    return index
               ? Extent{ShapedType::kDynamic, dim.getSource(), unsigned(*index)}
               : Extent{ShapedType::kDynamic, value, 0};
  };
  while (extent.tensor && isa<RankedTensorType>(extent.tensor.getType())) {
    Operation *def = extent.tensor.getDefiningOp();
    if (auto reshaped = dyn_cast_or_null<tensor::CastOp>(def)) {
      if (!isa<RankedTensorType>(reshaped.getSource().getType()))
        break;
      extent.tensor = reshaped.getSource();
    } else if (auto op = dyn_cast_or_null<DestinationStyleOpInterface>(def)) {
      auto result = cast<OpResult>(extent.tensor);
      extent.tensor = op.getTiedOpOperand(result)->get();
    } else if (auto empty = dyn_cast_or_null<tensor::EmptyOp>(def)) {
      extent = fromSize(empty.getMixedSizes()[extent.dim]);
    } else if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(def)) {
      extent = fromSize(expand.getMixedOutputShape()[extent.dim]);
    } else {
      Extent before = def ? resolveElementwise(def, extent) : extent;
      if (before.tensor == extent.tensor)
        break;
      extent = before;
    }
  }
  return extent;
}

static bool isSame(const Extent &a, const Extent &b) {
  if (!a.isDynamic() && !b.isDynamic())
    return a.size == b.size;
  if (!a.tensor || !b.tensor)
    return false;
  Extent first = resolve(a), second = resolve(b);
  return first.tensor && first.tensor == second.tensor &&
         first.dim == second.dim;
}

/// True if the axes of `list` are exactly the dimensions, one by one. At most
/// one extent of a product may be unknown.
static bool isPairedWith(const Space &space, ArrayRef<unsigned> list,
                         ArrayRef<Extent> dims) {
  if (list.size() != dims.size())
    return false;
  unsigned unknown = 0;
  for (auto [axis, dim] : llvm::zip(list, dims)) {
    if (isSame(space[axis], dim))
      continue;
    if (!space[axis].isDynamic() && !dim.isDynamic())
      return false;
    ++unknown;
  }
  return unknown <= 1;
}

std::optional<Positions> Space::distribute(ArrayRef<unsigned> list,
                                           ArrayRef<Extent> dims) {
  SmallVector<unsigned> places;
  for (auto [place, dim] : llvm::enumerate(dims))
    if (dim.size != 1)
      places.push_back(place);
  Positions result(dims.size());
  // From the innermost dimension outwards.
  while (!places.empty()) {
    SmallVector<Extent> left;
    for (unsigned place : places)
      left.push_back(dims[place]);
    if (isPairedWith(*this, list, left)) {
      for (auto [place, axis] : llvm::zip(places, list))
        result[place].axes = {axis};
      return result;
    }
    if (left.size() == 1) {
      result[places.front()].axes.assign(list.begin(), list.end());
      return result;
    }
    if (list.empty())
      return std::nullopt;
    const Extent &inner = axes[list.back()], &dim = left.back();
    if (list.size() == 1) {
      // A single axis must be split into all dimensions.
      cut = Cut{list.front(), llvm::to_vector<2>(left)};
      return std::nullopt;
    }
    if (dim.isDynamic() || dim.size == 0 || inner.isDynamic())
      return std::nullopt;
    // Take innermost axes until they have the dimension's number of elements.
    unsigned count = 0;
    int64_t size = 1;
    while (count < list.size() &&
           !axes[list[list.size() - 1 - count]].isDynamic() && size < dim.size)
      size *= axes[list[list.size() - 1 - count++]].size;
    if (size < dim.size)
      return std::nullopt;
    if (size > dim.size) {
      unsigned outermost = list[list.size() - count];
      int64_t rest = size / axes[outermost].size;
      int64_t part = dim.size / rest;
      if (rest * part != dim.size || axes[outermost].size % part != 0)
        return std::nullopt;
      cut =
          Cut{outermost, {{axes[outermost].size / part, {}, 0}, {part, {}, 0}}};
      return std::nullopt;
    }
    result[places.back()].axes.assign(list.end() - count, list.end());
    list = list.drop_back(count);
    places.pop_back();
  }
  return list.empty() ? std::optional(result) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Ops that move elements
//===----------------------------------------------------------------------===//

bool fovea::raising::hasEncoding(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return type && type.getEncoding();
}

Positions fovea::raising::normalize(Value tensor,
                                    ArrayRef<Position> positions) {
  Positions result(positions);
  auto type = cast<RankedTensorType>(tensor.getType());
  for (auto [dim, position] : llvm::enumerate(result))
    if (type.getDimSize(dim) == 1)
      position = Position();
  return result;
}

std::optional<Positions>
fovea::raising::getOperandPositions(linalg::LinalgOp op, OpOperand &operand,
                                    ArrayRef<Position> loops) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type)
    return std::nullopt;
  Positions result;
  for (auto [dim, expr] :
       llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
    if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
      result.push_back(loops[loop.getPosition()]);
      continue;
    }
    // A dimension of extent 1 may be indexed by a constant 0.
    if (!isa<AffineConstantExpr>(expr) || type.getDimSize(dim) != 1)
      return std::nullopt;
    result.emplace_back();
  }
  return normalize(operand.get(), result);
}

std::optional<Positions>
fovea::raising::getLoopPositions(linalg::LinalgOp op, OpResult result,
                                 ArrayRef<Position> positions) {
  AffineMap map = op.getIndexingMapMatchingResult(result);
  auto kinds = op.getIteratorTypesArray();
  if (!map.isProjectedPermutation() ||
      map.getNumResults() != op.getNumParallelLoops() ||
      llvm::any_of(map.getResults(), [&](AffineExpr expr) {
        unsigned loop = cast<AffineDimExpr>(expr).getPosition();
        return kinds[loop] != utils::IteratorType::parallel;
      }))
    return std::nullopt;
  Positions loops(op.getNumLoops());
  for (auto [dim, position] : llvm::enumerate(positions))
    loops[map.getDimPosition(dim)] = position;
  return loops;
}

static std::optional<Place> stepBackExpand(tensor::ExpandShapeOp op,
                                           const Place &place) {
  Place result{op.getSrc(), {}};
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    Position joined;
    for (int64_t dim : group) {
      const Position &position = place.positions[dim];
      llvm::append_range(joined.axes, position.axes);
      if (!position.computed)
        continue;
      // A computed index can be passed on only if the other extents are 1.
      for (int64_t other : group)
        if (other != dim && op.getResultType().getDimSize(other) != 1)
          return std::nullopt;
      joined.computed = position.computed;
    }
    result.positions.push_back(joined);
  }
  return result;
}

static std::optional<Place>
stepBackCollapse(Space &space, tensor::CollapseShapeOp op, const Place &place) {
  Place result{op.getSrc(), {}};
  result.positions.resize(op.getSrcType().getRank());
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    const Position &position = place.positions[dim];
    SmallVector<Extent> extents;
    SmallVector<int64_t> wide;
    for (int64_t source : group) {
      extents.push_back(Extent::get(op.getSrc(), source));
      if (extents.back().size != 1)
        wide.push_back(source);
    }
    if (position.computed) {
      if (wide.size() != 1)
        return std::nullopt;
      result.positions[wide.front()] = position;
      continue;
    }
    std::optional<Positions> parts = space.distribute(position.axes, extents);
    if (!parts)
      return std::nullopt;
    for (auto [source, part] : llvm::zip(group, *parts))
      result.positions[source] = part;
  }
  return result;
}

/// An op with parallel loops that yields an element of an operand unchanged.
static std::optional<Place> stepBackLinalg(linalg::LinalgOp op,
                                           const Place &place) {
  if (!op.hasPureTensorSemantics() ||
      op.getNumLoops() != op.getNumParallelLoops())
    return std::nullopt;
  auto result = cast<OpResult>(place.tensor);
  auto argument = dyn_cast<BlockArgument>(
      op.getBlock()->getTerminator()->getOperand(result.getResultNumber()));
  if (!argument || argument.getOwner() != op.getBlock())
    return std::nullopt;
  OpOperand *operand = op.getMatchingOpOperand(argument);
  auto loops = getLoopPositions(op, result, place.positions);
  if (!loops || !isa<RankedTensorType>(operand->get().getType()))
    return std::nullopt;
  auto positions = getOperandPositions(op, *operand, *loops);
  if (!positions)
    return std::nullopt;
  return Place{operand->get(), *positions};
}

std::optional<Place> fovea::raising::stepBack(Space &space,
                                              const Place &place) {
  Operation *def = place.tensor.getDefiningOp();
  if (!def)
    return std::nullopt;
  auto step =
      TypeSwitch<Operation *, std::optional<Place>>(def)
          .Case([&](tensor::CastOp op) -> std::optional<Place> {
            if (!isa<RankedTensorType>(op.getSource().getType()))
              return std::nullopt;
            return Place{op.getSource(), place.positions};
          })
          .Case([&](tensor::ExpandShapeOp op) {
            return stepBackExpand(op, place);
          })
          .Case([&](tensor::CollapseShapeOp op) {
            return stepBackCollapse(space, op, place);
          })
          .Case([&](linalg::LinalgOp op) { return stepBackLinalg(op, place); })
          .Default(std::nullopt);
  if (!step || hasEncoding(step->tensor))
    return std::nullopt;
  step->positions = normalize(step->tensor, step->positions);
  return step;
}
