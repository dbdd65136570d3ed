//===- Relays.cpp - What one role finds out for another ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Relays.h"

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

/// What one warp has: no rows, and of tiles no more than a column a lane.
static bool isOneWarps(Value value) {
  if (value.getDefiningOp<tile::HeldRowsOp>())
    return false;
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  return !tile || isa_and_nonnull<LanesAttr>(tile.getEncoding());
}

bool Relays::canSend(Value value) const {
  RoleSlicer sender(owns, isShared);
  return succeeded(sender.analyzeValue(*root, value)) &&
         llvm::all_of(sender.getNeeded(), isOneWarps);
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

void Relays::insertIn(Block &block) {
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
    if (auto found = waits.find(&op); found != waits.end()) {
      auto [acquire, count] = found->second;
      OpBuilder b(block.getParent());
      b.setInsertionPointAfter(&op);
      for (Value value : ArrayRef(known).take_front(count)) {
        // What came with an earlier stage.
        if (!costly.contains(value.getDefiningOp()) || !canSend(value))
          continue;
        auto relay = UnrealizedConversionCastOp::create(b, op.getLoc(),
                                                        value.getType(), value);
        value.replaceUsesWithIf(relay.getResult(0), [&](OpOperand &use) {
          Operation *user = block.findAncestorOpInBlock(*use.getOwner());
          return user && relay->isBeforeInBlock(user);
        });
        places[relay] = {acquire};
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

void Relays::insert(Block &body) {
  root = &body;
  insertIn(body);
}

void Relays::reduce(const RoleSlicer &receiver) {
  llvm::MapVector<Operation *, Place> kept;
  // By acquire and value.
  llvm::DenseMap<std::pair<Operation *, Value>, Value> received;
  for (auto &[op, place] : places)
    if (receiver.isLive(op))
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
    if (!receiver.isLive(op)) {
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

SmallVector<Value> Relays::getSent() const {
  SmallVector<Value> sent;
  for (auto &[op, place] : places)
    sent.push_back(op->getOperand(0));
  return sent;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

SmallVector<Value> Relays::makeMailboxes(OpBuilder &b, Location loc) {
  llvm::DenseMap<Operation *, unsigned> numbers;
  SmallVector<Value> made;
  for (auto &[op, place] : places) {
    place.number = numbers[place.acquire]++;
    TypedValue<PipelineType> pipeline = place.acquire.getPipeline();
    Value &mailbox = mailboxes[{pipeline, place.number}];
    if (mailbox)
      continue;
    auto type =
        MailboxType::get(b.getContext(), pipeline.getType().getStages());
    mailbox = MailboxOp::create(b, loc, type, IntegerAttr());
    made.push_back(mailbox);
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

bool Relays::send(OpBuilder &b, Operation *op, IRMapping &mapping) {
  if (isRelay(op)) {
    mapping.map(op->getResult(0), mapping.lookup(op->getOperand(0)));
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

bool Relays::receive(OpBuilder &b, Operation *op, IRMapping &mapping) {
  auto found = places.find(op);
  if (found == places.end())
    return false;
  Place place = found->second;
  Location loc = op->getLoc();
  Value stage = mapping.lookup(place.acquire.getStage());
  Value value = ReceiveOp::create(b, loc, b.getIndexType(),
                                  mapping.lookup(getMailbox(place)), stage);
  Value result = op->getResult(0);
  mapping.map(result, fromIndex(b, loc, result.getType(), value));
  return true;
}
