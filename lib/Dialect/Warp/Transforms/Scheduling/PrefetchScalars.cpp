//===- PrefetchScalars.cpp - Scalars read an iteration ahead ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scheduling/LoopMemoryEffects.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPPREFETCHSCALARS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
struct PrefetchScalarsPass
    : warp::impl::WarpPrefetchScalarsBase<PrefetchScalarsPass> {
  void runOnKernel() override;
};

/// A read in a loop's body, or in a branch of it.
struct ScalarRead {
  memref::LoadOp load;
  /// The branch that it stands in, or null.
  scf::IfOp branch;
  /// Indices that may be the same for iterations that follow each other.
  SmallVector<Value> clamped;

  Operation *getAncestor() {
    return branch ? branch.getOperation() : load.getOperation();
  }
  bool isInThen() { return load->getParentRegion() == &branch.getThenRegion(); }
};

/// Moves reads of one loop an iteration ahead.
class Prefetcher {
public:
  explicit Prefetcher(scf::ForOp loop) : loop(loop) {}

  /// Number of reads that were moved.
  unsigned run();

private:
  /// Adds what `value` is computed from to `slice`; false if that is not known
  /// an iteration ahead.
  bool addSlice(Value value);
  /// Whether `index`, of which all is in `slice`, moves with the loop's index.
  bool isMoving(Value index);
  /// Whether it may yet stay the same from an iteration to the next.
  bool isClamped(Value index);
  /// Whether the read is known an iteration ahead; `branch` may be null.
  bool canMove(memref::LoadOp load, scf::IfOp branch);
  void findReads();
  /// What the loop carries, for the iteration of `index`: conditions of
  /// branches, then for each read its value and the clamped indices it is from,
  /// those `last` read where nothing is read again.
  SmallVector<Value> readAt(OpBuilder &b, Value index, ValueRange last);
  /// What was last read before the first iteration.
  SmallVector<Value> makeNothing(OpBuilder &b);
  Operation *findPlace();

  scf::ForOp loop;
  SmallVector<ScalarRead> reads;
  llvm::SetVector<scf::IfOp> branches;
  llvm::SetVector<Operation *> slice;
};
} // namespace

bool Prefetcher::addSlice(Value value) {
  if (value == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() != 0 || isa<ShapedType>(value.getType()) ||
      !isPure(op))
    return false;
  if (slice.contains(op))
    return true;
  if (!llvm::all_of(op->getOperands(),
                    [&](Value operand) { return addSlice(operand); }))
    return false;
  slice.insert(op);
  return true;
}

bool Prefetcher::canMove(memref::LoadOp load, scf::IfOp branch) {
  llvm::SetVector<Operation *> before = slice;
  bool can = loop.isDefinedOutsideOfLoop(load.getMemRef()) &&
             !isSharedBuffer(load.getMemRefType()) &&
             (!branch || addSlice(branch.getCondition())) &&
             llvm::all_of(load.getIndices(),
                          [&](Value index) { return addSlice(index); });
  if (!can)
    slice = std::move(before);
  return can;
}

bool Prefetcher::isMoving(Value index) {
  return !loop.isDefinedOutsideOfLoop(index);
}

bool Prefetcher::isClamped(Value index) {
  if (index == loop.getInductionVar() || !isMoving(index))
    return false;
  Operation *op = index.getDefiningOp();
  return !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp>(
             op) ||
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return isClamped(operand); });
}

void Prefetcher::findReads() {
  auto consider = [&](memref::LoadOp load, scf::IfOp branch) {
    // What every iteration reads alike is for loop-invariant code motion.
    if (llvm::all_of(load->getOperands(), [&](Value operand) {
          return loop.isDefinedOutsideOfLoop(operand);
        }))
      return;
    if (!canMove(load, branch))
      return;
    ScalarRead read{load, branch, {}};
    // One index that goes on makes it another place.
    auto moving = llvm::make_filter_range(
        load.getIndices(), [&](Value index) { return isMoving(index); });
    if (llvm::all_of(moving, [&](Value index) { return isClamped(index); }))
      llvm::append_range(read.clamped, moving);
    reads.push_back(read);
    if (branch)
      branches.insert(branch);
  };
  for (Operation &op : *loop.getBody()) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      consider(load, {});
    if (auto branch = dyn_cast<scf::IfOp>(op))
      for (Region &region : branch->getRegions())
        for (auto load : region.getOps<memref::LoadOp>())
          consider(load, branch);
  }
}

SmallVector<Value> Prefetcher::makeNothing(OpBuilder &b) {
  Location loc = loop.getLoc();
  SmallVector<Value> nothing;
  for (ScalarRead &read : reads) {
    Type type = read.load.getType();
    nothing.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
    // No place in a tensor.
    for (size_t index = 0; index < read.clamped.size(); ++index)
      nothing.push_back(arith::ConstantIndexOp::create(b, loc, -1));
  }
  return nothing;
}

SmallVector<Value> Prefetcher::readAt(OpBuilder &b, Value index,
                                      ValueRange last) {
  Location loc = loop.getLoc();
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), index);
  for (Operation *op : slice)
    b.clone(*op, mapping);
  Value exists =
      arith::CmpIOp::create(b, loc,
                            loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                                  : arith::CmpIPredicate::slt,
                            index, loop.getUpperBound());
  SmallVector<Value> made;
  for (scf::IfOp branch : branches)
    made.push_back(mapping.lookupOrDefault(branch.getCondition()));
  for (ScalarRead &read : reads) {
    Location at = read.load.getLoc();
    Value reaches = exists;
    if (read.branch) {
      Value condition = mapping.lookupOrDefault(read.branch.getCondition());
      if (!read.isInThen())
        condition = arith::XOrIOp::create(
            b, at, condition, arith::ConstantIntOp::create(b, at, 1, 1));
      reaches = arith::AndIOp::create(b, at, exists, condition);
    }
    ValueRange before = last.take_front(1 + read.clamped.size());
    last = last.drop_front(before.size());
    Value moves;
    for (auto [index, held] : llvm::zip(read.clamped, before.drop_front())) {
      Value differs =
          arith::CmpIOp::create(b, at, arith::CmpIPredicate::ne,
                                mapping.lookupOrDefault(index), held);
      moves = moves ? arith::OrIOp::create(b, at, moves, differs).getResult()
                    : differs;
    }
    if (moves)
      reaches = arith::AndIOp::create(b, at, reaches, moves);
    auto branch = scf::IfOp::create(
        b, at, reaches,
        [&](OpBuilder &b, Location loc) {
          SmallVector<Value> found(b.clone(*read.load, mapping)->getResults());
          for (Value index : read.clamped)
            found.push_back(mapping.lookupOrDefault(index));
          scf::YieldOp::create(b, loc, found);
        },
        [&](OpBuilder &b, Location loc) {
          scf::YieldOp::create(b, loc, before);
        });
    llvm::append_range(made, branch.getResults());
  }
  return made;
}

/// Where the next iteration's reads are in flight for longest and nothing waits
/// for their addresses: behind the products that are issued after the last use.
Operation *Prefetcher::findPlace() {
  Operation *last = reads.front().getAncestor();
  for (ScalarRead &read : reads)
    if (last->isBeforeInBlock(read.getAncestor()))
      last = read.getAncestor();
  for (Operation *op = last->getNextNode(); op; op = op->getNextNode())
    if (isa<DotWaitOp>(op))
      return op;
  return last->getNextNode();
}

unsigned Prefetcher::run() {
  if (!loop.getInductionVar().getType().isIndex() || writesGlobalMemory(loop))
    return 0;
  findReads();
  if (reads.empty())
    return 0;
  IRRewriter rewriter(loop);
  SmallVector<Value> first =
      readAt(rewriter, loop.getLowerBound(), makeNothing(rewriter));
  auto rotate = [&](OpBuilder &b, Location loc, ArrayRef<BlockArgument> now) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(findPlace());
    Value next =
        arith::AddIOp::create(b, loc, loop.getInductionVar(), loop.getStep());
    // As conditions and indices are before they are replaced.
    SmallVector<Value> later =
        readAt(b, next, ValueRange(now).drop_front(branches.size()));
    for (scf::IfOp branch : branches) {
      branch.getConditionMutable().assign(now.front());
      now = now.drop_front();
    }
    for (ScalarRead &read : reads) {
      rewriter.replaceOp(read.load, now.front());
      now = now.drop_front(1 + read.clamped.size());
    }
    return later;
  };
  (void)loop.replaceWithAdditionalYields(
      rewriter, first, /*replaceInitOperandUsesInLoop=*/false, rotate);
  return reads.size();
}

void PrefetchScalarsPass::runOnKernel() {
  SmallVector<scf::ForOp> loops;
  getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    numPrefetched += Prefetcher(loop).run();
}
