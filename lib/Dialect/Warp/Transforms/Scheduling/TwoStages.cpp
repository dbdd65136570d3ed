//===- TwoStages.cpp - Two-stage schedule of a loop -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements TwoStages: the dependences within an iteration, the choice of a
// stage for each op, chained dots, and the resulting order.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/TwoStages.h"

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

/// True if the op or a nested op uses a result of `defs` in the same iteration.
bool TwoStages::usesResultOf(Operation *op, const Ops &defs) {
  return llvm::any_of(getNeeded(op, /*carried=*/false),
                      [&](Operation *def) { return defs.contains(def); });
}

/// `op` and its transitive users in the same iteration.
TwoStages::Ops TwoStages::getTransitiveUsers(Operation *op) {
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

/// Clones the stage view of a dot that reads the buffer of an early dot one
/// block later, so that the loop carries stage indices and not views.
static void splitViews(DotOp dot, const llvm::SetVector<Value> &earlyBuffers) {
  for (OpOperand &operand : dot->getOpOperands()) {
    auto view = operand.get().getDefiningOp<StageOp>();
    if (view && earlyBuffers.contains(view.getBuffer()) && !view->hasOneUse())
      operand.set(OpBuilder(dot).clone(*view)->getResult(0));
  }
}

/// True if `op` depends on an early dot of its iteration.
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

TwoStages::Ops TwoStages::getOperandSlices() {
  Ops needs;
  for (DotOp dot : early)
    needs.insert(dot);
  for (DotOp dot : late)
    for (Value operand : {Value(dot.getA()), Value(dot.getAcc())}) {
      Operation *def = operand.getDefiningOp();
      if (def && lateRoundings.contains(def))
        def = cast<arith::TruncFOp>(def).getIn().getDefiningOp();
      bool isInLoop = def && loop->isProperAncestor(def) && !isa<StageOp>(def);
      // Only accumulators that depend on early dots are rescaled in stage 0.
      if (isInLoop && (operand != dot.getAcc() || needsEarly(inBody(def))))
        needs.insert(inBody(def));
    }
  for (size_t index = 0; index < needs.size(); ++index)
    for (Operation *needed : getNeeded(needs[index]))
      if (!lateRoots.contains(needed))
        needs.insert(needed);
  return needs;
}

/// True if stage 1 uses the wider tile, and all uses precede the rounding.
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

/// Collects the ops that must be in stage 1: late dots with their waits, dots
/// of other roles, the computation on their results, and the ops that load
/// their operands. Shared loads that only stage 1 needs are in stage 1.
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
  // Ops that modify a dot's operand stay before the dot.
  loop->walk([&](ZeroRowsOp zero) {
    Value buffer = getRingBuffer(zero.getBuffer());
    changes[buffer].push_back(inBody(zero));
    if (buffers.contains(buffer) && !earlyBuffers.contains(buffer))
      lateRoots.insert(inBody(zero));
  });
  Ops needs = getOperandSlices();
  // A branch with a load counts as one op of the iteration.
  loop->walk([&](LocalLoadOp load) {
    Operation *reader = inBody(load);
    if (needs.contains(reader))
      return;
    lateRoots.insert(reader);
    buffers.insert(getRingBuffer(load.getSource()));
    // Users of the load that write memory are in the same stage.
    for (Operation *user : getTransitiveUsers(reader))
      if (!isMemoryEffectFree(user))
        lateRoots.insert(user);
  });
  for (Value buffer : buffers) {
    if (!earlyBuffers.contains(buffer))
      lateRoots.insert_range(rings[buffer].fills);
    lateRoots.insert_range(rings[buffer].releases);
  }
}

/// Collects stage 0: the ops with effects that are not in stage 1, the
/// computation of the late dots' register operands, and all their dependences.
/// Global loads that only stage 1 needs stay in stage 1.
void TwoStages::findFirstStage() {
  SmallVector<Operation *> worklist;
  auto add = [&](Operation *op) {
    if (!lateRoots.contains(op) && firstStage.insert(op))
      worklist.push_back(op);
  };
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isMemoryEffectFree(&op) && !isa<tile::LoadOp>(op))
      add(&op);
  for (Operation *op : getOperandSlices())
    add(op);
  while (!worklist.empty())
    for (Operation *needed : getNeeded(worklist.pop_back_val()))
      add(needed);
}

/// Adds reductions of stage-0 tiles to stage 0. Otherwise the loop would carry
/// whole tiles to reduce them in stage 1.
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

/// Adds roundings of stage-0 tiles to stage 0, so that the loop carries the
/// rounded tiles, which take half of the registers.
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

/// True if the tile has 32-bit elements and is neither a row nor a column, so
/// that each element occupies a register.
static bool isLarge(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementTypeBitWidth() >= 32 &&
         llvm::none_of(type.getShape(), [](int64_t size) { return size == 1; });
}

/// True if a few elementwise ops compute the large tile from small tiles.
/// `made` receives these ops.
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

/// Recomputes cheap large tiles in stage 1, so that the loop carries only their
/// row and column operands.
void TwoStages::rematerializeTiles() {
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

/// Clones the stage-0 ops that compute a tile, down to scalars.
Value TwoStages::cloneIndexTile(OpBuilder &b, Value tile, IRMapping &mapping) {
  Operation *op = tile.getDefiningOp();
  bool isMade = op && isa<RankedTensorType>(tile.getType()) &&
                firstStage.contains(op) && op->getNumRegions() == 0 &&
                (isMemoryEffectFree(op) || tile::readsUnwrittenTensor(op));
  if (mapping.contains(tile) || !isMade)
    return mapping.lookupOrDefault(tile);
  for (Value operand : op->getOperands())
    cloneIndexTile(b, operand, mapping);
  b.clone(*op, mapping);
  return mapping.lookup(tile);
}

/// Recomputes row and column indices of scatters in stage 1, because the role
/// that adds to memory has other layouts.
void TwoStages::rematerializeIndices() {
  for (auto scatter : loop.getBody()->getOps<tile::ScatterOp>()) {
    if (firstStage.contains(scatter))
      continue;
    OpBuilder b(scatter);
    IRMapping mapping;
    for (OpOperand &index : scatter.getIndicesMutable())
      if (isa<RankedTensorType>(index.get().getType()) && !isLarge(index.get()))
        index.set(cloneIndexTile(b, index.get(), mapping));
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
// Chained dots
//===----------------------------------------------------------------------===//

/// Adds `op` and its stage-1 dependences to the ops that go first.
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
    Ops users = getTransitiveUsers(getDotWait(dot));
    bool feedsAnother = llvm::any_of(users, [&](Operation *op) {
      auto other = dyn_cast<DotOp>(op);
      return isa<LocalStoreOp>(op) ||
             (other && users.contains(other.getA().getDefiningOp()));
    });
    if (!feedsAnother) {
      trailing.insert_range(users);
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
    trailing.clear();
    return;
  }
  chained = *found;
  for (auto dot : loop.getBody()->getOps<DotOp>())
    if (!dot.getAsync())
      trailing.insert_range(getTransitiveUsers(dot));
  for (Operation &op : *loop.getBody())
    if (isa<ConsumerReleaseOp>(op))
      trailing.insert(&op);
  // Global loads, and shared loads before the first late dot, stay before it.
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
  // Dots of other roles stay synchronous.
  for (auto dot : loop.getBody()->getOps<DotOp>())
    if (dot.getAsync() && !isEarly(dot) && !llvm::is_contained(late, dot))
      return failure();
  rings = findRings(loop.getBody());
  findLateRoots();
  // An early dot that depends on a late dot can't be issued before it.
  if (llvm::any_of(early, [&](DotOp dot) { return lateRoots.contains(dot); }))
    return failure();
  findFirstStage();
  addReductions();
  addRoundings();
  rematerializeTiles();
  rematerializeIndices();
  findAfterLate();
  if (llvm::any_of(firstStage,
                   [&](Operation *op) { return usesResultOf(op, lateRoots); }))
    return failure();
  // If an early dot uses the result of stage 1, nothing can run while the late
  // dot is outstanding.
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
    return chained && op->isBeforeInBlock(chained) && !trailing.contains(op);
  });
  // Issue the next S, then the previous PV, and run softmax while PV is
  // outstanding. Rescale the accumulator after its wait.
  append(0, [&](Operation *op) { return op->isBeforeInBlock(earlyWait); });
  append(1, [&](Operation *op) {
    return op->isBeforeInBlock(lateWait) && !trailing.contains(op);
  });
  // Dots complete in issue order: those issued before the early dots have
  // completed with them, and their operand registers are free.
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
