//===- Regroup.cpp - Permute and reshape axes -----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Axes that are adjacent in one dimension before and after form a piece. A
// tensor is expanded to one dimension per piece; the pieces are permuted and
// then collapsed to the target dimensions. Each of the three steps is omitted
// if it does nothing.
//
//===----------------------------------------------------------------------===//

#include "Regroup.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace fovea::raising;

bool fovea::raising::isGrouped(ArrayRef<Position> positions,
                               const Groups &groups) {
  return llvm::equal(positions, groups,
                     [](const Position &position, const AxisList &group) {
                       return !position.computed && position.axes == group;
                     });
}

OpFoldResult fovea::raising::getExtent(OpBuilder &builder, Location loc,
                                       const Space &space, unsigned axis) {
  const Extent &extent = space[axis];
  if (!extent.isDynamic())
    return builder.getIndexAttr(extent.size);
  assert(extent.tensor && "an axis of unknown extent is a dimension");
  Extent source = resolve(extent);
  if (source.tensor.getType().isIndex())
    return source.tensor;
  return tensor::DimOp::create(builder, loc, source.tensor, source.dim)
      .getResult();
}

static OpFoldResult getProduct(OpBuilder &builder, Location loc,
                               const Space &space, ArrayRef<unsigned> axes) {
  int64_t known = 1;
  Value unknown;
  for (unsigned axis : axes) {
    OpFoldResult extent = getExtent(builder, loc, space, axis);
    if (std::optional<int64_t> size = getConstantIntValue(extent)) {
      known *= *size;
      continue;
    }
    Value value = cast<Value>(extent);
    unknown =
        unknown ? arith::MulIOp::create(builder, loc, unknown, value) : value;
  }
  if (!unknown)
    return builder.getIndexAttr(known);
  if (known == 1)
    return unknown;
  Value factor = arith::ConstantIndexOp::create(builder, loc, known);
  return arith::MulIOp::create(builder, loc, unknown, factor).getResult();
}

/// Splits each group where the next axis does not follow in `other`.
static Groups getPieces(const Groups &groups, const Groups &other) {
  auto areNeighbours = [&](unsigned first, unsigned second) {
    for (const AxisList &group : other) {
      const auto *found = llvm::find(group, first);
      if (found != group.end())
        return std::next(found) != group.end() && *std::next(found) == second;
    }
    return false;
  };
  Groups pieces;
  for (const AxisList &group : groups)
    for (auto [place, axis] : llvm::enumerate(group)) {
      if (place == 0 || !areNeighbours(group[place - 1], axis))
        pieces.emplace_back();
      pieces.back().push_back(axis);
    }
  return pieces;
}

/// The reassociation of groups to pieces: each dimension of extent 1 of
/// `groups` is joined with an adjacent one in `pieces`.
static SmallVector<ReassociationIndices>
getReassociation(const Groups &groups, const Groups &pieces, Groups &between) {
  // `between` has a dimension for each piece and each group without axes; these
  // are joined with pieces on one side and with groups on the other.
  SmallVector<ReassociationIndices> result;
  unsigned piece = 0;
  for (const AxisList &group : groups) {
    result.emplace_back();
    if (group.empty()) {
      result.back().push_back(between.size());
      between.emplace_back();
      continue;
    }
    for (size_t covered = 0; covered < group.size(); ++piece) {
      covered += pieces[piece].size();
      result.back().push_back(between.size());
      between.push_back(pieces[piece]);
    }
  }
  return result;
}

/// Joins dimensions without axes with an adjacent dimension.
static SmallVector<ReassociationIndices> joinUnits(const Groups &between) {
  SmallVector<ReassociationIndices> result;
  bool hasAxes = true;
  for (auto [dim, group] : llvm::enumerate(between)) {
    if (result.empty() || (hasAxes && !group.empty())) {
      result.emplace_back();
      hasAxes = false;
    }
    result.back().push_back(dim);
    hasAxes |= !group.empty();
  }
  return result;
}

namespace {
/// A tensor during the regrouping.
struct Regrouping {
  OpBuilder &builder;
  Location loc;
  const Space &space;
  Value tensor;

  RankedTensorType getType(const Groups &groups) {
    SmallVector<int64_t> shape;
    for (const AxisList &group : groups)
      shape.push_back(space.getSize(group));
    return RankedTensorType::get(shape, getElementTypeOrSelf(tensor.getType()));
  }
  /// Casts to the type with all known extents.
  void castTo(const Groups &groups) {
    if (tensor.getType() != getType(groups))
      tensor = tensor::CastOp::create(builder, loc, getType(groups), tensor);
  }
  void collapse(ArrayRef<ReassociationIndices> reassociation,
                const Groups &groups) {
    if (llvm::any_of(reassociation, [](auto &dims) { return dims.size() > 1; }))
      tensor = tensor::CollapseShapeOp::create(builder, loc, getType(groups),
                                               tensor, reassociation);
  }
  void expand(ArrayRef<ReassociationIndices> reassociation,
              const Groups &groups);
  void transpose(const Groups &from, const Groups &to);
};
} // namespace

void Regrouping::expand(ArrayRef<ReassociationIndices> reassociation,
                        const Groups &groups) {
  if (llvm::all_of(reassociation, [](auto &dims) { return dims.size() == 1; }))
    return;
  SmallVector<OpFoldResult> shape;
  for (const AxisList &group : groups)
    shape.push_back(getProduct(builder, loc, space, group));
  tensor = tensor::ExpandShapeOp::create(builder, loc, getType(groups), tensor,
                                         reassociation, shape);
}

void Regrouping::transpose(const Groups &from, const Groups &to) {
  SmallVector<int64_t> permutation;
  for (const AxisList &piece : to)
    permutation.push_back(llvm::find(from, piece) - from.begin());
  if (llvm::is_sorted(permutation))
    return;
  RankedTensorType type = getType(to);
  SmallVector<OpFoldResult> shape;
  for (const AxisList &piece : to)
    shape.push_back(getProduct(builder, loc, space, piece));
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  tensor = linalg::TransposeOp::create(builder, loc, tensor, empty, permutation)
               ->getResult(0);
}

Value fovea::raising::regroup(OpBuilder &builder, Location loc,
                              const Space &space, Value tensor,
                              const Groups &from, const Groups &to) {
  if (from == to)
    return tensor;
  Regrouping way{builder, loc, space, tensor};
  way.castTo(from);
  Groups sources = getPieces(from, to), targets = getPieces(to, from);
  Groups expanded, collapsed;
  auto expansion = getReassociation(from, sources, expanded);
  auto contraction = getReassociation(to, targets, collapsed);
  way.expand(expansion, expanded);
  if (!sources.empty())
    way.collapse(joinUnits(expanded), sources);
  way.transpose(sources, targets);
  if (!targets.empty())
    way.expand(joinUnits(collapsed), collapsed);
  way.collapse(contraction, to);
  return way.tensor;
}
