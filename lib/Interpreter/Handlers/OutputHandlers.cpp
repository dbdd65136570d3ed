//===- OutputHandlers.cpp - Executes output copies --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of stores to shared memory, proxy fences and copies from shared to
// global memory.
//
//===----------------------------------------------------------------------===//

#include "TileSupport.h"
#include "Warp/SharedAccess.h"

#include <cstring>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// A dot that may still read the rows of a slot that a warp group owns: one of
/// its own, or one of another group that reads all rows.
static PendingDot *findReader(Agent &writer, const Slot &slot) {
  for (auto &agent : writer.cta.getAgents())
    for (auto &dot : agent->dots)
      if (!dot->complete && llvm::is_contained(dot->operands, &slot) &&
          (agent.get() == &writer || dot->rowOperand != &slot))
        return dot.get();
  return nullptr;
}

/// Replaces `rows` of `contents`, which may be empty, by those of `tile`.
static RuntimeValue replaceRows(const RuntimeValue &contents,
                                const RuntimeValue &tile,
                                warp::OwnedRows rows) {
  const Array &from = tile.getArray(),
              &base = contents ? contents.getArray() : from;
  auto result = std::make_shared<Array>(from.getShape(), from.getStorage());
  int64_t columns = from.getShape()[1];
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    std::copy_n(base.data<T>(), base.getNumElements(), result->data<T>());
    std::copy_n(from.data<T>() + rows.first * columns, rows.count * columns,
                result->data<T>() + rows.first * columns);
  });
  return RuntimeValue::array(std::move(result));
}

/// Replaces the columns of `contents`, which may be empty, from `first` on by
/// `tile`. Columns that no store has written are NaN.
static RuntimeValue replaceColumns(const RuntimeValue &contents,
                                   const RuntimeValue &tile, MemRefType type,
                                   int64_t first) {
  const Array &from = tile.getArray();
  auto result = std::make_shared<Array>(type.getShape(), from.getStorage());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1),
          count = from.getShape()[1];
  withStorage(result->getStorage(), [&](auto like) {
    using T = decltype(like);
    if (contents)
      std::copy_n(contents.getArray().data<T>(), rows * columns,
                  result->data<T>());
    else
      std::memset(result->data<T>(), 0xFF, rows * columns * sizeof(T));
    for (int64_t row = 0; row < rows; ++row)
      std::copy_n(from.data<T>() + row * count, count,
                  result->data<T>() + row * columns + first);
  });
  return RuntimeValue::array(std::move(result));
}

/// Fills the rows of a stage that one of several warp groups owns.
static LogicalResult fillRows(warp::LocalStoreOp op, Agent &agent, Slot &slot,
                              warp::OwnedRows rows) {
  Frame &frame = agent.frame;
  StageUse use = agent.getAcquired();
  if (PendingDot *dot = findReader(agent, slot))
    return settle(op, agent, warp::overwritesOperand(dot->op));
  if (failed(claimRows(op, agent, slot, use)))
    return failure();
  const RuntimeValue &tile = frame.get(op.getValue());
  slot.contents = replaceRows(slot.contents, tile, rows);
  llvm::erase_if(slot.filled, [&](const FilledRows &filled) {
    return filled.party == agent.party;
  });
  slot.filled.push_back({agent.party, use, tile});
  return success();
}

/// Stores the rows of one of several warp groups.
static LogicalResult storeRows(warp::LocalStoreOp op, Agent &agent,
                               Slot &slot) {
  Frame &frame = agent.frame;
  if (slot.use && failed(settle(op, agent,
                                slot.use.pipeline->change(slot.use, agent.party,
                                                          slot.writer))))
    return failure();
  if (PendingDot *dot = findReader(agent, slot))
    return settle(op, agent, warp::overwritesOperand(dot->op));
  if (failed(checkCopiesOut(op, agent, slot, /*ofAgentOnly=*/true)))
    return failure();
  llvm::erase_if(slot.stored, [&](const StoredRows &rows) {
    return rows.party == agent.party;
  });
  slot.stored.push_back({agent.party, frame.get(op.getValue()), op});
  return success();
}

static LogicalResult executeLocalStore(Operation *op, Frame &frame) {
  auto store = cast<warp::LocalStoreOp>(op);
  FailureOr<Agent *> found = getAgent(op, frame);
  if (failed(found))
    return failure();
  Agent &agent = **found;
  Slot &slot = getView(frame, store.getTarget()).getSlot();
  MemRefType type = store.getTarget().getType();
  warp::OwnedRows rows = warp::getOwnedRows(agent.party, type);
  bool isPart = rows.count != type.getDimSize(0);
  if (isPart && store.getColumn())
    return frame.fail(op) << "stores columns of a buffer whose rows several "
                             "warp groups own: expected whole rows";
  if (isPart && agent.getAcquired()) {
    if (failed(fillRows(store, agent, slot, rows)))
      return failure();
  } else if (isPart) {
    if (failed(storeRows(store, agent, slot)))
      return failure();
  } else {
    StageUse use = agent.getAcquired();
    // Columns that other stores wrote stay; a claim discards them.
    RuntimeValue others;
    if (store.getColumn() && (!use || slot.use == use))
      others = slot.contents;
    if (failed(claim(op, agent, slot, use, WriteKind::Store)))
      return failure();
    const RuntimeValue &tile = frame.get(store.getValue());
    slot.contents = store.getColumn()
                        ? replaceColumns(others, tile, type, *store.getColumn())
                        : tile;
    slot.filled.clear();
    slot.filled.push_back({agent.party, slot.use, slot.contents});
  }
  if (slot.use)
    agent.accessByLanes(store, slot.use);
  slot.fence(agent.party);
  slot.unfenced.push_back({agent.party, op});
  agent.unfenced.insert(&slot);
  return success();
}

static LogicalResult executeFenceStores(Operation *op, Frame &frame) {
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  SharedView &view = getView(frame, cast<warp::FenceStoresOp>(op).getBuffer());
  for (Slot &slot : view.buffer->slots)
    slot.fence((*agent)->party);
  return success();
}

//===----------------------------------------------------------------------===//
// Copies to global memory
//===----------------------------------------------------------------------===//

static LogicalResult executeCopyOut(Operation *op, Frame &frame) {
  auto copy = cast<warp::CopyOutOp>(op);
  FailureOr<Agent *> found = getAgent(op, frame);
  if (failed(found))
    return failure();
  Agent &agent = **found;
  Slot &slot = getView(frame, copy.getSource()).getSlot();
  const StoredRows *mine = slot.findStored(agent.party);
  if (!mine || slot.use)
    if (failed(checkRead(op, agent, slot)))
      return failure();
  if (failed(checkFenced(op, agent, slot, /*readsOwnRows=*/true)))
    return failure();
  auto [first, count] =
      warp::getOwnedRows(agent.party, copy.getSource().getType());
  auto write = prepareStore(
      frame, (mine ? mine->tile : slot.contents).shareArray(), copy.getTarget(),
      copy.getIndices(), copy.getBoxDims(), {first, count}, copy.getAdd());
  agent.synchronised = true;
  // The buffer cannot change before the wait without an error.
  if (copy.getAsync())
    agent.copiesOut.push_back({&slot, op});
  agent.cta.addWrite({&agent, std::move(write)});
  return success();
}

static LogicalResult executeCopyOutWait(Operation *op, Frame &frame) {
  auto wait = cast<warp::CopyOutWaitOp>(op);
  FailureOr<Agent *> agent = getAgent(op, frame);
  if (failed(agent))
    return failure();
  auto &slots = getView(frame, wait.getBuffer()).buffer->slots;
  llvm::erase_if((*agent)->copiesOut, [&](auto &entry) {
    return entry.first >= slots.data() &&
           entry.first < slots.data() + slots.size();
  });
  if (wait.getWritten())
    (*agent)->cta.finishWrites(**agent);
  (*agent)->synchronised = true;
  return success();
}

void fovea::interp::registerOutputHandlers(InterpreterRegistry &registry) {
  registry.add<warp::LocalStoreOp>(executeLocalStore);
  registry.add<warp::FenceStoresOp>(executeFenceStores);
  registry.add<warp::CopyOutOp>(executeCopyOut);
  registry.add<warp::CopyOutWaitOp>(executeCopyOutWait);
}
