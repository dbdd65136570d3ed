//===- PrintRoles.cpp - Print the role assignment -------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints which roles will run each op with effects, for debugging of plans.
//
//===----------------------------------------------------------------------===//

#include "Roles/RoleAssignment.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPPRINTROLES
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct PrintRolesPass : warp::impl::WarpPrintRolesBase<PrintRolesPass> {
  void runOnKernel() override {
    launch::AbiOp abi = launch::requireAbi(getOperation());
    if (!abi)
      return signalPassFailure();
    SmallVector<plan::RoleAttr> roles = getRoles(getOperation(), abi);
    if (roles.empty())
      return;
    RoleAssignment assignment(getOperation(), roles);
    if (failed(assignment.compute()))
      return signalPassFailure();
    assignment.print(llvm::outs());
    numRoles += roles.size();
  }
};
} // namespace
