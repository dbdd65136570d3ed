//===- AssignLayouts.cpp - Say which thread holds which element -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPASSIGNLAYOUTS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

namespace {
struct AssignLayoutsPass
    : warp::impl::WarpAssignLayoutsBase<AssignLayoutsPass> {
  void runOnOperation() override;

private:
  /// The type with a layout, or null after a diagnostic at `loc`.
  Type convert(Location loc, Type type);

  Attribute layout;
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

Type AssignLayoutsPass::convert(Location loc, Type type) {
  if (auto pending = dyn_cast<warp::PendingType>(type)) {
    Type tile = convert(loc, pending.getTile());
    return tile ? warp::PendingType::get(&getContext(),
                                         cast<RankedTensorType>(tile))
                : Type();
  }
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa_and_nonnull<tile::RegAttr>(tensor.getEncoding()))
    return type;
  return RankedTensorType::getChecked([&] { return mlir::emitError(loc); },
                                      tensor.getShape(),
                                      tensor.getElementType(), layout);
}

void AssignLayoutsPass::runOnOperation() {
  tile::AbiOp abi = tile::lookupAbi(getOperation());
  if (!abi) {
    getOperation().emitError("kernel has no 'tile.abi' beside it");
    return signalPassFailure();
  }
  auto emitError = [&] { return abi.emitError(); };
  int64_t warps = abi.getSchedule().getWarps() * abi.getSchedule().getCluster();
  if (abi.getSchedule().isSpecialized())
    layout = warp::WgmmaAttr::getChecked(emitError, &getContext(), warps / 4);
  else
    layout = warp::MmaSyncAttr::getChecked(emitError, &getContext(), warps);
  if (!layout)
    return signalPassFailure();
  SmallVector<tile::BallotOp> ballots;
  getOperation().walk([&](tile::BallotOp op) { ballots.push_back(op); });
  for (tile::BallotOp ballot : ballots)
    if (failed(assignLanes(ballot)))
      return signalPassFailure();
  auto convertValue = [&](Value value) {
    Type type = convert(value.getLoc(), value.getType());
    if (type)
      value.setType(type);
    return type != nullptr;
  };
  WalkResult walk = getOperation().walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (!convertValue(result))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (!convertValue(argument))
            return WalkResult::interrupt();
    if (auto held = dyn_cast<tile::HeldRowsOp>(op)) {
      Type type = convert(held.getLoc(), held.getTile());
      if (!type)
        return WalkResult::interrupt();
      held.setTile(cast<RankedTensorType>(type));
    }
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (!constant || !tile::isRegisterTile(constant.getType()))
      return WalkResult::advance();
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat) {
      constant.emitError("a constant tile must be a splat");
      return WalkResult::interrupt();
    }
    constant.setValueAttr(
        splat.resizeSplat(cast<ShapedType>(constant.getType())));
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return signalPassFailure();
}
