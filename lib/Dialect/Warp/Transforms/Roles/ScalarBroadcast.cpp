//===- ScalarBroadcast.cpp - Scalar broadcast between roles ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements ScalarBroadcast: finds the integers to send, and emits mailboxes,
// sends and receives.
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
// Cost of values
//===----------------------------------------------------------------------===//

static bool isSlotValue(Value value) {
  Type type = value.getType();
  return type.isIndex() || type.isInteger(32) || type.isInteger(1);
}

static bool isDivision(Operation *op) {
  return isa<arith::DivUIOp, arith::RemUIOp, arith::DivSIOp, arith::RemSIOp,
             arith::CeilDivUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op);
}

/// True if `op` is more expensive for a warp than a load from shared memory.
static bool isCostly(Operation *op) {
  if (isDivision(op))
    return !matchPattern(op->getOperand(1), m_Constant());
  if (isMemoryEffectFree(op))
    return op->getNumRegions() != 0 || isa<tile::BallotOp>(op);
  return onlyReads(op);
}

/// True for integer arithmetic of one or two instructions.
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
  unsigned role = roles.getProducer(acquire);
  if (!isSender(role))
    return false;
  RoleSlicer &sender =
      sendable.try_emplace(role, roles.getOwns(role), isSharedValue)
          .first->second;
  // Common operands are analyzed once. A value can't be sent if it depends on
  // one that can't be sent.
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
// Selection of transfers
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
  // Expensive values of this block, and values computed from them.
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
        // Skip values that an earlier stage carries.
        if (!costly.contains(value.getDefiningOp()) || !canSend(acquire, value))
          continue;
        auto castOp = UnrealizedConversionCastOp::create(
            b, value.getLoc(), value.getType(), value);
        value.replaceUsesWithIf(castOp.getResult(0), [&](OpOperand &use) {
          Operation *user = block.findAncestorOpInBlock(*use.getOwner());
          return user && castOp->isBeforeInBlock(user);
        });
        transfers[castOp] = {acquire, cast<ConsumerWaitOp>(op)};
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
  const auto *found = transfers.find(op);
  return found != transfers.end() && roles.owns(role, found->second.wait);
}

void ScalarBroadcast::reduce(ArrayRef<RoleSlicer> slices) {
  auto isReceivedAtAll = [&](Operation *op) {
    for (auto [role, slice] : llvm::enumerate(slices))
      if (isReceived(role, op) && slice.isLive(op))
        return true;
    return false;
  };
  llvm::MapVector<Operation *, Transfer> kept;
  // Received values, by acquire and original value.
  llvm::DenseMap<std::pair<Operation *, Value>, Value> received;
  for (auto &[op, transfer] : transfers)
    if (isReceivedAtAll(op))
      received[{transfer.acquire, op->getOperand(0)}] = op->getResult(0);
  for (auto &[op, transfer] : transfers) {
    Value value = op->getOperand(0), result = op->getResult(0);
    Operation *def = value.getDefiningOp();
    Transfer at = transfer;
    auto getReceivedOrConstant = [&](Value operand) -> Value {
      if (matchPattern(operand, m_Constant()))
        return operand;
      return received.lookup({at.acquire, operand});
    };
    if (!isReceivedAtAll(op)) {
      result.replaceAllUsesWith(value);
      op->erase();
    } else if (isQuick(def) &&
               llvm::all_of(def->getOperands(), getReceivedOrConstant)) {
      // The casts of the operands precede this one.
      OpBuilder b(op);
      IRMapping mapping;
      for (Value operand : def->getOperands())
        mapping.map(operand, getReceivedOrConstant(operand));
      Value again = b.clone(*def, mapping)->getResult(0);
      received[{at.acquire, value}] = again;
      result.replaceAllUsesWith(again);
      op->erase();
    } else {
      kept.insert({op, transfer});
    }
  }
  transfers = std::move(kept);
}

SmallVector<Value> ScalarBroadcast::getSent(unsigned role) const {
  SmallVector<Value> sent;
  for (auto &[op, transfer] : transfers)
    if (roles.getProducer(transfer.acquire) == role)
      sent.push_back(op->getOperand(0));
  return sent;
}

//===----------------------------------------------------------------------===//
// Mailboxes
//===----------------------------------------------------------------------===//

SmallVector<Value> ScalarBroadcast::makeMailboxes(OpBuilder &b, Location loc) {
  using Slots = std::pair<TypedValue<PipelineType>, unsigned>;
  llvm::DenseMap<Operation *, unsigned> numbers;
  llvm::SetVector<Slots> slots;
  // Several values may share a mailbox, and the value of the first tile may
  // have no name.
  llvm::DenseMap<Slots, StringRef> names;
  for (auto &[op, transfer] : transfers) {
    transfer.number = numbers[transfer.acquire]++;
    Slots key{transfer.acquire.getPipeline(), transfer.number};
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
  if (auto *found = transfers.find(op); found != transfers.end()) {
    Value result = op->getResult(0);
    if (!isReceived(role, op)) {
      mapping.map(result, mapping.lookup(op->getOperand(0)));
      return true;
    }
    Transfer transfer = found->second;
    Location loc = op->getLoc();
    Value stage = mapping.lookup(transfer.acquire.getStage());
    Value value = ReceiveOp::create(
        b, loc, b.getIndexType(), mapping.lookup(getMailbox(transfer)), stage);
    mapping.map(result, fromIndex(b, loc, result.getType(), value));
    return true;
  }
  auto acquire = dyn_cast<ProducerAcquireOp>(op);
  if (!acquire)
    return false;
  b.clone(*op, mapping);
  for (auto &[castOp, transfer] : transfers)
    if (transfer.acquire == acquire) {
      Location loc = castOp->getLoc();
      Value value = toIndex(b, loc, mapping.lookup(castOp->getOperand(0)));
      SendOp::create(b, loc, value, mapping.lookup(getMailbox(transfer)),
                     mapping.lookup(acquire.getStage()));
    }
  return true;
}
