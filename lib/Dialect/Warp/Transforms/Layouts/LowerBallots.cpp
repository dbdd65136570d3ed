//===- LowerBallots.cpp - Lower tile.if_any to a ballot and a branch ------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers `tile.if_any` to `warp.any` and `scf.if`. A tile that a branch returns
// only for a ballot is reduced to its ballot inside the branch, so that the
// branch returns one bit.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPLOWERBALLOTS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct LowerBallotsPass : warp::impl::WarpLowerBallotsBase<LowerBallotsPass> {
  void runOnKernel() override;
};
} // namespace

/// Replaces the op by `warp.any` and a branch on its result.
static scf::IfOp lowerIfAny(IRRewriter &b, tile::IfAnyOp op) {
  Location loc = op.getLoc();
  b.setInsertionPoint(op);
  Value any = AnyOp::create(b, loc, op.getCondition());
  auto branch = scf::IfOp::create(b, loc, op.getResultTypes(), any,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  Block *body = &op.getBody().front();
  Operation *yield = body->getTerminator();
  b.setInsertionPoint(yield);
  scf::YieldOp::create(b, loc, yield->getOperands());
  b.eraseOp(yield);
  b.inlineBlockBefore(body, branch.thenBlock(), branch.thenBlock()->end(),
                      op.getInits());
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, op.getInits());
  b.replaceOp(op, branch.getResults());
  return branch;
}

/// True if only ballots read the tile result `index`, and it is false when the
/// branch is not taken. The ballot can then move into the branch.
static bool isReadByBallotsOnly(scf::IfOp branch, unsigned index) {
  Value result = branch.getResult(index);
  return !result.use_empty() && tile::isRegisterTile(result.getType()) &&
         matchPattern(branch.elseYield().getOperand(index), m_Zero()) &&
         llvm::all_of(result.getUsers(),
                      [](Operation *user) { return isa<AnyOp>(user); });
}

/// Moves ballots into the branch; returns their number.
static size_t moveBallotsInside(IRRewriter &b, scf::IfOp branch) {
  Location loc = branch.getLoc();
  SmallVector<unsigned> moved;
  for (unsigned index = 0; index < branch.getNumResults(); ++index)
    if (isReadByBallotsOnly(branch, index))
      moved.push_back(index);
  if (moved.empty())
    return 0;
  SmallVector<Type> types(branch.getResultTypes());
  types.append(moved.size(), b.getI1Type());
  b.setInsertionPoint(branch);
  auto wider = scf::IfOp::create(b, loc, types, branch.getCondition(),
                                 /*addThenBlock=*/false,
                                 /*addElseBlock=*/false);
  wider.getThenRegion().takeBody(branch.getThenRegion());
  wider.getElseRegion().takeBody(branch.getElseRegion());
  for (auto [position, index] : llvm::enumerate(moved)) {
    scf::YieldOp then = wider.thenYield(), otherwise = wider.elseYield();
    b.setInsertionPoint(then);
    Value ballot = AnyOp::create(b, loc, then.getOperand(index));
    then->insertOperands(then.getNumOperands(), ballot);
    b.setInsertionPoint(otherwise);
    Value none = arith::ConstantIntOp::create(b, loc, 0, 1);
    otherwise->insertOperands(otherwise.getNumOperands(), none);
    Value flag = wider.getResult(branch.getNumResults() + position);
    SmallVector<Operation *> users(branch.getResult(index).getUsers());
    for (Operation *user : users)
      b.replaceOp(user, flag);
  }
  b.replaceOp(branch, wider.getResults().take_front(branch.getNumResults()));
  return moved.size();
}

void LowerBallotsPass::runOnKernel() {
  SmallVector<tile::IfAnyOp> ops;
  getOperation().walk([&](tile::IfAnyOp op) { ops.push_back(op); });
  IRRewriter b(&getContext());
  SmallVector<scf::IfOp> branches;
  for (tile::IfAnyOp op : ops)
    branches.push_back(lowerIfAny(b, op));
  for (scf::IfOp branch : branches)
    numInside += moveBallotsInside(b, branch);
  numBranches += branches.size();
}
