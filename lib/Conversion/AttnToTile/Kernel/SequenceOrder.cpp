//===- SequenceOrder.cpp - Packed sequences, longest first ----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sequence's position in the order is the number of sequences before it:
// those with more keys, and among equals those with a smaller index. Its first
// tile is the number of tiles of those sequences. Both are sums over all
// sequences: a warp compares 8 sequences, as columns, with 64 at a time, as
// rows, independently of other warps. Lengths are differences of adjacent
// offsets; row loads, unlike column loads, need no alignment for that. The
// entry past the last sequence has no keys and so comes last: its position is
// the end of all tiles.
//
// Offsets are unchecked user data. For any values the comparison is a total
// order, so positions are a permutation.
//
//===----------------------------------------------------------------------===//

#include "Kernel/SequenceOrder.h"
#include "Kernel/HelperKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

// Sequences that a warp places, and sequences that it compares them with at a
// time.
static constexpr int64_t kPlaced = 8, kCompared = 64;

Value fovea::declareSequenceOrder(KernelBuilder &kb, const PackedWork &work,
                                  int64_t tileM) {
  Builder &b = kb.builder;
  SizeExpressions sizes(kb, work.offsets);
  AffineExpr extents[] = {b.getAffineConstantExpr(2), sizes.getSize(0)};
  unsigned order =
      declareScratch(kb, "order", sizes.getNames(), extents, b.getI32Type());
  kb.sequenceOrder = {work.offsets, *work.keys,        work.keysAreOffsets,
                      order,        work.rowsPerQuery, tileM};
  return kb.kernel.getArgument(order);
}

namespace {
/// Computes the positions of a warp's sequences.
class OrderEmitter {
public:
  OrderEmitter(OpBuilder &b, Location loc, Value queryOffsets, Value keyCounts,
               Value memory, const SequenceOrder &order)
      : b(b), loc(loc), queryOffsets(queryOffsets), keyCounts(keyCounts),
        memory(memory), order(order) {}

  void emit(Value first);

private:
  template <typename OpTy, typename... Args>
  Value make(Args &&...args) {
    return OpTy::create(b, loc, std::forward<Args>(args)...)->getResult(0);
  }
  RankedTensorType tileType(int64_t rows, int64_t columns) {
    return RankedTensorType::get({rows, columns}, b.getI32Type(),
                                 tile::RegAttr::get(b.getContext()));
  }
  Value index(int64_t value) { return make<arith::ConstantIndexOp>(value); }
  Value splat(RankedTensorType type, int64_t value) {
    return make<arith::ConstantOp>(
        DenseElementsAttr::get(type, APInt(32, value, /*isSigned=*/true)));
  }
  Value widen(RankedTensorType type, Value value) {
    return make<tile::BroadcastOp>(
        type.clone(getElementTypeOrSelf(value.getType())), value);
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return make<arith::CmpIOp>(predicate, x, y);
  }
  /// Indices from `first` on, along dimension `dim` of the tile.
  Value emitNumbers(RankedTensorType type, int64_t dim, Value first) {
    return make<arith::AddIOp>(
        make<tile::IotaOp>(type, dim),
        widen(type, make<arith::IndexCastOp>(b.getI32Type(), first)));
  }
  /// Lengths of the sequences from `first` on.
  Value emitLengths(RankedTensorType type, int64_t dim, Value lengths,
                    bool areOffsets, Value first);
  Value emitKeys(RankedTensorType type, int64_t dim, Value first) {
    return emitLengths(type, dim, keyCounts, order.keysAreOffsets, first);
  }
  /// Adds the contributions of the sequences from `number` on to `sums`.
  SmallVector<Value> emitStep(Value number, ValueRange sums);

  OpBuilder &b;
  Location loc;
  /// Offsets, and offsets or numbers.
  Value queryOffsets, keyCounts;
  Value memory;
  const SequenceOrder &order;
  RankedTensorType rowType = tileType(kCompared, 1),
                   columnType = tileType(1, kPlaced),
                   pairType = tileType(kCompared, kPlaced);
  /// Number of sequences; indices and keys of the sequences to be placed.
  Value sequences, placed, keys;
};
} // namespace

Value OrderEmitter::emitLengths(RankedTensorType type, int64_t dim,
                                Value lengths, bool areOffsets, Value first) {
  int64_t dims[] = {-1, -1};
  dims[dim] = 0;
  auto load = [&](Value from) {
    return make<tile::LoadOp>(type, lengths, from, /*limit=*/Value(), dims);
  };
  Value length = load(first);
  if (areOffsets) {
    Value end = load(make<arith::AddIOp>(first, index(1)));
    length = make<arith::SubIOp>(end, length);
  }
  return make<arith::MaxSIOp>(length, splat(type, 0));
}

SmallVector<Value> OrderEmitter::emitStep(Value number, ValueRange sums) {
  Value others = emitNumbers(rowType, 0, number);
  Value exists = compare(
      arith::CmpIPredicate::slt, others,
      widen(rowType, make<arith::IndexCastOp>(b.getI32Type(), sequences)));
  // Rows past the last sequence come before none.
  Value otherKeys = make<arith::SelectOp>(exists, emitKeys(rowType, 0, number),
                                          splat(rowType, -1));
  Value rows =
      emitLengths(rowType, 0, queryOffsets, /*areOffsets=*/true, number);
  if (order.rowsPerQuery != 1)
    rows = make<arith::MulIOp>(rows, splat(rowType, order.rowsPerQuery));
  Value slots = make<arith::DivUIOp>(
      make<arith::AddIOp>(rows, splat(rowType, order.tileM - 1)),
      splat(rowType, order.tileM));

  Value theirs = widen(pairType, otherKeys), mine = widen(pairType, keys);
  Value isLonger = compare(arith::CmpIPredicate::sgt, theirs, mine);
  Value isAsLong = compare(arith::CmpIPredicate::eq, theirs, mine);
  Value isEarlier = compare(arith::CmpIPredicate::slt, widen(pairType, others),
                            widen(pairType, placed));
  Value isBefore =
      make<arith::OrIOp>(isLonger, make<arith::AndIOp>(isAsLong, isEarlier));
  auto add = [&](Value sum, Value what) {
    return make<arith::AddIOp>(
        sum, make<arith::SelectOp>(isBefore, what, splat(pairType, 0)));
  };
  return {add(sums[kFirstSlots], widen(pairType, slots)),
          add(sums[kSequences], splat(pairType, 1))};
}

void OrderEmitter::emit(Value first) {
  Value entries = make<memref::DimOp>(queryOffsets, 0);
  sequences = make<arith::SubIOp>(entries, index(1));
  placed = emitNumbers(columnType, 1, first);
  keys = emitKeys(columnType, 1, first);
  Value zeros = splat(pairType, 0);
  auto loop = scf::ForOp::create(b, loc, index(0), sequences, index(kCompared),
                                 ValueRange{zeros, zeros});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> sums =
        emitStep(loop.getInductionVar(), loop.getRegionIterArgs());
    scf::YieldOp::create(b, loc, sums);
  }
  auto reduce = [&](int64_t sum) {
    return make<tile::ReduceOp>(columnType, tile::ReduceKind::Add, 0,
                                loop.getResult(sum));
  };
  Value firstSlots = reduce(kFirstSlots), places = reduce(kSequences);
  Value exists = compare(
      arith::CmpIPredicate::slt, placed,
      widen(columnType, make<arith::IndexCastOp>(b.getI32Type(), entries)));
  for (auto [row, value] :
       {std::pair(kFirstSlots, firstSlots), {kSequences, placed}})
    tile::ScatterOp::create(b, loc, value, memory,
                            ValueRange{index(row), places}, exists);
}

void fovea::buildSequenceOrder(const KernelBuilder &kb, launch::AbiOp main) {
  const SequenceOrder &order = *kb.sequenceOrder;
  ScheduleFields fields;
  fields.tileM = kCompared;
  fields.tileN = kPlaced;
  fields.warps = fields.stages = 1;
  auto memory = cast<launch::ScratchMemRefParameterAttr>(
      main.getParameters()[order.order]);
  AffineExpr entries = memory.getExtents().getValue().getResults().back();
  unsigned arguments[] = {order.queryOffsets, order.keys, order.order};
  OpBuilder b(main.getContext());
  gpu::GPUFuncOp kernel = beginHelperKernel(
      b, kb, main,
      {"order", arguments, memory.getSizes(), entries.ceilDiv(kPlaced),
       makePlan(main.getContext(), fields)});
  Location loc = main.getLoc();
  Value cta =
      gpu::BlockIdOp::create(b, loc, b.getIndexType(), gpu::Dimension::x);
  Value first = arith::MulIOp::create(
      b, loc, cta, arith::ConstantIndexOp::create(b, loc, kPlaced));
  OrderEmitter(b, loc, kernel.getArgument(0), kernel.getArgument(1),
               kernel.getArgument(2), order)
      .emit(first);
  gpu::ReturnOp::create(b, loc);
}
