//===- DelayAtomicAdds.cpp - Additions under the next round's product -----===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduling/AsyncDots.h"
#include "Scheduling/PipelineLoop.h"
#include "Roles/RoleAssignment.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"
#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"
#include "fovea/Schedule/Schedule.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPDELAYATOMICADDS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct DelayAtomicAddsPass : warp::impl::WarpDelayAtomicAddsBase<DelayAtomicAddsPass> {
  void runOnKernel() override;
};

/// The stores of one loop that add late, and the products that they are under.
class LateAdditions {
public:
  LateAdditions(scf::ForOp loop, ArrayRef<tile::StoreOp> stores)
      : loop(loop), stores(stores) {}

  /// Why it can't be done, without a change; empty if it can.
  StringRef analyze(ArrayRef<plan::RoleAttr> roles);
  void apply();

private:
  bool isInside(Value value) { return !loop.isDefinedOutsideOfLoop(value); }
  std::optional<llvm::SetVector<Operation *>> findNeeds(Value value);
  bool isUsedOtherwise(Value memory);
  bool mayIssueTogether(DotOp dot);
  llvm::SetVector<Value> findPlaces();
  SmallVector<Value> makeInits(OpBuilder &b);
  Operation *issueTogether();
  void addCarried(OpBuilder &b, ValueRange values);

  scf::ForOp loop;
  SmallVector<tile::StoreOp> stores;
  /// In the loop's order.
  llvm::SetVector<Operation *> dots;
};
} // namespace

/// The ops that compute `value` in a round from nothing but its number and what
/// it starts with, in their order; none if something else is needed.
std::optional<llvm::SetVector<Operation *>>
LateAdditions::findNeeds(Value value) {
  llvm::SetVector<Operation *> needs;
  BackwardSliceOptions inRound;
  inRound.inclusive = inRound.omitBlockArguments = true;
  inRound.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  if (failed(getBackwardSlice(value, &needs, inRound)) ||
      !llvm::all_of(needs, [](Operation *op) {
        return isMemoryEffectFree(op) && op->getNumRegions() == 0;
      }))
    return std::nullopt;
  return needs;
}

/// Whether the product may be issued where the first one is.
bool LateAdditions::mayIssueTogether(DotOp dot) {
  if (!isSharedBuffer(dot.getA().getType()))
    return false;
  DominanceInfo dominance;
  for (Value operand : dot->getOperands())
    if (!dominance.properlyDominates(operand, dots.front()))
      return false;
  for (Operation *op = dots.front(); op != dot; op = op->getNextNode())
    if (!isMemoryEffectFree(op) && !isa<DotOp>(op))
      return false;
  return true;
}

/// Whether the loop reads the memory, or overwrites it: that must not happen
/// between a round and its addition.
bool LateAdditions::isUsedOtherwise(Value memory) {
  return llvm::any_of(memory.getUsers(), [&](Operation *user) {
    auto store = dyn_cast<tile::AddsToMemoryOpInterface>(user);
    return loop->isProperAncestor(user) &&
           !(store && store.isAddition() && store.getTarget() == memory);
  });
}

static SmallVector<Value> getPlace(tile::StoreOp store) {
  SmallVector<Value> place(store.getIndices());
  if (store.getLimit())
    place.push_back(store.getLimit());
  return place;
}

/// What the stores get from the round, but the tiles.
llvm::SetVector<Value> LateAdditions::findPlaces() {
  llvm::SetVector<Value> places;
  for (tile::StoreOp store : stores)
    for (Value operand : getPlace(store))
      if (isInside(operand))
        places.insert(operand);
  return places;
}

StringRef LateAdditions::analyze(ArrayRef<plan::RoleAttr> roles) {
  if (!runsOnce(loop))
    return "its loop may run no times";
  WalkResult turns = loop.getBody()->walk([](Operation *op) {
    return isa<tile::SemaphoreWaitOp, tile::SemaphoreReleaseOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (turns.wasInterrupted())
    return "tiles of its loop take turns";
  llvm::SetVector<plan::RoleAttr> owners;
  for (tile::StoreOp store : stores) {
    if (!store.getAdd())
      return "it does not add";
    owners.insert(lookupOwner(roles, store.getNameAttr()));
    if (isUsedOtherwise(store.getTarget()))
      return "its loop does more with that memory than to add to it";
    for (Value operand : getPlace(store))
      if (!findNeeds(operand))
        return "where it adds is read in the round";
  }
  for (DotOp dot : loop.getBody()->getOps<DotOp>())
    if (plan::RoleAttr owner = lookupOwner(roles, dot.getNameAttr());
        owners.remove(owner))
      dots.insert(dot);
  if (!owners.empty())
    return "its owner has no product in the loop";
  for (tile::StoreOp store : stores)
    if (!dots.front()->isBeforeInBlock(store))
      return "its owner has no product ahead of it";
  for (Operation *dot : dots)
    if (cast<DotOp>(dot).getAsync() || !mayIssueTogether(cast<DotOp>(dot)))
      return "its owner's first product can't be issued with the others'";
  return {};
}

/// What the first round adds: zeros, where its own tiles go.
SmallVector<Value> LateAdditions::makeInits(OpBuilder &b) {
  SmallVector<Value> inits;
  for (tile::StoreOp store : stores)
    inits.push_back(arith::ConstantOp::create(
        b, store.getLoc(), b.getZeroAttr(store.getValue().getType())));
  IRMapping first;
  first.map(loop.getInductionVar(), loop.getLowerBound());
  first.map(loop.getRegionIterArgs(), loop.getInitArgs());
  for (Value place : findPlaces()) {
    std::optional<llvm::SetVector<Operation *>> needs = findNeeds(place);
    for (Operation *op : *needs)
      if (!first.contains(op->getResult(0)))
        b.clone(*op, first);
    inits.push_back(first.lookup(place));
  }
  return inits;
}

/// All products at the first one, each waited for where it was. The last of
/// them.
Operation *LateAdditions::issueTogether() {
  Operation *last = nullptr;
  for (Operation *op : dots) {
    DotWaitOp wait = makeAsync(cast<DotOp>(op));
    Operation *issued = wait.getPending().getDefiningOp();
    if (last)
      issued->moveAfter(last);
    last = issued;
  }
  return last;
}

/// Adds what the loop carries: the tiles, then what says where they go.
void LateAdditions::addCarried(OpBuilder &b, ValueRange values) {
  IRMapping mapping;
  for (auto [place, value] :
       llvm::zip_equal(findPlaces(), values.drop_front(stores.size())))
    mapping.map(place, value);
  for (auto [store, value] : llvm::zip(stores, values)) {
    mapping.map(store.getValue(), value);
    b.clone(*store, mapping);
  }
}

void LateAdditions::apply() {
  IRRewriter rewriter(loop);
  SmallVector<Value> inits = makeInits(rewriter);
  unsigned count = loop.getNumResults();
  auto addYields = [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
    SmallVector<Value> yields;
    for (tile::StoreOp store : stores)
      yields.push_back(store.getValue());
    llvm::append_range(yields, findPlaces());
    return yields;
  };
  loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, addYields));
  rewriter.setInsertionPointAfter(issueTogether());
  addCarried(rewriter, ValueRange(loop.getRegionIterArgs()).drop_front(count));
  rewriter.setInsertionPointAfter(loop);
  addCarried(rewriter, loop.getResults().drop_front(count));
  for (tile::StoreOp store : stores)
    rewriter.eraseOp(store);
}

void DelayAtomicAddsPass::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  plan::KernelAttr plan = abi.getPlan();
  llvm::MapVector<Operation *, SmallVector<tile::StoreOp>> stores;
  getOperation().walk([&](tile::StoreOp store) {
    if (plan.getStore(store.getNameAttr()).isLate)
      stores[store->getParentOp()].push_back(store);
  });
  SmallVector<plan::RoleAttr> roles = getRoles(getOperation(), abi);
  auto leave = [&](ArrayRef<tile::StoreOp> left, StringRef reason) {
    for (tile::StoreOp store : left)
      abi.setPlanAttr(abi.getPlan().withoutStore(store.getNameAttr()));
    return reportMissed(left.front(), abi, "late", reason);
  };
  int64_t late = 0;
  for (auto &[parent, ofLoop] : stores) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    LateAdditions additions(loop, ofLoop);
    StringRef reason =
        !plan.hasRoles() || !plan.getUnit().isAsynchronous()
            ? "all warps run one program, or the matrix unit's products are "
              "made at once"
        : !loop ? "it stands in no loop"
                : additions.analyze(roles);
    if (!reason.empty()) {
      if (failed(leave(ofLoop, reason)))
        return signalPassFailure();
      continue;
    }
    additions.apply();
    late += ofLoop.size();
  }
  numStores += late;
  if (late)
    reportDone(getOperation(), abi, "late", "Stores", late);
}
