//===- Rematerialize.cpp - Recompute values of another stage --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clones cheap ops into the later stage of their users, before a loop is
// pipelined.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/Rematerialize.h"

#include "Scheduling/LoopSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// The most ops that recompute a large tile.
static constexpr size_t kMostOps = 6;

namespace {
class Rematerializer {
public:
  Rematerializer(scf::ForOp loop, function_ref<int64_t(Operation *)> getStage)
      : loop(loop), getStage(getStage) {}

  void splitViews();
  void recomputeTiles();
  void recomputeIndices();

private:
  int64_t getUserStage(Operation *user) {
    return getStage(loop.getBody()->findAncestorOpInBlock(*user));
  }
  bool isComputedEarlier(Value value, Operation *user) {
    Operation *def = value.getDefiningOp();
    return def && def->getBlock() == loop.getBody() &&
           getStage(def) > getUserStage(user);
  }
  bool isCheap(Value value, llvm::SetVector<Operation *> &made);
  Value cloneIndexTile(OpBuilder &b, Value tile, Operation *user,
                       IRMapping &mapping);

  scf::ForOp loop;
  function_ref<int64_t(Operation *)> getStage;
};
} // namespace

/// Clones views of stages for users of a later stage, so that the loop carries
/// stage indices.
void Rematerializer::splitViews() {
  SmallVector<StageOp> views(loop.getBody()->getOps<StageOp>());
  for (StageOp view : views)
    for (OpOperand &use :
         llvm::make_early_inc_range(view.getResult().getUses()))
      if (isComputedEarlier(view.getResult(), use.getOwner()))
        use.set(OpBuilder(use.getOwner()).clone(*view)->getResult(0));
}

/// True if a few elementwise ops compute the large tile from small tiles.
/// `made` receives these ops.
bool Rematerializer::isCheap(Value value, llvm::SetVector<Operation *> &made) {
  Operation *op = value.getDefiningOp();
  if (!isLargeTile(value) || !op || !loop->isProperAncestor(op))
    return !isLargeTile(value) || matchPattern(value, m_Constant());
  if (op->getBlock() != loop.getBody() || op->getNumRegions() != 0 ||
      !isa<tile::BroadcastOp, arith::AddFOp, arith::SubFOp, arith::MulFOp,
           arith::NegFOp, math::AbsFOp>(op))
    return false;
  made.insert(op);
  return made.size() <= kMostOps &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isCheap(operand, made); });
}

void Rematerializer::recomputeTiles() {
  SmallVector<OpOperand *> uses;
  for (Operation &op : loop.getBody()->without_terminator())
    if (op.getNumRegions() == 0)
      for (OpOperand &operand : op.getOpOperands())
        if (isLargeTile(operand.get()) && isComputedEarlier(operand.get(), &op))
          uses.push_back(&operand);
  for (OpOperand *use : uses) {
    llvm::SetVector<Operation *> made;
    if (!isCheap(use->get(), made))
      continue;
    OpBuilder b(use->getOwner());
    IRMapping mapping;
    for (Operation &op : *loop.getBody())
      if (made.contains(&op))
        b.clone(op, mapping);
    use->set(mapping.lookup(use->get()));
  }
}

/// Clones the earlier ops that compute a tile, down to scalars.
Value Rematerializer::cloneIndexTile(OpBuilder &b, Value tile, Operation *user,
                                     IRMapping &mapping) {
  Operation *op = tile.getDefiningOp();
  bool isMade = isa<RankedTensorType>(tile.getType()) &&
                isComputedEarlier(tile, user) && op->getNumRegions() == 0 &&
                (isMemoryEffectFree(op) || tile::readsUnwrittenTensor(op));
  if (mapping.contains(tile) || !isMade)
    return mapping.lookupOrDefault(tile);
  for (Value operand : op->getOperands())
    cloneIndexTile(b, operand, user, mapping);
  b.clone(*op, mapping);
  return mapping.lookup(tile);
}

void Rematerializer::recomputeIndices() {
  for (auto scatter : loop.getBody()->getOps<tile::ScatterOp>()) {
    OpBuilder b(scatter);
    IRMapping mapping;
    for (OpOperand &index : scatter.getIndicesMutable())
      if (isa<RankedTensorType>(index.get().getType()) &&
          !isLargeTile(index.get()))
        index.set(cloneIndexTile(b, index.get(), scatter, mapping));
  }
}

void warp::rematerialize(scf::ForOp loop,
                         function_ref<int64_t(Operation *)> getStage) {
  Rematerializer rematerializer(loop, getStage);
  rematerializer.splitViews();
  rematerializer.recomputeTiles();
  rematerializer.recomputeIndices();
}
