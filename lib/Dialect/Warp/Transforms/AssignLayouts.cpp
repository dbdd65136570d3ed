//===- AssignLayouts.cpp - Say which thread holds which element -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"

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
  tile::AbiOp abi = tile::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  auto emitError = [&] { return abi.emitError(); };
  int64_t warps = abi.getSchedule().getWarps() * abi.getSchedule().getCluster();
  if (abi.getSchedule().getMatrixUnit() == tile::MatrixUnit::WarpGroup)
    layout = warp::WgmmaAttr::getChecked(emitError, &getContext(), warps / 4);
  else
    layout = warp::MmaSyncAttr::getChecked(emitError, &getContext(), warps);
  if (!layout)
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
    // The tile dialect verifies that.
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    constant.setValueAttr(
        splat.resizeSplat(cast<ShapedType>(constant.getType())));
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return signalPassFailure();
}
