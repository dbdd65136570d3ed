//===- AssignRelativePositionLayouts.cpp - Relative positions -------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assigns layouts to the sources of `tile.diagonals`, which hold one value per
// relative position. A source loaded from shared memory is laid out per lane,
// because each lane loads the values that it needs; a computed source is laid
// out per warp. Runs before the other tiles get layouts.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "Layouts/LayoutClasses.h"
#include "Layouts/RematerializeInLayout.h"
#include "Roles/RoleAssignment.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPASSIGNRELATIVEPOSITIONLAYOUTS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

namespace {
struct AssignRelativePositionLayoutsPass
    : warp::impl::WarpAssignRelativePositionLayoutsBase<
          AssignRelativePositionLayoutsPass> {
  void runOnKernel() override;
};
} // namespace

/// Gives the lane layout to tiles without a layout that one warp stores to
/// `buffer` for the others.
static LogicalResult assignLanes(Value buffer) {
  for (Operation *user : buffer.getUsers()) {
    auto store = dyn_cast<warp::LocalStoreOp>(user);
    if (!store || !warp::getUnassignedTile(store.getValue().getType()))
      continue;
    if (failed(warp::layOut(store.getValueMutable(),
                            warp::LanesAttr::get(store.getContext()),
                            "the stored source of relative-position values")))
      return failure();
  }
  return success();
}

/// The layout of a loaded source (per lane), or of a computed one (per warp).
static Attribute makeLayout(tile::DiagonalsOp diagonals, int64_t warps,
                            bool isLoaded) {
  auto emitError = [&] { return diagonals.emitOpError(); };
  MLIRContext *context = diagonals.getContext();
  int64_t rows = diagonals.getResult().getType().getDimSize(0);
  if (isLoaded)
    return warp::FragmentDiagonalsAttr::getChecked(emitError, context, rows,
                                                   warps);
  return warp::DiagonalsAttr::getChecked(emitError, context, rows, warps);
}

static LogicalResult assignLayout(tile::DiagonalsOp diagonals, int64_t warps) {
  auto load = diagonals.getSource().getDefiningOp<warp::LocalLoadOp>();
  Attribute layout = makeLayout(diagonals, warps, /*isLoaded=*/bool(load));
  if (!layout || (load && failed(assignLanes(load.getSource()))))
    return failure();
  if (failed(warp::layOut(diagonals.getSourceMutable(), layout,
                          "the source of relative-position values")))
    return failure();
  if (load && load->use_empty())
    load.erase();
  return success();
}

/// The number of warps that partition the rows of the result: those of the role
/// that scatters by it, or else the kernel's.
static int64_t getWarps(tile::DiagonalsOp diagonals,
                        ArrayRef<plan::RoleAttr> roles, plan::KernelAttr plan) {
  int64_t warps = plan->warps;
  for (Operation *user : diagonals->getUsers())
    if (auto scatter = dyn_cast<tile::ScatterOp>(user))
      if (plan::RoleAttr role = warp::lookupOwner(roles, scatter.getNameAttr()))
        warps = role.getWarps();
  return warps * plan->cluster;
}

void AssignRelativePositionLayoutsPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  SmallVector<plan::RoleAttr> roles = warp::getRoles(getOperation(), abi);
  SmallVector<tile::DiagonalsOp> ops;
  getOperation().walk([&](tile::DiagonalsOp op) { ops.push_back(op); });
  for (tile::DiagonalsOp op : ops)
    if (failed(assignLayout(op, getWarps(op, roles, abi.getPlan()))))
      return signalPassFailure();
  numDiagonals += ops.size();
}
