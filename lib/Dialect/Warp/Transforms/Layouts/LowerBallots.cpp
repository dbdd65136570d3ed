//===- LowerBallots.cpp - Votes and branches for tile.if_any --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// A vote, and a branch on it.
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

/// The tile-shaped results of `branch` that only votes read, and that are false
/// if it is not taken: the vote moves into the branch.
static bool isVotedOn(scf::IfOp branch, unsigned index) {
  Value result = branch.getResult(index);
  return !result.use_empty() && tile::isRegisterTile(result.getType()) &&
         matchPattern(branch.elseYield().getOperand(index), m_Zero()) &&
         llvm::all_of(result.getUsers(),
                      [](Operation *user) { return isa<AnyOp>(user); });
}

/// How many votes are in the branch now.
static size_t voteInside(IRRewriter &b, scf::IfOp branch) {
  Location loc = branch.getLoc();
  SmallVector<unsigned> voted;
  for (unsigned index = 0; index < branch.getNumResults(); ++index)
    if (isVotedOn(branch, index))
      voted.push_back(index);
  if (voted.empty())
    return 0;
  SmallVector<Type> types(branch.getResultTypes());
  types.append(voted.size(), b.getI1Type());
  b.setInsertionPoint(branch);
  auto wider = scf::IfOp::create(b, loc, types, branch.getCondition(),
                                 /*addThenBlock=*/false,
                                 /*addElseBlock=*/false);
  wider.getThenRegion().takeBody(branch.getThenRegion());
  wider.getElseRegion().takeBody(branch.getElseRegion());
  for (auto [position, index] : llvm::enumerate(voted)) {
    scf::YieldOp then = wider.thenYield(), otherwise = wider.elseYield();
    b.setInsertionPoint(then);
    Value vote = AnyOp::create(b, loc, then.getOperand(index));
    then->insertOperands(then.getNumOperands(), vote);
    b.setInsertionPoint(otherwise);
    Value no = arith::ConstantIntOp::create(b, loc, 0, 1);
    otherwise->insertOperands(otherwise.getNumOperands(), no);
    Value flag = wider.getResult(branch.getNumResults() + position);
    SmallVector<Operation *> users(branch.getResult(index).getUsers());
    for (Operation *user : users)
      b.replaceOp(user, flag);
  }
  b.replaceOp(branch, wider.getResults().take_front(branch.getNumResults()));
  return voted.size();
}

void LowerBallotsPass::runOnKernel() {
  SmallVector<tile::IfAnyOp> ops;
  getOperation().walk([&](tile::IfAnyOp op) { ops.push_back(op); });
  IRRewriter b(&getContext());
  SmallVector<scf::IfOp> branches;
  for (tile::IfAnyOp op : ops)
    branches.push_back(lowerIfAny(b, op));
  for (scf::IfOp branch : branches)
    numInside += voteInside(b, branch);
  numBranches += branches.size();
}
