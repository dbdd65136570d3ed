//===- AssignDiagonalLayouts.cpp - Diagonals of each warp -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "CopiesWithLayout.h"
#include "RoleAssignment.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPASSIGNDIAGONALLAYOUTS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

namespace {
struct AssignDiagonalLayoutsPass
    : warp::impl::WarpAssignDiagonalLayoutsBase<AssignDiagonalLayoutsPass> {
  void runOnKernel() override;
};
} // namespace

static LogicalResult assignLayout(tile::DiagonalsOp diagonals, int64_t warps) {
  auto layout = warp::DiagonalsAttr::getChecked(
      [&] { return diagonals.emitOpError(); }, diagonals.getContext(),
      diagonals.getResult().getType().getDimSize(0), warps);
  if (!layout)
    return failure();
  OpBuilder b(diagonals);
  IRMapping mapping;
  Value source = warp::copyWithLayout(b, diagonals.getSource(), layout,
                                      "diagonals", mapping);
  if (!source)
    return failure();
  diagonals.getSourceMutable().assign(source);
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

void AssignDiagonalLayoutsPass::runOnKernel() {
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
