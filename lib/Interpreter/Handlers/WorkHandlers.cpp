//===- WorkHandlers.cpp - Work items, shares and joins --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileSupport.h"
#include "Warp/RoleScheduler.h"

#include "fovea/Dialect/Tile/IR/Semaphores.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

namespace {
/// Equal shares of consecutively numbered blocks.
struct Shares {
  int64_t total, count;

  int64_t getFirst(int64_t share) const {
    return share * (total / count) + std::min(share, total % count);
  }
  /// The share that contains the block.
  int64_t find(int64_t block) const {
    int64_t share = 0;
    while (getFirst(share + 1) <= block)
      ++share;
    return share;
  }
};

/// The blocks of a tile of a group's items, and the blocks of a piece if that
/// does not depend on the shares, or else 0.
struct Extent {
  int64_t group, tile, blocks, piece;
};

/// Collects the blocks of all tiles of all groups from executions of regions.
class ExtentCollector {
public:
  /// Requests the next execution; returns false when all are done. `tiles` is
  /// null or empty if groups have one tile.
  bool next(Region *tiles, Region &blocks, int64_t count, Next &next) {
    if (group == count)
      return false;
    bool hasTiles = tiles && !tiles->empty();
    if (!hasTiles)
      counts = 1;
    next.region = counts ? &blocks : tiles;
    next.values.assign({RuntimeValue::integer(group)});
    if (hasTiles && counts)
      next.values.push_back(RuntimeValue::integer(tile));
    return true;
  }
  LogicalResult add(Operation *op, Frame &frame,
                    ArrayRef<RuntimeValue> yielded) {
    int64_t number = yielded.front().getInteger(),
            piece = yielded.back().getInteger();
    if (number < 1)
      return frame.fail(op)
             << "group " << group << " must have at least 1 "
             << (counts ? "block" : "tile") << ", found " << number;
    if (!counts) {
      counts = number;
      return success();
    }
    if (piece < 1)
      return frame.fail(op) << "pieces of group " << group
                            << " must have at least 1 block, found " << piece;
    extents.push_back({group, tile, number, yielded.size() > 1 ? piece : 0});
    if (++tile == *counts) {
      ++group;
      tile = 0;
      counts.reset();
    }
    return success();
  }

  SmallVector<Extent> extents;

private:
  /// The next tile, and the number of tiles of its group once it is known.
  int64_t group = 0, tile = 0;
  std::optional<int64_t> counts;
};

class TakeShareActivation : public Activation {
public:
  explicit TakeShareActivation(tile::TakeShareOp op) : op(op) {}

  LogicalResult resume(Frame &frame, Operation *terminator,
                       MutableArrayRef<RuntimeValue> yielded,
                       Next &next) override {
    if (terminator && failed(collector.add(op, frame, yielded)))
      return failure();
    if (collector.next(/*tiles=*/nullptr, op.getBlocks(),
                       frame.getInteger(op.getCount()), next))
      return success();
    Shares shares{0, frame.getInteger(op.getShares())};
    int64_t share = frame.getInteger(op.getShare());
    if (shares.count < 1 || share < 0 || share >= shares.count)
      return frame.fail(op)
             << "share must be below the number of shares, found " << share
             << " of " << shares.count;
    for (const Extent &extent : collector.extents)
      shares.total += extent.blocks;
    int64_t first = shares.getFirst(share), end = shares.getFirst(share + 1);
    int64_t group = 0, before = 0;
    while (first < end && before + collector.extents[group].blocks <= first)
      before += collector.extents[group++].blocks;
    for (int64_t result : {shares.total, first, end, group, before})
      next.values.push_back(RuntimeValue::integer(result));
    return success();
  }

private:
  tile::TakeShareOp op;
  ExtentCollector collector;
};

//===----------------------------------------------------------------------===//
// Work items
//===----------------------------------------------------------------------===//

/// Distributes work items as `static` does, which is a legal order for every
/// schedule but `shares`. With semaphores the first CTA executes all items,
/// since CTAs run one at a time.
class ForeachWorkActivation : public Activation {
public:
  explicit ForeachWorkActivation(tile::ForeachWorkOp op)
      : op(op), usesSemaphores(op.getRegion()
                                   .walk([](tile::SemaphoreWaitOp) {
                                     return WalkResult::interrupt();
                                   })
                                   .wasInterrupted()) {}

  LogicalResult resume(Frame &frame, Operation *terminator,
                       MutableArrayRef<RuntimeValue> yielded,
                       Next &next) override {
    auto *position = frame.getEnvironment<GridPosition>();
    if (!position)
      return frame.fail(op) << "'" << op->getName().getStringRef()
                            << "' is executed outside a kernel";
    if (op.isShared())
      return resumeShares(frame, *position, terminator, yielded, next);
    int64_t count = frame.getInteger(op.getCount()), grid = position->grid[0];
    bool isSingle = op.getSchedule() == tile::WorkSchedule::Single;
    if (isSingle && grid != count)
      return frame.fail(op) << "with one work item per CTA, the grid must have "
                            << count << " CTAs, found " << grid;
    bool isFirst = usesSemaphores && !isSingle;
    if (terminator)
      item += isFirst ? 1 : grid;
    else
      item = isFirst && position->block[0] > 0 ? count : position->block[0];
    if (item >= count)
      return success();
    next.region = &op.getRegion();
    next.values.push_back(RuntimeValue::integer(item));
    return success();
  }

private:
  LogicalResult resumeShares(Frame &frame, const GridPosition &position,
                             Operation *terminator,
                             MutableArrayRef<RuntimeValue> yielded, Next &next);
  void nextPiece(const Shares &shares, int64_t end, Next &next);
  /// With pieces of fixed sizes: moves `block` to the start of the next piece.
  void skipToPiece();

  tile::ForeachWorkOp op;
  bool usesSemaphores;
  int64_t item = 0;
  /// With shares: the extents of tiles, the next block, and the number of
  /// blocks of the tiles of items before `item`.
  ExtentCollector collector;
  int64_t block = -1, before = 0, per = 1;
};
} // namespace

LogicalResult ForeachWorkActivation::resumeShares(
    Frame &frame, const GridPosition &position, Operation *terminator,
    MutableArrayRef<RuntimeValue> yielded, Next &next) {
  per = frame.getInteger(op.getPer());
  int64_t count = frame.getInteger(op.getCount());
  if (per < 1 || count % per != 0)
    return frame.fail(op) << "the number of items must be a multiple of 'per', "
                             "found "
                          << count << " and " << per;
  if (terminator && terminator->getParentRegion() != &op.getRegion() &&
      failed(collector.add(op, frame, yielded)))
    return failure();
  if (collector.next(&op.getTiles(), op.getExtent(), count / per, next))
    return success();
  Shares shares{0, position.grid[0]};
  for (const Extent &extent : collector.extents)
    shares.total += extent.blocks * per;
  int64_t share = position.block[0];
  if (block < 0)
    block = shares.getFirst(share);
  nextPiece(shares, shares.getFirst(share + 1), next);
  return success();
}

void ForeachWorkActivation::skipToPiece() {
  const Extent &extent = collector.extents[item / per];
  int64_t piece = extent.piece;
  block = before +
          std::min(extent.blocks,
                   int64_t(llvm::divideCeil(block - before, piece)) * piece);
}

void ForeachWorkActivation::nextPiece(const Shares &shares, int64_t end,
                                      Next &next) {
  auto findItem = [&] {
    while (before + collector.extents[item / per].blocks <= block)
      before += collector.extents[item++ / per].blocks;
  };
  if (block >= end)
    return;
  findItem();
  if (op.hasFixedPieces()) {
    skipToPiece();
    if (block >= end)
      return;
    findItem();
  }
  const Extent &extent = collector.extents[item / per];
  int64_t first = block - before, after = before + extent.blocks,
          cta = shares.find(before);
  SmallVector<int64_t> values = {extent.group * per + item % per, first};
  if (op.hasFixedPieces()) {
    int64_t pieces = llvm::divideCeil(extent.blocks, extent.piece);
    bool isAlone = shares.find(before + (pieces - 1) * extent.piece) == cta;
    block = std::min(after, block + extent.piece);
    llvm::append_values(values, block - before, first / extent.piece, pieces,
                        2 * cta + !isAlone);
  } else {
    int64_t part = shares.find(block) - cta;
    block = std::min(end, after);
    llvm::append_values(values, block - before, part,
                        shares.find(after - 1) - cta + 1, cta);
  }
  next.region = &op.getRegion();
  for (int64_t value : values)
    next.values.push_back(RuntimeValue::integer(value));
  if (op.hasTiles())
    next.values.push_back(RuntimeValue::integer(extent.tile));
}

//===----------------------------------------------------------------------===//
// Arrivals
//===----------------------------------------------------------------------===//

/// Increments the counter; true if that was the last of `count` arrivals.
static FailureOr<bool> arrive(Operation *op, Frame &frame, MemRefView memref,
                              char *address, int64_t count) {
  int64_t before;
  readElements(memref.kind, address, 1, 1, &before);
  if (before < 0 || before >= count) {
    frame.fail(op) << "counter must be below the " << count
                   << " arrivals, found " << before;
    return failure();
  }
  int64_t after = before + 1 == count ? 0 : before + 1;
  writeElements(memref.kind, &after, 1, address, 1);
  return after == 0;
}

namespace {
/// An arrival by a role with several warp groups.
class GroupArrival : public Object {
public:
  llvm::SmallPtrSet<Agent *, 4> arrived, left;
  std::optional<bool> isLast;
};
} // namespace

static LogicalResult executeArrive(Operation *op, Frame &frame) {
  auto arrival = cast<tile::ArriveOp>(op);
  const MemRefView &memref = frame.get(arrival.getCounters()).getMemRef();
  FailureOr<char *> address =
      locateElement(op, frame, memref, op->getOperands().slice(1, 1));
  if (failed(address))
    return failure();
  int64_t count = frame.getInteger(arrival.getCount());
  auto *environment = frame.getEnvironment<WarpEnvironment>();
  Agent *agent = environment ? environment->agent : nullptr;
  if (!agent || agent->party.groups == 1) {
    FailureOr<bool> isLast = arrive(op, frame, memref, *address, count);
    if (failed(isLast))
      return failure();
    frame.set(arrival.getIsLast(), RuntimeValue::integer(*isLast));
    if (agent)
      agent->synchronised = true;
    return success();
  }
  // The warp groups of a role arrive together.
  auto state = agent->cta.getObject<GroupArrival>(op);
  if (!state->isLast && state->arrived.insert(agent).second &&
      int64_t(state->arrived.size()) == agent->party.groups) {
    FailureOr<bool> isLast = arrive(op, frame, memref, *address, count);
    if (failed(isLast))
      return failure();
    state->isLast = *isLast;
    agent->cta.notify();
  }
  if (!state->isLast || !state->left.insert(agent).second)
    return agent->wait("for the other warp groups of its role");
  frame.set(arrival.getIsLast(), RuntimeValue::integer(*state->isLast));
  agent->synchronised = true;
  if (int64_t(state->left.size()) == agent->party.groups) {
    *state = GroupArrival();
    agent->cta.notify();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Joins
//===----------------------------------------------------------------------===//

namespace {
/// Executes `whole`, or writes the state to memory; the last CTA executes
/// `combine` and `each` for each group of rows.
class JoinActivation : public Activation {
public:
  explicit JoinActivation(tile::JoinOp op) : op(op) {}

  LogicalResult resume(Frame &frame, Operation *terminator,
                       MutableArrayRef<RuntimeValue> yielded,
                       Next &next) override;

private:
  LogicalResult start(Frame &frame, Next &next);
  LogicalResult writeState(Frame &frame);
  /// Reads rows from `row` on of the state of a piece.
  FailureOr<SmallVector<RuntimeValue>> read(Frame &frame, int64_t piece);
  /// The view of a tile's memory at the slot of a piece.
  FailureOr<MemRefView> getSlot(Frame &frame, unsigned tile, int64_t piece);
  /// Continues with the next piece of the current rows.
  LogicalResult proceed(Frame &frame, Next &next);

  tile::JoinOp op;
  int64_t row = 0, piece = 0;
  SmallVector<RuntimeValue> state;
};
} // namespace

FailureOr<MemRefView> JoinActivation::getSlot(Frame &frame, unsigned tile,
                                              int64_t index) {
  MemRefView view = frame.get(op.getMemory()[tile]).getMemRef();
  int64_t slot =
      op.getSlot()
          ? frame.getInteger(op.getSlot()) + index
          : tile::JoinOp::getSlotOfCta(frame.getInteger(op.getCta()), index);
  if (slot < 0 || slot >= view.sizes.front()) {
    frame.fail(op) << "memory must have a slot " << slot << ", found "
                   << view.sizes.front() << " slots";
    return failure();
  }
  view.base = view.at(slot * view.strides.front());
  view.sizes.erase(view.sizes.begin());
  view.strides.erase(view.strides.begin());
  return view;
}

LogicalResult JoinActivation::writeState(Frame &frame) {
  int64_t rows = frame.getInteger(op.getRows());
  for (auto [index, tile] : llvm::enumerate(op.getStates())) {
    FailureOr<MemRefView> slot =
        getSlot(frame, index, frame.getInteger(op.getPart()));
    if (failed(slot))
      return failure();
    const Array &value = frame.getArray(tile);
    int64_t columns = value.getShape()[1],
            stored = std::min(rows, value.getShape()[0]);
    if (stored > slot->sizes[0])
      return frame.fail(op) << "slots have " << slot->sizes[0] << " rows, but "
                            << stored << " rows count";
    withStorage(value.getStorage(), [&](auto like) {
      using T = decltype(like);
      for (int64_t r = 0; r < stored; ++r)
        writeElements(slot->kind, value.data<T>() + r * columns, columns,
                      slot->at(r * slot->strides[0]),
                      columns == 1 ? 1 : slot->strides[1]);
    });
  }
  return success();
}

FailureOr<SmallVector<RuntimeValue>> JoinActivation::read(Frame &frame,
                                                          int64_t index) {
  SmallVector<RuntimeValue> result;
  for (auto [number, tile] : llvm::enumerate(op.getStates())) {
    FailureOr<MemRefView> slot = getSlot(frame, number, index);
    if (failed(slot))
      return failure();
    int64_t columns = cast<RankedTensorType>(tile.getType()).getDimSize(1);
    auto part = std::make_shared<Array>(
        ArrayRef<int64_t>{int64_t(op.getStep()), columns},
        frame.getArray(tile).getStorage());
    withStorage(part->getStorage(), [&](auto like) {
      using T = decltype(like);
      for (int64_t r = 0; r < int64_t(op.getStep()); ++r)
        readElements(slot->kind, slot->at((row + r) * slot->strides[0]),
                     columns == 1 ? 1 : slot->strides[1], columns,
                     part->data<T>() + r * columns);
    });
    result.push_back(RuntimeValue::array(std::move(part)));
  }
  return result;
}

LogicalResult JoinActivation::start(Frame &frame, Next &next) {
  int64_t part = frame.getInteger(op.getPart()),
          parts = frame.getInteger(op.getParts());
  if (part < 0 || part >= parts)
    return frame.fail(op) << "piece must be below the number of pieces, found "
                          << part << " of " << parts;
  if (parts == 1) {
    next.region = &op.getWhole();
    for (Value tile : op.getStates())
      next.values.push_back(frame.get(tile));
    return success();
  }
  if (failed(writeState(frame)))
    return failure();
  const MemRefView &counters = frame.get(op.getCounters()).getMemRef();
  int64_t cta = frame.getInteger(op.getCta());
  if (cta < 0 || cta >= counters.sizes.front())
    return frame.fail(op) << "expected a counter for CTA " << cta << ", found "
                          << counters.sizes.front() << " counters";
  FailureOr<bool> isLast = arrive(
      op, frame, counters, counters.at(cta * counters.strides.front()), parts);
  if (failed(isLast))
    return failure();
  return *isLast ? proceed(frame, next) : success();
}

LogicalResult JoinActivation::proceed(Frame &frame, Next &next) {
  if (row >= frame.getInteger(op.getRows()))
    return success();
  if (piece == 0) {
    FailureOr<SmallVector<RuntimeValue>> first = read(frame, piece++);
    if (failed(first))
      return failure();
    state = std::move(*first);
  }
  if (piece < frame.getInteger(op.getParts())) {
    FailureOr<SmallVector<RuntimeValue>> other = read(frame, piece++);
    if (failed(other))
      return failure();
    next.region = &op.getCombine();
    next.values.assign(state.begin(), state.end());
    next.values.append(other->begin(), other->end());
    return success();
  }
  next.region = &op.getEach();
  next.values.push_back(RuntimeValue::integer(row));
  next.values.append(state.begin(), state.end());
  return success();
}

LogicalResult JoinActivation::resume(Frame &frame, Operation *terminator,
                                     MutableArrayRef<RuntimeValue> yielded,
                                     Next &next) {
  if (!terminator)
    return start(frame, next);
  Region *done = terminator->getParentRegion();
  if (done == &op.getWhole())
    return success();
  if (done == &op.getCombine()) {
    state.assign(yielded.begin(), yielded.end());
    return proceed(frame, next);
  }
  row += op.getStep();
  piece = 0;
  return proceed(frame, next);
}

void fovea::interp::registerWorkHandlers(InterpreterRegistry &registry) {
  registry.add<tile::ArriveOp>(executeArrive);
  registry.addRegionOp<tile::ForeachWorkOp, ForeachWorkActivation>();
  registry.addRegionOp<tile::JoinOp, JoinActivation>();
  registry.addRegionOp<tile::TakeShareOp, TakeShareActivation>();
}
