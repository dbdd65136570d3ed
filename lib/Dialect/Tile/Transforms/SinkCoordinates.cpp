//===- SinkCoordinates.cpp - Sink coordinates to their uses ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/Transforms/Passes.h"

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace fovea::tile {
#define GEN_PASS_DEF_SINKCOORDINATES
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fovea::tile

using namespace mlir;
using namespace fovea::tile;

/// True for tiles that are cheaper to recompute than to keep in registers: they
/// are computed from smaller operands, with at most one operation per element.
/// `cheap` contains the cheap ops before `op`.
static bool isCheap(Operation *op, const SetVector<Operation *> &cheap) {
  if (op->getNumResults() != 1 || !isRegisterTile(op->getResult(0).getType()))
    return false;
  if (isa<IotaOp, RampOp, BroadcastOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return true;
  // Sums and comparisons of coordinates, and logic on these: the mask of a
  // block needs as many predicates as the block has elements. Sinking ops on
  // other tiles would keep their operands live instead.
  return isa<arith::AddIOp, arith::SubIOp, arith::CmpIOp, arith::AndIOp,
             arith::OrIOp, arith::XOrIOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return cheap.contains(operand.getDefiningOp());
         });
}

/// Clones `op` before its first use in each block that uses it. In its own
/// block `op` itself moves. Returns the number of clones.
static unsigned sink(Operation *op) {
  llvm::MapVector<Block *, Operation *> firstUses;
  for (Operation *user : op->getUsers()) {
    Operation *&first = firstUses[user->getBlock()];
    if (!first || user->isBeforeInBlock(first))
      first = user;
  }
  if (firstUses.empty()) {
    op->erase();
    return 0;
  }
  unsigned copies = 0;
  for (auto [block, first] : firstUses) {
    if (block == op->getBlock())
      continue;
    Operation *copy = OpBuilder(first).clone(*op);
    op->getResult(0).replaceUsesWithIf(
        copy->getResult(0), [block = block](OpOperand &use) {
          return use.getOwner()->getBlock() == block;
        });
    ++copies;
  }
  if (op->use_empty())
    op->erase();
  else
    op->moveBefore(firstUses.lookup(op->getBlock()));
  return copies;
}

namespace {

struct SinkCoordinates
    : fovea::tile::impl::SinkCoordinatesBase<SinkCoordinates> {
  using SinkCoordinatesBase::SinkCoordinatesBase;

  void runOnKernel() override {
    SetVector<Operation *> cheap;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isCheap(op, cheap))
        cheap.insert(op);
    });
    // Users first, so that operands follow the clones of their users.
    for (Operation *op : llvm::reverse(cheap))
      numSunk += sink(op);
  }
};

} // namespace
