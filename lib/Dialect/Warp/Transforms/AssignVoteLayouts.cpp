//===- AssignVoteLayouts.cpp - One candidate a lane -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPASSIGNVOTELAYOUTS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

namespace {
struct AssignVoteLayoutsPass
    : warp::impl::WarpAssignVoteLayoutsBase<AssignVoteLayoutsPass> {
  void runOnOperation() override;
};
} // namespace

/// A copy of what `value` is computed from, right before its use, with one
/// column a lane; null after a diagnostic.
static Value cloneForLanes(OpBuilder &b, Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  bool isCopied =
      op && op->getNumRegions() == 0 && op->getNumResults() == 1 &&
      (isMemoryEffectFree(op) || hasSingleEffect<MemoryEffects::Read>(op));
  if (!isCopied) {
    mlir::emitError(value.getLoc(), "a vote's flags must be computed by ops "
                                    "that can be repeated before it");
    return {};
  }
  for (Value operand : op->getOperands())
    if (tile::isRegisterTile(operand.getType()) &&
        !cloneForLanes(b, operand, mapping))
      return {};
  auto type = cast<RankedTensorType>(value.getType());
  auto lanes = RankedTensorType::getChecked(
      [&] { return mlir::emitError(value.getLoc()); }, type.getShape(),
      type.getElementType(), warp::LanesAttr::get(b.getContext()));
  if (!lanes)
    return {};
  Operation *copy = b.clone(*op, mapping);
  copy->getResult(0).setType(lanes);
  // The tile dialect takes no other constants.
  if (auto constant = dyn_cast<arith::ConstantOp>(copy))
    constant.setValueAttr(
        cast<SplatElementsAttr>(constant.getValue()).resizeSplat(lanes));
  return copy->getResult(0);
}

/// Votes have a layout of their own, and so has what they are about.
static LogicalResult assignLanes(tile::BallotOp ballot) {
  OpBuilder b(ballot);
  IRMapping mapping;
  Value flags = cloneForLanes(b, ballot.getFlags(), mapping);
  if (!flags)
    return failure();
  ballot.getFlagsMutable().assign(flags);
  return success();
}

void AssignVoteLayoutsPass::runOnOperation() {
  SmallVector<tile::BallotOp> ballots;
  getOperation().walk([&](tile::BallotOp op) { ballots.push_back(op); });
  for (tile::BallotOp ballot : ballots)
    if (failed(assignLanes(ballot)))
      return signalPassFailure();
}
