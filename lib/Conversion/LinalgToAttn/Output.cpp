//===- Output.cpp - Users of attention's result ---------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops that only reshape, transpose or narrow the second contraction's result
// are replaced with it: attn.forward computes their result directly.
//
//===----------------------------------------------------------------------===//

#include "Arrangement.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fovea::raising;

static std::optional<Positions> expand(Space &space, tensor::ExpandShapeOp op,
                                       const Place &place) {
  Positions result;
  for (auto [dim, group] : llvm::enumerate(op.getReassociationIndices())) {
    SmallVector<Extent> extents;
    for (int64_t target : group)
      extents.push_back(Extent::get(op.getResult(), target));
    auto parts = space.distribute(place.positions[dim].axes, extents);
    space.dropCut();
    if (!parts)
      return std::nullopt;
    llvm::append_range(result, *parts);
  }
  return result;
}

static std::optional<Positions> collapse(tensor::CollapseShapeOp op,
                                         const Place &place) {
  Positions result;
  for (const ReassociationIndices &group : op.getReassociationIndices()) {
    result.emplace_back();
    for (int64_t dim : group)
      llvm::append_range(result.back().axes, place.positions[dim].axes);
  }
  return result;
}

/// An op with parallel loops that permutes the tensor's elements and optionally
/// narrows them.
static std::optional<Positions> permute(linalg::LinalgOp op, const Place &place,
                                        Type narrow) {
  if (!op.hasPureTensorSemantics() || op.getNumDpsInits() != 1 ||
      op.getNumDpsInputs() != 1 || op.isDpsInit(&*place.tensor.use_begin()) ||
      op.getNumLoops() != op.getNumParallelLoops())
    return std::nullopt;
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  auto truncation = yielded.getDefiningOp<arith::TruncFOp>();
  if (truncation && truncation.getType() == narrow)
    yielded = truncation.getIn();
  AffineMap from = op.getIndexingMapsArray().front(),
            to = op.getIndexingMapsArray().back();
  if (yielded != op.getBlock()->getArgument(0) || !from.isPermutation() ||
      !to.isPermutation())
    return std::nullopt;
  Positions loops(op.getNumLoops()), result;
  for (auto [dim, position] : llvm::enumerate(place.positions))
    loops[from.getDimPosition(dim)] = position;
  for (unsigned dim = 0; dim < to.getNumResults(); ++dim)
    result.push_back(loops[to.getDimPosition(dim)]);
  return result;
}

Place fovea::raising::findOutput(Match &match, const Arrangement &arrangement) {
  Type element = getElementTypeOrSelf(arrangement.query.tensor.getType());
  Place output{match.output.getResult(),
               match.getPositions(match.output.getInit())};
  while (output.tensor.hasOneUse()) {
    Operation *user = *output.tensor.user_begin();
    if (user->getBlock() != match.output.op->getBlock())
      break;
    auto positions =
        TypeSwitch<Operation *, std::optional<Positions>>(user)
            .Case([&](tensor::ExpandShapeOp op) {
              return expand(*match.space, op, output);
            })
            .Case([&](tensor::CollapseShapeOp op) {
              return collapse(op, output);
            })
            .Case([&](linalg::LinalgOp op) {
              return permute(op, output, element);
            })
            .Case([&](arith::TruncFOp op) -> std::optional<Positions> {
              if (getElementTypeOrSelf(op.getType()) != element)
                return std::nullopt;
              return output.positions;
            })
            .Default(std::nullopt);
    if (!positions)
      break;
    output = {user->getResult(0), normalize(user->getResult(0), *positions)};
  }
  return output;
}
