//===- PrefetchScalars.cpp - Prefetch scalar loads ------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads scalars of global memory one iteration ahead, so that the loads are
// outstanding during an iteration. Conditions of the branches around the loads
// are computed ahead with them. If the address may repeat in consecutive
// iterations, the loop also carries the indices and skips the load while they
// stay equal. Many loads of one memref share a branch, and are skipped only if
// their indices do not advance in each iteration.
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

// Up to so many loads of one memref have branches of their own.
static constexpr unsigned kMostBranches = 3;

/// A scalar load in a loop body, or in a branch of it.
struct ScalarRead {
  memref::LoadOp load;
  /// The branch that contains the load, or null.
  scf::IfOp branch;
  /// Indices that may be equal in consecutive iterations.
  SmallVector<Value> clamped;

  Operation *getAncestor() {
    return branch ? branch.getOperation() : load.getOperation();
  }
  bool isInThen() const {
    scf::IfOp around = branch;
    return load->getParentRegion() == &around.getThenRegion();
  }
};

/// Moves the loads of one loop one iteration ahead.
class Prefetcher {
public:
  explicit Prefetcher(scf::ForOp loop) : loop(loop) {}

  /// Returns the number of loads moved.
  unsigned run();

private:
  /// Adds the ops that compute `value` to `slice`. False if it can't be
  /// computed one iteration ahead.
  bool addSlice(Value value);
  /// True if `index` depends on the induction variable.
  bool isVariant(Value index);
  /// True if such an index is not affine in the induction variable: it may be
  /// equal in consecutive iterations.
  bool isClamped(Value index);
  /// By how much such an index advances at least in each iteration, until it
  /// reaches a bound; 0 if it may be equal in consecutive iterations.
  int64_t getAdvance(Value index);
  /// True if both reads can be in one branch.
  bool sharesBranch(const ScalarRead &first, const ScalarRead &other);
  /// Whether the value of a read changes; `before` has its last indices.
  Value emitCondition(OpBuilder &b, const ScalarRead &read, Value exists,
                      ValueRange before, const IRMapping &mapping);
  /// Loads the values of reads if the condition is true.
  ResultRange loadAt(OpBuilder &b, ArrayRef<ScalarRead> together,
                     Value condition, const IRMapping &mapping,
                     ValueRange before);
  /// True if the load can run one iteration ahead; `branch` may be null.
  bool canMove(memref::LoadOp load, scf::IfOp branch);
  void findReads();
  /// True if the loop has many loads of the same memref.
  bool isOneOfMany(const ScalarRead &read) {
    memref::LoadOp load = read.load;
    return counts.lookup(load.getMemRef()) > kMostBranches;
  }
  /// Emits the values that the loop carries, for iteration `index`: the branch
  /// conditions, then for each load its value and clamped indices. If nothing
  /// is loaded, value and indices are those in `last`.
  SmallVector<Value> readAt(OpBuilder &b, Value index, ValueRange last);
  /// Emits the initial `last`: zeros, with indices that match no element.
  SmallVector<Value> makeInitialValues(OpBuilder &b);
  Operation *findInsertionPoint();

  scf::ForOp loop;
  SmallVector<ScalarRead> reads;
  /// The number of reads of each memref.
  llvm::SmallDenseMap<Value, unsigned> counts;
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

bool Prefetcher::isVariant(Value index) {
  return !loop.isDefinedOutsideOfLoop(index);
}

bool Prefetcher::isClamped(Value index) {
  if (index == loop.getInductionVar() || !isVariant(index))
    return false;
  Operation *op = index.getDefiningOp();
  return !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp>(
             op) ||
         llvm::any_of(op->getOperands(),
                      [&](Value operand) { return isClamped(operand); });
}

int64_t Prefetcher::getAdvance(Value index) {
  constexpr int64_t kSome = 1;
  if (index == loop.getInductionVar())
    return getConstantIntValue(loop.getStep()).value_or(kSome);
  Operation *op = index.getDefiningOp();
  if (!op || !isVariant(index))
    return 0;
  SmallVector<int64_t> advances;
  for (Value operand : op->getOperands())
    if (isVariant(operand)) {
      advances.push_back(getAdvance(operand));
      if (advances.back() == 0)
        return 0;
    }
  if (isa<arith::AddIOp, arith::SubIOp, arith::IndexCastOp>(op))
    return advances.size() == 1 ? advances.front() : kSome;
  if (isa<arith::MulIOp>(op)) {
    std::optional<int64_t> factor = getConstantIntValue(op->getOperand(1));
    bool isScaled = advances.size() == 1 && factor && *factor > 0;
    return isScaled ? advances.front() * *factor : kSome;
  }
  if (advances.size() != 1 || !isVariant(op->getOperand(0)))
    return 0;
  if (isa<arith::DivUIOp>(op)) {
    std::optional<int64_t> divisor = getConstantIntValue(op->getOperand(1));
    return divisor && *divisor > 0 ? advances.front() / *divisor : 0;
  }
  bool isBounded =
      isa<arith::MinUIOp, arith::MinSIOp, arith::MaxUIOp, arith::MaxSIOp>(op);
  return isBounded ? advances.front() : 0;
}

void Prefetcher::findReads() {
  auto consider = [&](memref::LoadOp load, scf::IfOp branch) {
    // Loads of a loop-invariant address are left to LICM.
    if (llvm::all_of(load->getOperands(), [&](Value operand) {
          return loop.isDefinedOutsideOfLoop(operand);
        }))
      return;
    if (!canMove(load, branch))
      return;
    ScalarRead read{load, branch, {}};
    // One strictly advancing index changes the address in each iteration.
    auto variant = llvm::make_filter_range(
        load.getIndices(), [&](Value index) { return isVariant(index); });
    if (llvm::all_of(variant, [&](Value index) { return isClamped(index); }))
      llvm::append_range(read.clamped, variant);
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
  for (ScalarRead &read : reads)
    ++counts[read.load.getMemRef()];
  for (ScalarRead &read : reads)
    if (isOneOfMany(read) && llvm::any_of(read.clamped, [&](Value index) {
          return getAdvance(index) != 0;
        }))
      read.clamped.clear();
}

SmallVector<Value> Prefetcher::makeInitialValues(OpBuilder &b) {
  Location loc = loop.getLoc();
  SmallVector<Value> initial;
  for (ScalarRead &read : reads) {
    Type type = read.load.getType();
    initial.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
    // No valid index is negative.
    for (size_t index = 0; index < read.clamped.size(); ++index)
      initial.push_back(arith::ConstantIndexOp::create(b, loc, -1));
  }
  return initial;
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
  for (ArrayRef<ScalarRead> left = reads; !left.empty();) {
    size_t count = 1;
    while (count < left.size() && sharesBranch(left.front(), left[count]))
      ++count;
    ArrayRef<ScalarRead> together = left.take_front(count);
    left = left.drop_front(count);
    size_t values = 0;
    for (const ScalarRead &read : together)
      values += 1 + read.clamped.size();
    ValueRange before = last.take_front(values);
    last = last.drop_front(values);
    Value reaches = emitCondition(b, together.front(), exists, before, mapping);
    llvm::append_range(made, loadAt(b, together, reaches, mapping, before));
  }
  return made;
}

bool Prefetcher::sharesBranch(const ScalarRead &first,
                              const ScalarRead &other) {
  auto isPlain = [&](const ScalarRead &read) {
    return isOneOfMany(read) && read.clamped.empty() && !read.branch;
  };
  memref::LoadOp load = first.load, otherLoad = other.load;
  return isPlain(first) && isPlain(other) &&
         load.getMemRef() == otherLoad.getMemRef();
}

Value Prefetcher::emitCondition(OpBuilder &b, const ScalarRead &read,
                                Value exists, ValueRange before,
                                const IRMapping &mapping) {
  memref::LoadOp load = read.load;
  Location at = load.getLoc();
  Value reaches = exists;
  if (scf::IfOp branch = read.branch) {
    Value condition = mapping.lookupOrDefault(branch.getCondition());
    if (!read.isInThen())
      condition = arith::XOrIOp::create(
          b, at, condition, arith::ConstantIntOp::create(b, at, 1, 1));
    reaches = arith::AndIOp::create(b, at, exists, condition);
  }
  Value moves;
  for (auto [index, previous] : llvm::zip(read.clamped, before.drop_front())) {
    Value differs =
        arith::CmpIOp::create(b, at, arith::CmpIPredicate::ne,
                              mapping.lookupOrDefault(index), previous);
    moves = moves ? arith::OrIOp::create(b, at, moves, differs).getResult()
                  : differs;
  }
  return moves ? arith::AndIOp::create(b, at, reaches, moves).getResult()
               : reaches;
}

ResultRange Prefetcher::loadAt(OpBuilder &b, ArrayRef<ScalarRead> together,
                               Value condition, const IRMapping &mapping,
                               ValueRange before) {
  memref::LoadOp first = together.front().load;
  auto branch = scf::IfOp::create(
      b, first.getLoc(), condition,
      [&](OpBuilder &b, Location loc) {
        SmallVector<Value> found;
        IRMapping scope = mapping;
        for (const ScalarRead &read : together) {
          memref::LoadOp load = read.load;
          llvm::append_range(found, b.clone(*load, scope)->getResults());
          for (Value index : read.clamped)
            found.push_back(mapping.lookupOrDefault(index));
        }
        scf::YieldOp::create(b, loc, found);
      },
      [&](OpBuilder &b, Location loc) {
        scf::YieldOp::create(b, loc, before);
      });
  return branch.getResults();
}

/// The insertion point of the next iteration's loads: after the dots that are
/// issued after the last use. There the loads are outstanding longest, and no
/// dot waits for the computation of their addresses.
Operation *Prefetcher::findInsertionPoint() {
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
      readAt(rewriter, loop.getLowerBound(), makeInitialValues(rewriter));
  auto rotate = [&](OpBuilder &b, Location loc, ArrayRef<BlockArgument> now) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(findInsertionPoint());
    Value next =
        arith::AddIOp::create(b, loc, loop.getInductionVar(), loop.getStep());
    // Emit this before the conditions and loads are replaced.
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
