//===- TwoStages.cpp - What a loop does a block ahead -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TwoStages.h"
#include "CopiesWithLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

SmallVector<Operation *> TwoStages::getNeeded(Operation *op, bool carried) {
  SmallVector<Operation *> needed;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      if (auto argument = dyn_cast<BlockArgument>(operand)) {
        if (!carried || argument.getOwner() != loop.getBody() ||
            argument == loop.getInductionVar())
          continue;
        operand = loop.getTiedLoopYieldedValue(argument)->get();
      }
      Operation *def = operand.getDefiningOp();
      if (def && loop->isProperAncestor(def) && inBody(def) != op)
        needed.push_back(inBody(def));
    }
  });
  return needed;
}

/// Whether the op, or one inside, uses a result of `defs` in one iteration.
bool TwoStages::usesResultOf(Operation *op, const Ops &defs) {
  return llvm::any_of(getNeeded(op, /*carried=*/false),
                      [&](Operation *def) { return defs.contains(def); });
}

/// `op` with what uses its result in the iteration, and what uses that.
TwoStages::Ops TwoStages::getBehind(Operation *op) {
  Ops result;
  result.insert(op);
  for (Operation *next = op->getNextNode();
       next && next != loop.getBody()->getTerminator();
       next = next->getNextNode())
    if (usesResultOf(next, result))
      result.insert(next);
  return result;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// A view of its own for a dot that reads, a block later, what an early one
/// reads: the loop carries numbers of stages, not views.
static void splitViews(DotOp dot, const llvm::SetVector<Value> &earlyBuffers) {
  for (OpOperand &operand : dot->getOpOperands()) {
    auto view = operand.get().getDefiningOp<StageOp>();
    if (view && earlyBuffers.contains(view.getBuffer()) && !view->hasOneUse())
      operand.set(OpBuilder(dot).clone(*view)->getResult(0));
  }
}

/// What register operands of late dots are computed from: stage 0 does it.
bool TwoStages::needsEarly(Operation *op) {
  Ops needed;
  needed.insert(op);
  for (size_t index = 0; index < needed.size(); ++index) {
    auto dot = dyn_cast<DotOp>(needed[index]);
    if (dot && isEarly(dot))
      return true;
    needed.insert_range(getNeeded(needed[index], /*carried=*/false));
  }
  return false;
}

TwoStages::Ops TwoStages::getOperandsNeeds() {
  Ops needs;
  for (DotOp dot : early)
    needs.insert(dot);
  for (DotOp dot : late)
    for (Value operand : {Value(dot.getA()), Value(dot.getAcc())}) {
      Operation *def = operand.getDefiningOp();
      if (def && lateRoundings.contains(def))
        def = cast<arith::TruncFOp>(def).getIn().getDefiningOp();
      bool isInLoop = def && loop->isProperAncestor(def) && !isa<StageOp>(def);
      // Of accumulators only those that early dots rescale.
      if (isInLoop && (operand != dot.getAcc() || needsEarly(inBody(def))))
        needs.insert(inBody(def));
    }
  for (size_t index = 0; index < needs.size(); ++index)
    for (Operation *needed : getNeeded(needs[index]))
      if (!lateRoots.contains(needed))
        needs.insert(needed);
  return needs;
}

/// Whether stage 1 uses the wider tile, and only before it is rounded.
bool TwoStages::isLastUse(arith::TruncFOp round) {
  auto isUsedBefore = [&](Operation *user) {
    return user == round ||
           (user->getBlock() == loop.getBody() && user->isBeforeInBlock(round));
  };
  auto isOfStageOne = [&](Operation *user) {
    return user != round && lateRoots.contains(user);
  };
  return llvm::all_of(round.getIn().getUsers(), isUsedBefore) &&
         llvm::any_of(round.getIn().getUsers(), isOfStageOne);
}

void TwoStages::findLateRoundings() {
  for (DotOp dot : late) {
    auto round = dot.getA().getDefiningOp<arith::TruncFOp>();
    if (round && round->getBlock() == loop.getBody() && round->hasOneUse() &&
        !lateRoots.contains(round) && isLastUse(round))
      lateRoundings.insert(round);
  }
  lateRoots.insert_range(lateRoundings);
}

/// Late dots, their waits and other roles' dots, what is computed from what
/// these give, and what brings their operands. What is read from shared memory
/// for stage 1 alone is read there.
void TwoStages::findLateRoots() {
  llvm::SetVector<Value> earlyBuffers, buffers;
  for (DotOp dot : early)
    earlyBuffers.insert_range(getRingBuffers(dot));
  for (auto dot : loop.getBody()->getOps<DotOp>()) {
    if (isEarly(dot))
      continue;
    splitViews(dot, earlyBuffers);
    lateRoots.insert(dot);
    if (dot.getAsync())
      lateRoots.insert(getDotWait(dot));
    buffers.insert_range(getRingBuffers(dot));
  }
  for (Operation &op : loop.getBody()->without_terminator())
    if (usesResultOf(&op, lateRoots))
      lateRoots.insert(&op);
  findLateRoundings();
  // What changes a product's operand stays ahead of it.
  loop->walk([&](ZeroRowsOp zero) {
    Value buffer = getRingBuffer(zero.getBuffer());
    changes[buffer].push_back(inBody(zero));
    if (buffers.contains(buffer) && !earlyBuffers.contains(buffer))
      lateRoots.insert(inBody(zero));
  });
  Ops needs = getOperandsNeeds();
  // A branch that reads is one op of the round.
  loop->walk([&](LocalLoadOp load) {
    Operation *reader = inBody(load);
    if (needs.contains(reader))
      return;
    lateRoots.insert(reader);
    buffers.insert(getRingBuffer(load.getSource()));
    // What goes to memory of it is of the same round.
    for (Operation *user : getBehind(reader))
      if (!isMemoryEffectFree(user))
        lateRoots.insert(user);
  });
  for (Value buffer : buffers) {
    if (!earlyBuffers.contains(buffer))
      lateRoots.insert_range(rings[buffer].fills);
    lateRoots.insert_range(rings[buffer].releases);
  }
}

/// All that has effects and is no part of the late dots, and what those and the
/// late dots' register operands need. What is read for stage 1 alone is read
/// there.
void TwoStages::findFirstStage() {
  SmallVector<Operation *> worklist;
  auto add = [&](Operation *op) {
    if (!lateRoots.contains(op) && firstStage.insert(op))
      worklist.push_back(op);
  };
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isMemoryEffectFree(&op) && !isa<tile::LoadOp>(op))
      add(&op);
  for (Operation *op : getOperandsNeeds())
    add(op);
  while (!worklist.empty())
    for (Operation *needed : getNeeded(worklist.pop_back_val()))
      add(needed);
}

/// Sums of what stage 0 computes are a part of it: the loop would carry whole
/// tiles to add them up in stage 1.
void TwoStages::addReductions() {
  Ops reductions;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (firstStage.contains(&op) || lateRoots.contains(&op) ||
        !isMemoryEffectFree(&op) ||
        !(isa<tile::ReduceOp>(op) || usesResultOf(&op, reductions)))
      continue;
    if (!llvm::all_of(getNeeded(&op), [&](Operation *needed) {
          return firstStage.contains(needed);
        }))
      continue;
    firstStage.insert(&op);
    reductions.insert(&op);
  }
}

/// What stage 0's results are rounded to is carried, not they: half of the
/// registers.
void TwoStages::addRoundings() {
  for (auto round : loop.getBody()->getOps<arith::TruncFOp>()) {
    Ops found;
    found.insert(round);
    bool isReady = true;
    for (size_t index = 0; index < found.size() && isReady; ++index) {
      Operation *op = found[index];
      isReady = !lateRoots.contains(op) && isMemoryEffectFree(op);
      for (Operation *needed : getNeeded(op))
        if (!firstStage.contains(needed))
          found.insert(needed);
    }
    if (isReady)
      firstStage.insert_range(found);
  }
}

/// Whether the tile is wide and differs along both sides: each of its elements
/// takes a register.
static bool isLarge(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementTypeBitWidth() >= 32 &&
         llvm::none_of(type.getShape(), [](int64_t size) { return size == 1; });
}

/// Whether a few ops of stage 0, which `made` gets in the order of uses, make
/// the large tile of tiles that are not.
bool TwoStages::isCheap(Value value, Ops &made) {
  constexpr size_t kMostOps = 6;
  Operation *op = value.getDefiningOp();
  if (!isLarge(value) || !op || !loop->isProperAncestor(op))
    return !isLarge(value) || matchPattern(value, m_Constant());
  if (op->getBlock() != loop.getBody() || op->getNumRegions() != 0 ||
      !isa<tile::BroadcastOp, arith::AddFOp, arith::SubFOp, arith::MulFOp,
           arith::NegFOp, math::AbsFOp>(op))
    return false;
  made.insert(op);
  return made.size() <= kMostOps &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return isCheap(operand, made); });
}

/// What rows and columns have is carried to stage 1, not what a few ops make of
/// it for each pair.
void TwoStages::computeAgain() {
  SmallVector<OpOperand *> uses;
  for (Operation &op : loop.getBody()->without_terminator())
    if (!firstStage.contains(&op) && op.getNumRegions() == 0)
      for (OpOperand &operand : op.getOpOperands()) {
        Operation *def = operand.get().getDefiningOp();
        if (def && firstStage.contains(def) && isLarge(operand.get()))
          uses.push_back(&operand);
      }
  for (OpOperand *use : uses) {
    Ops made;
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

/// Row and column indices are not carried to the role that adds to memory: it
/// has other layouts.
void TwoStages::makePlacesAgain() {
  for (auto scatter : loop.getBody()->getOps<tile::ScatterOp>()) {
    if (firstStage.contains(scatter))
      continue;
    OpBuilder b(scatter);
    IRMapping mapping;
    for (OpOperand &index : scatter.getIndicesMutable())
      if (isa<RankedTensorType>(index.get().getType()) && !isLarge(index.get()))
        index.set(cloneTile(b, index.get(), mapping, [&](Operation *op) {
          return firstStage.contains(op);
        }));
  }
}

void TwoStages::findAfterLate() {
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!firstStage.contains(&op))
      continue;
    bool isAfter = false;
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands()) {
        auto argument = dyn_cast<BlockArgument>(operand);
        if (argument && argument.getOwner() == loop.getBody() &&
            argument != loop.getInductionVar()) {
          Operation *def =
              loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp();
          isAfter |= def && lateRoots.contains(def);
        }
        Operation *def = operand.getDefiningOp();
        isAfter |= def && loop->isProperAncestor(def) &&
                   afterLate.contains(inBody(def));
      }
    });
    if (isAfter)
      afterLate.insert(&op);
  }
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

/// What stage 1 needs for `op` goes first.
void TwoStages::addLead(Operation *op) {
  if (firstStage.contains(op) || !lead.insert(op))
    return;
  for (Operation *needed : getNeeded(op, /*carried=*/false))
    addLead(needed);
  SmallVector<Value> read;
  if (auto dot = dyn_cast<DotOp>(op))
    read = getRingBuffers(dot);
  else if (auto load = dyn_cast<LocalLoadOp>(op))
    read.push_back(getRingBuffer(load.getSource()));
  for (Value buffer : read) {
    if (auto *ring = rings.find(buffer); ring != rings.end())
      for (Operation *fill : ring->second.fills)
        addLead(fill);
    for (Operation *change : changes.lookup(buffer))
      addLead(change);
  }
}

void TwoStages::findChain() {
  Ops needsLate;
  llvm::SetVector<Value> stored;
  for (DotOp dot : late) {
    Ops users = getBehind(getDotWait(dot));
    bool feedsAnother = llvm::any_of(users, [&](Operation *op) {
      auto other = dyn_cast<DotOp>(op);
      return isa<LocalStoreOp>(op) ||
             (other && users.contains(other.getA().getDefiningOp()));
    });
    if (!feedsAnother) {
      behind.insert_range(users);
      continue;
    }
    needsLate.insert_range(users);
    for (Operation *user : users)
      if (Value buffer = getFilledBuffer(user))
        stored.insert(buffer);
  }
  auto isChained = [&](DotOp dot) {
    return needsLate.contains(dot) ||
           llvm::any_of(getRingBuffers(dot),
                        [&](Value buffer) { return stored.contains(buffer); });
  };
  auto *found = llvm::find_if(late, isChained);
  if (found == late.end()) {
    behind.clear();
    return;
  }
  chained = *found;
  for (auto dot : loop.getBody()->getOps<DotOp>())
    if (!dot.getAsync())
      behind.insert_range(getBehind(dot));
  for (Operation &op : *loop.getBody())
    if (isa<ConsumerReleaseOp>(op))
      behind.insert(&op);
  // What is read on chip ahead of the first product stays ahead of it.
  for (Operation &op : *loop.getBody())
    if (isa<tile::LoadOp>(op) ||
        (isa<LocalLoadOp>(op) && op.isBeforeInBlock(late.front())))
      addLead(&op);
  for (DotOp dot : late)
    if (!isChained(dot) && !lateRoundings.contains(dot.getA().getDefiningOp()))
      addLead(dot);
}

LogicalResult TwoStages::analyze() {
  for (DotOp dot : llvm::concat<DotOp>(early, late)) {
    if (!dot.getResult().hasOneUse())
      return failure();
    DotWaitOp wait = getDotWait(dot);
    if (!wait || wait->getBlock() != loop.getBody())
      return failure();
  }
  if (early.empty() || late.empty())
    return failure();
  // Other roles' dots stay as they are, and are waited for where they stand.
  for (auto dot : loop.getBody()->getOps<DotOp>())
    if (dot.getAsync() && !isEarly(dot) && !llvm::is_contained(late, dot))
      return failure();
  rings = findRings(loop.getBody());
  findLateRoots();
  // An early dot that needs what a late one gives can't be issued before it.
  if (llvm::any_of(early, [&](DotOp dot) { return lateRoots.contains(dot); }))
    return failure();
  findFirstStage();
  addReductions();
  addRoundings();
  computeAgain();
  makePlacesAgain();
  findAfterLate();
  if (llvm::any_of(firstStage,
                   [&](Operation *op) { return usesResultOf(op, lateRoots); }))
    return failure();
  // A late dot whose operand stage 0 would need at once has nothing to hide
  // under.
  if (llvm::any_of(early, [&](DotOp dot) { return afterLate.contains(dot); }))
    return failure();
  findChain();
  return success();
}

StagedOrder TwoStages::getOrder() {
  Operation *earlyWait = getDotWait(early.back()),
            *lateWait = chained ? getDotWait(chained) : nullptr;
  for (DotOp dot : early)
    if (getDotWait(dot)->isBeforeInBlock(earlyWait))
      earlyWait = getDotWait(dot);
  for (DotOp dot : late)
    if (!chained && (!lateWait || getDotWait(dot)->isBeforeInBlock(lateWait)))
      lateWait = getDotWait(dot);
  StagedOrder order;
  Ops placed;
  auto append = [&](unsigned stage, function_ref<bool(Operation *)> belongs) {
    for (Operation &op : loop.getBody()->without_terminator())
      if (firstStage.contains(&op) == (stage == 0) && belongs(&op) &&
          placed.insert(&op))
        order.emplace_back(&op, stage);
  };
  append(1, [&](Operation *op) { return lead.contains(op); });
  append(1, [&](Operation *op) {
    return chained && op->isBeforeInBlock(chained) && !behind.contains(op);
  });
  // The next scores are issued, then the last product, and softmax runs under
  // it. What came of the last product is rescaled after its wait.
  append(0, [&](Operation *op) { return op->isBeforeInBlock(earlyWait); });
  append(1, [&](Operation *op) {
    return op->isBeforeInBlock(lateWait) && !behind.contains(op);
  });
  // Dots end in the order of their issue: those issued before the early dots
  // have ended when these have, and free the registers of their operands.
  append(1, [&](Operation *op) {
    return llvm::any_of(late, [&](DotOp dot) {
      return getDotWait(dot) == op &&
             lateRoundings.contains(dot.getA().getDefiningOp());
    });
  });
  append(0, [&](Operation *op) { return !afterLate.contains(op); });
  append(1, [&](Operation *op) { return true; });
  append(0, [&](Operation *op) { return true; });
  return order;
}

SmallVector<Operation *> TwoStages::getRescales() {
  SmallVector<Operation *> rescales;
  auto add = [&](Value value) {
    Operation *def = value.getDefiningOp();
    if (def && afterLate.contains(def) && !llvm::is_contained(rescales, def))
      rescales.push_back(def);
  };
  for (DotOp dot : late) {
    auto concat = dot.getAcc().getDefiningOp<ConcatColumnsOp>();
    if (!concat)
      add(dot.getAcc());
    else
      llvm::for_each(concat.getParts(), add);
  }
  return rescales;
}
