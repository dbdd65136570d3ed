//===- ScalarBroadcast.cpp - What one role finds out for another ----------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Roles/ScalarBroadcast.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

//===----------------------------------------------------------------------===//
// What is worth sending
//===----------------------------------------------------------------------===//

static bool isSlotValue(Value value) {
  Type type = value.getType();
  return type.isIndex() || type.isInteger(32) || type.isInteger(1);
}

static bool isDivision(Operation *op) {
  return isa<arith::DivUIOp, arith::RemUIOp, arith::DivSIOp, arith::RemSIOp,
             arith::CeilDivUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op);
}

/// Whether a warp spends more on `op` than on reading a word of shared memory.
static bool isCostly(Operation *op) {
  if (isDivision(op))
    return !matchPattern(op->getOperand(1), m_Constant());
  if (isMemoryEffectFree(op))
    return op->getNumRegions() != 0 || isa<tile::BallotOp>(op);
  return onlyReads(op);
}

/// Integer arithmetic, an instruction or two.
static bool isQuick(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect>(op->getDialect()) &&
         op->getNumResults() == 1 && !isCostly(op) &&
         llvm::all_of(op->getOperands(), isSlotValue);
}

bool ScalarBroadcast::isSender(unsigned role) {
  if (auto known = senders.find(role); known != senders.end())
    return known->second;
  WalkResult walk = root->getParentOp()->walk([&](Operation *op) {
    bool computes = isa<LocalStoreOp, TmemStoreOp, DotOp>(op);
    return computes && roles.owns(role, op) ? WalkResult::interrupt()
                                            : WalkResult::advance();
  });
  return senders[role] = !walk.wasInterrupted();
}

bool ScalarBroadcast::canSend(ProducerAcquireOp acquire, Value value) {
  unsigned role = roles.getFiller(acquire);
  if (!isSender(role))
    return false;
  RoleSlicer &sender =
      sendable.try_emplace(role, roles.getOwns(role), isSharedValue)
          .first->second;
  // What several values need is followed once; what needs a value that can't be
  // sent can't be sent either.
  llvm::DenseSet<Value> &refused = unsendable[role];
  auto isWanted = [&](Value needed) {
    return isOneWarps(needed) && !refused.contains(needed);
  };
  if (succeeded(sender.analyzeValue(*root, value, isWanted)))
    return true;
  refused.insert(value);
  return false;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

static ConsumerWaitOp findWait(ProducerAcquireOp acquire) {
  for (Operation *op = acquire->getNextNode(); op; op = op->getNextNode()) {
    auto wait = dyn_cast<ConsumerWaitOp>(op);
    if (wait && wait.getPipeline() == acquire.getPipeline())
      return wait.getStage() == acquire.getStage() &&
                     wait.getPhase() == acquire.getPhase()
                 ? wait
                 : ConsumerWaitOp();
  }
  return {};
}

void ScalarBroadcast::insertIn(Block &block) {
  // Costly values of this block, and what was computed from them.
  SmallVector<Value> known;
  llvm::SmallPtrSet<Operation *, 16> costly;
  llvm::MapVector<Operation *, std::pair<ProducerAcquireOp, size_t>> waits;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    for (Region &region : op.getRegions())
      for (Block &nested : region)
        insertIn(nested);
    if (auto acquire = dyn_cast<ProducerAcquireOp>(op))
      if (ConsumerWaitOp wait = findWait(acquire))
        waits[wait] = {acquire, known.size()};
    if (auto *found = waits.find(&op); found != waits.end()) {
      auto [acquire, count] = found->second;
      OpBuilder b(block.getParent());
      b.setInsertionPointAfter(&op);
      for (Value value : ArrayRef(known).take_front(count)) {
        // What came with an earlier stage.
        if (!costly.contains(value.getDefiningOp()) || !canSend(acquire, value))
          continue;
        auto relay = UnrealizedConversionCastOp::create(b, value.getLoc(),
                                                        value.getType(), value);
        value.replaceUsesWithIf(relay.getResult(0), [&](OpOperand &use) {
          Operation *user = block.findAncestorOpInBlock(*use.getOwner());
          return user && relay->isBeforeInBlock(user);
        });
        places[relay] = {acquire, cast<ConsumerWaitOp>(op)};
      }
      for (Value value : ArrayRef(known).take_front(count))
        costly.erase(value.getDefiningOp());
      continue;
    }
    bool isDerived = llvm::any_of(op.getOperands(), [&](Value operand) {
      return costly.contains(operand.getDefiningOp());
    });
    if (!onlyReads(&op) || (!isCostly(&op) && !isDerived))
      continue;
    costly.insert(&op);
    for (Value result : op.getResults())
      if (isSlotValue(result))
        known.push_back(result);
  }
}

void ScalarBroadcast::insert(Block &body) {
  root = &body;
  insertIn(body);
}

bool ScalarBroadcast::isReceived(unsigned role, Operation *op) const {
  const auto *found = places.find(op);
  return found != places.end() && roles.owns(role, found->second.wait);
}

void ScalarBroadcast::reduce(ArrayRef<RoleSlicer> slices) {
  auto isReceivedAtAll = [&](Operation *op) {
    for (auto [role, slice] : llvm::enumerate(slices))
      if (isReceived(role, op) && slice.isLive(op))
        return true;
    return false;
  };
  llvm::MapVector<Operation *, Place> kept;
  // By acquire and value.
  llvm::DenseMap<std::pair<Operation *, Value>, Value> received;
  for (auto &[op, place] : places)
    if (isReceivedAtAll(op))
      received[{place.acquire, op->getOperand(0)}] = op->getResult(0);
  for (auto &[op, place] : places) {
    Value value = op->getOperand(0), result = op->getResult(0);
    Operation *def = value.getDefiningOp();
    Place at = place;
    auto findQuickly = [&](Value operand) -> Value {
      if (matchPattern(operand, m_Constant()))
        return operand;
      return received.lookup({at.acquire, operand});
    };
    if (!isReceivedAtAll(op)) {
      result.replaceAllUsesWith(value);
      op->erase();
    } else if (isQuick(def) && llvm::all_of(def->getOperands(), findQuickly)) {
      // Operands come first among the casts.
      OpBuilder b(op);
      IRMapping mapping;
      for (Value operand : def->getOperands())
        mapping.map(operand, findQuickly(operand));
      Value again = b.clone(*def, mapping)->getResult(0);
      received[{at.acquire, value}] = again;
      result.replaceAllUsesWith(again);
      op->erase();
    } else {
      kept.insert({op, place});
    }
  }
  places = std::move(kept);
}

SmallVector<Value> ScalarBroadcast::getSent(unsigned role) const {
  SmallVector<Value> sent;
  for (auto &[op, place] : places)
    if (roles.getFiller(place.acquire) == role)
      sent.push_back(op->getOperand(0));
  return sent;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

SmallVector<Value> ScalarBroadcast::makeMailboxes(OpBuilder &b, Location loc) {
  using Slots = std::pair<TypedValue<PipelineType>, unsigned>;
  llvm::DenseMap<Operation *, unsigned> numbers;
  llvm::SetVector<Slots> slots;
  // Of the values that one mailbox takes, that of a first tile may have none.
  llvm::DenseMap<Slots, StringRef> names;
  for (auto &[op, place] : places) {
    place.number = numbers[place.acquire]++;
    Slots key{place.acquire.getPipeline(), place.number};
    slots.insert(key);
    StringRef &name = names[key];
    if (name.empty())
      name = getName(op->getOperand(0));
  }
  SmallVector<Value> made;
  for (Slots key : slots) {
    auto type =
        MailboxType::get(b.getContext(), key.first.getType().getStages());
    StringRef name = names[key];
    Location at =
        getNamedLoc(loc, name.empty() ? "mailbox" : name + "_mailbox");
    made.push_back(MailboxOp::create(b, at, type, IntegerAttr()));
    mailboxes[key] = made.back();
  }
  return made;
}

static Value toIndex(OpBuilder &b, Location loc, Value value) {
  if (value.getType().isIndex())
    return value;
  if (value.getType().isInteger(1))
    return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), value);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
}

static Value fromIndex(OpBuilder &b, Location loc, Type type, Value value) {
  if (type.isIndex())
    return value;
  if (type.isInteger(1))
    return arith::IndexCastUIOp::create(b, loc, type, value);
  return arith::IndexCastOp::create(b, loc, type, value);
}

bool ScalarBroadcast::clone(unsigned role, OpBuilder &b, Operation *op,
                   IRMapping &mapping) {
  if (auto *found = places.find(op); found != places.end()) {
    Value result = op->getResult(0);
    if (!isReceived(role, op)) {
      mapping.map(result, mapping.lookup(op->getOperand(0)));
      return true;
    }
    Place place = found->second;
    Location loc = op->getLoc();
    Value stage = mapping.lookup(place.acquire.getStage());
    Value value = ReceiveOp::create(b, loc, b.getIndexType(),
                                    mapping.lookup(getMailbox(place)), stage);
    mapping.map(result, fromIndex(b, loc, result.getType(), value));
    return true;
  }
  auto acquire = dyn_cast<ProducerAcquireOp>(op);
  if (!acquire)
    return false;
  b.clone(*op, mapping);
  for (auto &[relay, place] : places)
    if (place.acquire == acquire) {
      Location loc = relay->getLoc();
      Value value = toIndex(b, loc, mapping.lookup(relay->getOperand(0)));
      SendOp::create(b, loc, value, mapping.lookup(getMailbox(place)),
                     mapping.lookup(acquire.getStage()));
    }
  return true;
}
