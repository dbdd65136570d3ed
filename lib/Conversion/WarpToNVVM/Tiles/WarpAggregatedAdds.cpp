//===- WarpAggregatedAdds.cpp - Warp-aggregated atomics -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits comparisons of addresses among the lanes of a warp, sums of elements
// with equal addresses, and one atomic addition per distinct address.
//
//===----------------------------------------------------------------------===//

#include "Tiles/WarpAggregatedAdds.h"

#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

Value WarpAggregatedAdds::emitEndsRun(const Pair &pair) {
  Value ends = arith::ConstantIntOp::create(b, loc, 0, 1);
  for (Value index : pair.indices) {
    if (!isOfLane(index))
      continue;
    Value next =
        emitShuffle(b, loc, index, NVVM::ShflKind::down, emitI32(b, loc, 1));
    ends = arith::OrIOp::create(
        b, loc, ends,
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, index, next));
  }
  return ends;
}

Value WarpAggregatedAdds::emitAreEqual(ArrayRef<Pair> pairs) {
  Value areEqual = arith::ConstantIntOp::create(b, loc, 1, 1);
  for (unsigned dim = 0; dim < pairs.front().indices.size(); ++dim) {
    Value first = pairs.front().indices[dim];
    if (!isOfLane(first))
      continue;
    first = emitShuffle(b, loc, first, NVVM::ShflKind::idx, emitI32(b, loc, 0));
    for (const Pair &pair : pairs)
      areEqual = arith::AndIOp::create(
          b, loc, areEqual,
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                pair.indices[dim], first));
  }
  return emitAll(b, loc, areEqual);
}

Place WarpAggregatedAdds::locate(const Pair &pair, Value predicate) {
  Place place = locateElement(b, loc, view, pair.indices);
  return predicate ? restrict(b, loc, place, predicate) : place;
}

Value WarpAggregatedAdds::emitLane() {
  return arith::AndIOp::create(b, loc, emitThread(b, loc),
                               emitI32(b, loc, kLanes - 1));
}

Value WarpAggregatedAdds::emitZero() {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
}

Value WarpAggregatedAdds::emitCounted(const Pair &pair) {
  if (!pair.mask)
    return pair.element;
  return arith::SelectOp::create(b, loc, pair.mask, pair.element, emitZero());
}

void WarpAggregatedAdds::addTogether(ArrayRef<Pair> pairs) {
  Value sum;
  for (const Pair &pair : pairs) {
    Value element = emitCounted(pair);
    sum =
        sum ? arith::AddFOp::create(b, loc, sum, element).getResult() : element;
  }
  addOfLanes(pairs.front(), sum);
}

void WarpAggregatedAdds::addOfLanes(const Pair &pair, Value sum) {
  for (int64_t distance = 1; distance < kLanes; distance *= 2)
    sum = arith::AddFOp::create(b, loc, sum,
                                emitShuffle(b, loc, sum, NVVM::ShflKind::bfly,
                                            emitI32(b, loc, distance)));
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        emitLane(), emitI32(b, loc, 0));
  addTo(locate(pair, isFirst), sum);
}

/// Sums as a balanced tree: a chain would have the latency of one addition per
/// element.
static Value addUp(OpBuilder &b, Location loc, ValueRange elements) {
  SmallVector<Value> sums(elements);
  for (size_t distance = 1; distance < sums.size(); distance *= 2)
    for (size_t index = 0; index + distance < sums.size();
         index += 2 * distance)
      sums[index] =
          arith::AddFOp::create(b, loc, sums[index], sums[index + distance]);
  return sums.front();
}

void WarpAggregatedAdds::addAll(ArrayRef<Pair> pairs, ValueRange elements,
                                function_ref<void()> otherwise) {
  choose(
      emitAreEqual(pairs), pairs,
      [&](auto of) { addOfLanes(of.front(), addUp(b, loc, elements)); },
      [&](auto) { otherwise(); });
}

namespace {
/// A run of adjacent lanes with equal addresses: `ends` is a bitmap of the
/// lanes that end a run, `last` the last lane of this lane's run, `sum` the sum
/// from this lane to there.
struct Run {
  Value ends, last, sum;
};
} // namespace

/// Segmented reduction in five steps: the first lane of a run gets the sum of
/// the run. Steps of all pairs are interleaved, because the shuffles of a
/// single pair would wait for one another.
void WarpAggregatedAdds::addInOrder(ArrayRef<Pair> pairs) {
  Value lane = emitLane(), one = emitI32(b, loc, 1);
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane,
                                       emitI32(b, loc, kLanes - 1));
  Value fromLane = arith::ShLIOp::create(b, loc, emitI32(b, loc, -1), lane);
  SmallVector<Run> runs;
  for (const Pair &pair : pairs) {
    Value isEnd = arith::OrIOp::create(b, loc, isLast, emitEndsRun(pair));
    Value ends =
        NVVM::VoteSyncOp::create(b, loc, b.getI32Type(), emitI32(b, loc, -1),
                                 isEnd, NVVM::VoteSyncKind::ballot);
    Value last = LLVM::CountTrailingZerosOp::create(
        b, loc, b.getI32Type(), arith::AndIOp::create(b, loc, ends, fromLane),
        /*is_zero_poison=*/true);
    runs.push_back({ends, last, emitCounted(pair)});
  }
  for (int64_t distance = 1; distance < kLanes; distance *= 2)
    for (Run &run : runs) {
      auto [other, isInRun] =
          emitShuffleDown(b, loc, run.sum, emitI32(b, loc, distance), run.last);
      Value both = arith::AddFOp::create(b, loc, run.sum, other);
      run.sum = arith::SelectOp::create(b, loc, isInRun, both, run.sum);
    }
  for (auto [pair, run] : llvm::zip_equal(pairs, runs)) {
    // A run begins after the end of another one, and at lane 0.
    Value begins = arith::OrIOp::create(
        b, loc, arith::ShLIOp::create(b, loc, run.ends, one), one);
    Value bit = arith::AndIOp::create(
        b, loc, arith::ShRUIOp::create(b, loc, begins, lane), one);
    Value adds = arith::AndIOp::create(
        b, loc,
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, bit, one),
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, run.sum,
                              emitZero()));
    addTo(locate(pair, adds), run.sum);
  }
}

void WarpAggregatedAdds::addEach(ArrayRef<Pair> pairs) {
  for (const Pair &pair : pairs)
    addTo(locate(pair, pair.mask), pair.element);
}

/// Returns true if the tile counts columns plus a uniform offset, or selects
/// between two such tiles, as for negative indices that count from a tensor's
/// end.
static bool countsColumns(Value tile) {
  Operation *def = tile.getDefiningOp();
  if (auto iota = dyn_cast_or_null<tile::IotaOp>(def))
    return iota.getDim() == 1;
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp>(def))
    return countsColumns(def->getOperand(0));
  if (auto select = dyn_cast_or_null<arith::SelectOp>(def))
    return countsColumns(select.getTrueValue()) &&
           countsColumns(select.getFalseValue());
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(def))
    return false;
  auto isUniform = [](Value value) {
    auto broadcast = value.getDefiningOp<tile::BroadcastOp>();
    return matchPattern(value, m_Constant()) ||
           (broadcast &&
            !isa<RankedTensorType>(broadcast.getSource().getType()));
  };
  Value first = def->getOperand(0), second = def->getOperand(1);
  return (countsColumns(first) && isUniform(second)) ||
         (countsColumns(second) && isUniform(first));
}

bool WarpAggregatedAdds::haveDistinctAddresses(ValueRange indices) {
  return llvm::any_of(indices, [](Value index) {
    auto diagonals = index.getDefiningOp<tile::DiagonalsOp>();
    return diagonals && countsColumns(diagonals.getSource());
  });
}

void WarpAggregatedAdds::choose(Value condition, ArrayRef<Pair> pairs,
                                Emitter yes, Emitter no) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  yes(pairs);
  b.setInsertionPointToStart(branch.elseBlock());
  no(pairs);
}

void WarpAggregatedAdds::add(ArrayRef<Pair> pairs) {
  choose(
      emitAreEqual(pairs), pairs, [&](auto of) { addTogether(of); },
      [&](auto of) { addEach(of); });
}
