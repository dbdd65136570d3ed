//===- RelativePositionReduce.cpp - Sums by relative position -------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The index of a relative position is that of its column in `tile.diagonals`,
// counted from the warp's first one. With R rows per warp, the element of block
// D in row g and column k has index 8 D + k - g + 7, where D is the block's
// column minus its row, plus R / 8 - 1. After each step the remaining sums are
// relative to a row whose index is 0 in the bits processed so far:
//
//   step  lanes  indices in register t of these lanes
//   1     8      8 t + 6 - a + 0 ... 7
//   2     16     16 t + 4 - a + 0 ... 15
//   3     32     32 t + 0 ... 31
//
// where `a` is the row's index in the bits that are not processed yet. The
// lowest indices belong to lanes whose columns leave their block when they are
// shifted to the left: the value that such a lane receives for one block
// belongs to the next one.
//
//===----------------------------------------------------------------------===//

#include "Tiles/RelativePositionReduce.h"

#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

// Rows and columns of a block, and adjacent columns of it per lane.
static constexpr int64_t kBlock = 8, kNeighbours = 2;

static tile::DiagonalsOp getDiagonals(Value index) {
  return index.getDefiningOp<tile::DiagonalsOp>();
}

static warp::DiagonalsAttr getLayout(tile::DiagonalsOp op) {
  return dyn_cast<warp::DiagonalsAttr>(op.getSource().getType().getEncoding());
}

/// Returns true if the lanes of a warp hold a block as the steps require: four
/// lanes per row.
static bool hasBlocks(warp::ThreadLayoutAttrInterface layout) {
  const SmallVector<int64_t> ofRows = {4, 8, 16}, ofColumns = {1, 2};
  return layout.getPeriod(0) == kBlock && layout.getPeriod(1) == kBlock &&
         layout.getLanesOfPeriod(0) == ofRows &&
         layout.getLanesOfPeriod(1) == ofColumns;
}

bool fovea::reducesByRelativePosition(tile::ScatterOp op) {
  RankedTensorType tile = op.getValue().getType();
  auto layout = dyn_cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  if (!op.getAdd() || !layout || !hasBlocks(layout))
    return false;
  bool isByDiagonal = false;
  for (Value index : op.getIndices()) {
    if (!isa<RankedTensorType>(index.getType()))
      continue;
    tile::DiagonalsOp made = getDiagonals(index);
    warp::DiagonalsAttr diagonals = made ? getLayout(made) : nullptr;
    if (!diagonals ||
        made.getResult().getType().getShape() != tile.getShape() ||
        diagonals.getRows() != tile.getDimSize(0) ||
        diagonals.getWarps() != layout.getRowWarps())
      return false;
    isByDiagonal = true;
  }
  return isByDiagonal;
}

bool fovea::isUsedByReductionsOnly(tile::DiagonalsOp op) {
  return !op->use_empty() && llvm::all_of(op->getUsers(), [](Operation *user) {
    auto scatter = dyn_cast<tile::ScatterOp>(user);
    return scatter && reducesByRelativePosition(scatter);
  });
}

//===----------------------------------------------------------------------===//
// Small emitters; null is an empty sum
//===----------------------------------------------------------------------===//

RelativePositionReduce::RelativePositionReduce(OpBuilder &builder,
                                               tile::ScatterOp op)
    : b(op.getLoc(), builder), tile(op.getValue().getType()) {
  for (Value index : op.getIndices())
    if (tile::DiagonalsOp made = getDiagonals(index))
      diagonals = getLayout(made);
  Value thread = emitThread(b, b.getLoc());
  lane = arith::AndIOp::create(b, thread, i32(kLanes - 1));
  column = arith::AndIOp::create(b, lane, i32(3));
}

Value RelativePositionReduce::i32(int64_t value) {
  return emitI32(b, b.getLoc(), value);
}

Value RelativePositionReduce::bit(Value of, int64_t number) {
  return arith::AndIOp::create(b, arith::ShRUIOp::create(b, of, i32(number)),
                               i32(1));
}

Value RelativePositionReduce::isOne(Value bit) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, i32(0));
}

Value RelativePositionReduce::select(Value condition, Value yes, Value no) {
  if (!yes && !no)
    return {};
  auto orZero = [&](Value value) -> Value {
    if (value)
      return value;
    return arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  };
  return arith::SelectOp::create(b, condition, orZero(yes), orZero(no));
}

Value RelativePositionReduce::sum(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return arith::AddFOp::create(b, x, y);
}

Value RelativePositionReduce::shuffle(Value value, Value from) {
  if (!value)
    return {};
  return emitShuffle(b, b.getLoc(), value, NVVM::ShflKind::idx, from);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

RelativePositionReduce::BlockSums
RelativePositionReduce::addBlocks(ValueRange elements) {
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  int64_t rows = diagonals.getRowsOfWarp() / kBlock,
          columns = tile.getDimSize(1) / kBlock;
  Registers sums[kNeighbours];
  for (Registers &each : sums)
    each.resize(rows + columns - 1);
  for (auto [element, row, column] :
       llvm::zip_equal(elements, layout.getOffsets(tile.getShape(), 0),
                       layout.getOffsets(tile.getShape(), 1))) {
    Value &into =
        sums[column % kBlock][column / kBlock - row / kBlock + rows - 1];
    into = sum(into, element);
  }
  return {sums[0], sums[1]};
}

int64_t RelativePositionReduce::countPositions() const {
  return diagonals.getRowsOfWarp() + tile.getDimSize(1) - 1;
}

/// Every second register holds sums; the last one may overlap by half.
SmallVector<unsigned> RelativePositionReduce::getNumbers() const {
  constexpr int64_t kStep = warp::DiagonalsAttr::kStep;
  int64_t last = (countPositions() + 1) / kStep - 2;
  SmallVector<unsigned> numbers;
  for (int64_t first = 0; kStep * first < countPositions(); first += 2)
    numbers.push_back(std::min(first, last));
  return numbers;
}

/// Sums rows at distance 1: the even row's lanes sum even columns, the odd
/// row's lanes odd columns, which become even ones after the shift.
RelativePositionReduce::Registers
RelativePositionReduce::addNeighbours(ArrayRef<Value> even, ArrayRef<Value> odd,
                                      const Exchange &by) {
  Registers sums;
  Value before;
  for (auto [own, given] : llvm::zip_equal(even, odd)) {
    Value taken = shuffle(given, by.from);
    sums.push_back(sum(own, select(by.isLate, before, taken)));
    before = taken;
  }
  sums.push_back(select(by.isLate, before, {}));
  return sums;
}

RelativePositionReduce::Registers
RelativePositionReduce::halve(ArrayRef<Value> held, const Exchange &by) {
  Registers sums;
  Value before;
  for (size_t index = 0; index < held.size(); index += 2) {
    Value even = held[index],
          odd = index + 1 < held.size() ? held[index + 1] : Value();
    Value kept = select(by.keepsOdd, odd, even);
    Value taken = shuffle(select(by.keepsOdd, even, odd), by.from);
    sums.push_back(sum(kept, select(by.isLate, before, taken)));
    before = taken;
  }
  return sums;
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// After step 2 the 8 pairs of columns of two rows have indices 0 to 7 from the
/// first one of the even row: `moved`. The odd row's columns were shifted by 2,
/// so its first pair is the last one.
Value RelativePositionReduce::makeLane(Value row4, Value row1, Value moved) {
  Value row2 = bit(moved, 2);
  Value pair =
      arith::AndIOp::create(b, arith::AddIOp::create(b, moved, row2), i32(3));
  Value row = arith::OrIOp::create(
      b, arith::ShLIOp::create(b, row4, i32(2)),
      arith::OrIOp::create(b, arith::ShLIOp::create(b, row2, i32(1)), row1));
  return arith::OrIOp::create(b, arith::ShLIOp::create(b, row, i32(2)), pair);
}

/// Inverts the steps: computes row and columns from the index.
Value RelativePositionReduce::findLane(Value remainder) {
  Value row1 = arith::XOrIOp::create(b, bit(remainder, 0), i32(1));
  // Pairs of indices, counted from the first one of row 0.
  constexpr int64_t kFirst = 5;
  Value pairs = arith::ShRUIOp::create(
      b,
      arith::AddIOp::create(b, arith::AddIOp::create(b, remainder, row1),
                            i32(kLanes - kFirst)),
      i32(1));
  Value row4 = bit(pairs, 3);
  Value moved = arith::SubIOp::create(
      b,
      arith::AddIOp::create(b, pairs, arith::ShLIOp::create(b, row4, i32(1))),
      i32(1));
  return makeLane(row4, row1, arith::AndIOp::create(b, moved, i32(7)));
}

RelativePositionReduce::Exchange
RelativePositionReduce::makeExchange(Value isSecond, Value from) {
  Value is = isOne(isSecond);
  Value isLate = arith::AndIOp::create(
      b, is,
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, column, i32(0)));
  return {from, isLate, arith::XOrIOp::create(b, is, isLate)};
}

SmallVector<RelativePositionReduce::Sum>
RelativePositionReduce::add(const BlockSums &blocks) {
  Value row1 = bit(lane, 2), row2 = bit(lane, 3), row4 = bit(lane, 4);
  // Rotates an index among `count` pairs of columns.
  auto move = [&](Value pair, Value steps, int64_t count) {
    return arith::AndIOp::create(b, arith::SubIOp::create(b, pair, steps),
                                 i32(count - 1));
  };
  // The second row of two receives from the left, the first one from the right.
  auto takeFrom = [&](Value pair, Value isSecond, int64_t distance,
                      int64_t count) {
    Value both = arith::MulIOp::create(b, isSecond, i32(2 * distance));
    return move(pair, arith::SubIOp::create(b, both, i32(distance)), count);
  };
  // The lane whose row differs in the bits `changed`, and with that pair of
  // columns.
  auto ofRow = [&](int64_t changed, Value pair) {
    Value row = arith::AndIOp::create(b, lane, i32(kLanes - 4));
    return arith::OrIOp::create(
        b, arith::XOrIOp::create(b, row, i32(4 * changed)), pair);
  };
  Registers held =
      addNeighbours(blocks.even, blocks.odd,
                    makeExchange(row1, ofRow(1, move(column, row1, 4))));
  held =
      halve(held, makeExchange(row2, ofRow(2, takeFrom(column, row2, 1, 4))));
  Value moved = arith::OrIOp::create(b, arith::ShLIOp::create(b, row2, i32(2)),
                                     move(column, row2, 4));
  Value other = arith::XOrIOp::create(b, row4, i32(1));
  held = halve(held, makeExchange(row4, makeLane(other, row1,
                                                 takeFrom(moved, row4, 2, 8))));
  return distribute(held);
}

/// In the layout of relative positions lane l holds index 16 r + l in register
/// r.
SmallVector<RelativePositionReduce::Sum>
RelativePositionReduce::distribute(ArrayRef<Value> held) {
  constexpr int64_t kStep = warp::DiagonalsAttr::kStep;
  SmallVector<Sum> sums;
  for (auto [index, value, number] : llvm::enumerate(held, getNumbers())) {
    int64_t first = 2 * static_cast<int64_t>(index);
    Sum sum;
    sum.number = number;
    Value remainder = lane;
    if (first > number)
      remainder = arith::XOrIOp::create(b, lane, i32(kStep));
    sum.value = shuffle(value, findLane(remainder));
    int64_t end = std::min(countPositions() - kStep * first, kLanes);
    if (end < kLanes)
      sum.counts = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                         remainder, i32(end));
    sums.push_back(sum);
  }
  return sums;
}
