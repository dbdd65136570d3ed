//===- AssignRelativePositionLayouts.cpp - Diagonals of each warp ---------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "Layouts/RematerializeInLayout.h"
#include "Roles/RoleAssignment.h"
#include "Layouts/LayoutClasses.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPASSIGNRELATIVEPOSITIONLAYOUTS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

namespace {
struct AssignRelativePositionLayoutsPass
    : warp::impl::WarpAssignRelativePositionLayoutsBase<AssignRelativePositionLayoutsPass> {
  void runOnKernel() override;
};
} // namespace

/// What one warp stores for others to read lies in its lanes, if it is not laid
/// out.
static LogicalResult assignLanes(Value buffer) {
  for (Operation *user : buffer.getUsers()) {
    auto store = dyn_cast<warp::LocalStoreOp>(user);
    if (!store || !warp::getUnassignedTile(store.getValue().getType()))
      continue;
    if (failed(warp::layOut(store.getValueMutable(),
                            warp::LanesAttr::get(store.getContext()),
                            "what diagonals are made of")))
      return failure();
  }
  return success();
}

/// The diagonals of each lane where they are loaded, else of each warp.
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
  if (failed(warp::layOut(diagonals.getSourceMutable(), layout, "diagonals")))
    return failure();
  if (load && load->use_empty())
    load.erase();
  return success();
}

/// The warps that part the rows of the result: those of the role that adds to
/// memory by it, or else the kernel's.
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
