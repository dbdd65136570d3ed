//===- DelayAtomicAdds.cpp - Delay atomic additions -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For stores whose plan says `late`, the loop carries the tile and its address,
// and iteration i+1 adds the tile of iteration i after it has issued its first
// dots. The memory queue then accepts the tile while the MMA unit is busy.
//
//===----------------------------------------------------------------------===//

#include "Roles/RoleAssignment.h"
#include "Scheduling/AsyncDots.h"
#include "Scheduling/PipelineLoop.h"

#include "fovea/Dialect/Launch/IR/PassRemarks.h"
#include "fovea/Dialect/Tile/IR/Semaphores.h"
#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

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
struct DelayAtomicAddsPass
    : warp::impl::WarpDelayAtomicAddsBase<DelayAtomicAddsPass> {
  void runOnKernel() override;
};

/// The delayed stores of one loop, and the dots that run concurrently with
/// them.
class DelayedAdds {
public:
  DelayedAdds(scf::ForOp loop, ArrayRef<tile::StoreOp> stores)
      : loop(loop), stores(stores) {}

  /// Returns the reason if the stores can't be delayed, else an empty string.
  /// Does not change the IR.
  StringRef analyze(ArrayRef<plan::RoleAttr> roles);
  void apply();

private:
  bool isInside(Value value) { return !loop.isDefinedOutsideOfLoop(value); }
  std::optional<llvm::SetVector<Operation *>> findSlice(Value value);
  bool isUsedOtherwise(Value memory);
  bool canIssueTogether(DotOp dot);
  llvm::SetVector<Value> findAddresses();
  SmallVector<Value> makeInits(OpBuilder &b);
  Operation *issueTogether();
  void emitDelayedStores(OpBuilder &b, ValueRange values);

  scf::ForOp loop;
  SmallVector<tile::StoreOp> stores;
  /// In program order.
  llvm::SetVector<Operation *> dots;
};
} // namespace

/// The ops of one iteration that compute `value` from the induction variable,
/// the loop-carried values and values from outside, in order. None if one of
/// them has effects or regions.
std::optional<llvm::SetVector<Operation *>>
DelayedAdds::findSlice(Value value) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions inIteration;
  inIteration.inclusive = inIteration.omitBlockArguments = true;
  inIteration.filter = [&](Operation *op) {
    return loop->isProperAncestor(op);
  };
  if (failed(getBackwardSlice(value, &slice, inIteration)) ||
      !llvm::all_of(slice, [](Operation *op) {
        return isMemoryEffectFree(op) && op->getNumRegions() == 0;
      }))
    return std::nullopt;
  return slice;
}

/// True if the dot may be issued directly after the first dot.
bool DelayedAdds::canIssueTogether(DotOp dot) {
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

/// True if the loop reads or overwrites the memory, which must not happen
/// between an iteration and its delayed addition.
bool DelayedAdds::isUsedOtherwise(Value memory) {
  return llvm::any_of(memory.getUsers(), [&](Operation *user) {
    auto store = dyn_cast<tile::AddsToMemoryOpInterface>(user);
    return loop->isProperAncestor(user) &&
           !(store && store.isAddition() && store.getTarget() == memory);
  });
}

static SmallVector<Value> getAddress(tile::StoreOp store) {
  SmallVector<Value> address(store.getIndices());
  if (store.getLimit())
    address.push_back(store.getLimit());
  return address;
}

/// The addresses of the stores that the loop computes: indices and limits.
llvm::SetVector<Value> DelayedAdds::findAddresses() {
  llvm::SetVector<Value> addresses;
  for (tile::StoreOp store : stores)
    for (Value operand : getAddress(store))
      if (isInside(operand))
        addresses.insert(operand);
  return addresses;
}

StringRef DelayedAdds::analyze(ArrayRef<plan::RoleAttr> roles) {
  if (!runsOnce(loop))
    return "its loop may run zero iterations";
  WalkResult semaphores = loop.getBody()->walk([](Operation *op) {
    return isa<tile::SemaphoreWaitOp, tile::SemaphoreReleaseOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (semaphores.wasInterrupted())
    return "its loop waits for or releases a semaphore";
  llvm::SetVector<plan::RoleAttr> owners;
  for (tile::StoreOp store : stores) {
    if (!store.getAdd())
      return "it does not add";
    owners.insert(lookupOwner(roles, store.getNameAttr()));
    if (isUsedOtherwise(store.getTarget()))
      return "its loop reads or overwrites the memory that it adds to";
    for (Value operand : getAddress(store))
      if (!findSlice(operand))
        return "its address depends on an op of its loop that has effects or "
               "regions";
  }
  for (DotOp dot : loop.getBody()->getOps<DotOp>())
    if (plan::RoleAttr owner = lookupOwner(roles, dot.getNameAttr());
        owners.remove(owner))
      dots.insert(dot);
  if (!owners.empty())
    return "its owner has no dot in the loop";
  for (tile::StoreOp store : stores)
    if (!dots.front()->isBeforeInBlock(store))
      return "its owner has no dot before it";
  for (Operation *dot : dots)
    if (cast<DotOp>(dot).getAsync() || !canIssueTogether(cast<DotOp>(dot)))
      return "the first dots of the owners can't be issued together";
  return {};
}

/// The tiles and addresses that the first iteration adds: zeros at its own
/// addresses.
SmallVector<Value> DelayedAdds::makeInits(OpBuilder &b) {
  SmallVector<Value> inits;
  for (tile::StoreOp store : stores)
    inits.push_back(arith::ConstantOp::create(
        b, store.getLoc(), b.getZeroAttr(store.getValue().getType())));
  IRMapping first;
  first.map(loop.getInductionVar(), loop.getLowerBound());
  first.map(loop.getRegionIterArgs(), loop.getInitArgs());
  for (Value address : findAddresses()) {
    std::optional<llvm::SetVector<Operation *>> slice = findSlice(address);
    for (Operation *op : *slice)
      if (!first.contains(op->getResult(0)))
        b.clone(*op, first);
    inits.push_back(first.lookup(address));
  }
  return inits;
}

/// Issues all dots after the first one, and waits for each at its old position.
/// Returns the last dot.
Operation *DelayedAdds::issueTogether() {
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

/// Emits the delayed stores. `values` are the tiles, then the addresses.
void DelayedAdds::emitDelayedStores(OpBuilder &b, ValueRange values) {
  IRMapping mapping;
  for (auto [address, value] :
       llvm::zip_equal(findAddresses(), values.drop_front(stores.size())))
    mapping.map(address, value);
  for (auto [store, value] : llvm::zip(stores, values)) {
    mapping.map(store.getValue(), value);
    b.clone(*store, mapping);
  }
}

void DelayedAdds::apply() {
  IRRewriter rewriter(loop);
  SmallVector<Value> inits = makeInits(rewriter);
  unsigned count = loop.getNumResults();
  auto addYields = [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
    SmallVector<Value> yields;
    for (tile::StoreOp store : stores)
      yields.push_back(store.getValue());
    llvm::append_range(yields, findAddresses());
    return yields;
  };
  loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, addYields));
  rewriter.setInsertionPointAfter(issueTogether());
  emitDelayedStores(rewriter,
                    ValueRange(loop.getRegionIterArgs()).drop_front(count));
  rewriter.setInsertionPointAfter(loop);
  emitDelayedStores(rewriter, loop.getResults().drop_front(count));
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
    DelayedAdds additions(loop, ofLoop);
    StringRef reason =
        !plan.hasRoles() || !plan.getUnit().isAsynchronous()
            ? "the kernel has no roles, or its MMA unit is synchronous"
        : !loop ? "it is in no loop"
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
