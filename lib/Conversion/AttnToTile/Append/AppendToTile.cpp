//===- AppendToTile.cpp - Lowers attn.append to a kernel ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers attn.append to one memory-bound kernel with a CTA per new row, which
// computes the row's position and copies all heads of K and V there. Positions
// are computed in 64 bits from unchecked integers; a row without a position
// gets the index -1, which tile.copy_rows skips.
//
//===----------------------------------------------------------------------===//

#include "Kernel/KernelLowering.h"

#include "fovea/Schedule/Schedule.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

namespace {
class AppendLowering final : public KernelLowering {
public:
  explicit AppendLowering(attn::AppendOp op) : op(op) {}
  FailureOr<plan::KernelAttr> emit(KernelBuilder &kb) override;

private:
  attn::AppendOp op;
};

/// Emits the position in the cache of the row of a work item.
class PositionEmitter {
public:
  PositionEmitter(KernelBuilder &kb, attn::AppendOp op)
      : kb(kb), b(kb.builder), loc(op.getLoc()), op(op),
        cache(argument(op.getKeyCacheMutable())) {}

  /// The row's indices in the cache: the page and the row in it, or one index.
  SmallVector<Value> emit(const KernelBuilder::Work &work);

private:
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value argument(OpOperand &operand) {
    return kb.operandArgument(operand.getOperandNumber());
  }
  Value argument(MutableOperandRange operand) {
    return argument(*operand.begin());
  }
  Value constant(int64_t value) {
    return kb.make<arith::ConstantIntOp>(value, 64);
  }
  /// An index or i32 as i64; an i64 as index.
  Value widen(Value value);
  Value toIndex(Value value) {
    return kb.make<arith::IndexCastOp>(b.getIndexType(), value);
  }
  Value size(Value memref, int64_t dim) { return widen(kb.size(memref, dim)); }
  /// Loads an integer as i64.
  Value load(Value memref, ValueRange indices) {
    return widen(memref::LoadOp::create(b, loc, memref, indices));
  }
  /// True if `value` is in [0, bound).
  Value isBelow(Value value, Value bound) {
    return compare(arith::CmpIPredicate::ult, value, bound);
  }
  /// `value` as index if `exists`, else -1.
  Value toPosition(Value value, Value exists) {
    return toIndex(select(exists, value, constant(-1)));
  }

  SmallVector<Value> emitAtSlot(Value slot);
  SmallVector<Value> emitAtEnd(Value sequence, Value row);
  SmallVector<Value> emitPacked(Value row);
  Value emitSearch(Value offsets, Value sequences, Value row);

  KernelBuilder &kb;
  OpBuilder &b;
  Location loc;
  attn::AppendOp op;
  Value cache;
};
} // namespace

Value PositionEmitter::widen(Value value) {
  Type i64 = b.getI64Type();
  if (value.getType().isIndex())
    return kb.make<arith::IndexCastOp>(i64, value);
  return value.getType() == i64 ? value : kb.make<arith::ExtSIOp>(i64, value);
}

SmallVector<Value> PositionEmitter::emit(const KernelBuilder::Work &work) {
  bool isPacked =
      cast<MemRefType>(kb.operandArgument(0).getType()).getRank() == 3;
  if (op.getSlots()) {
    SmallVector<Value> indices = {work.batch, work.row};
    return emitAtSlot(load(argument(op.getSlotsMutable()),
                           ArrayRef(indices).drop_front(isPacked ? 1 : 0)));
  }
  if (isPacked)
    return emitPacked(work.row);
  return emitAtEnd(work.batch, widen(work.row));
}

/// The position of a row of the flat cache.
SmallVector<Value> PositionEmitter::emitAtSlot(Value slot) {
  named("slot", slot);
  if (cast<MemRefType>(cache.getType()).getRank() == 3)
    return {toPosition(slot, isBelow(slot, size(cache, 0)))};
  Value page = size(cache, 1);
  Value exists = isBelow(slot, kb.make<arith::MulIOp>(size(cache, 0), page));
  // A cache without rows has no slots, but the divisor must not be 0.
  Value divisor = kb.make<arith::MaxUIOp>(page, constant(1));
  Value valid = select(exists, slot, constant(0));
  return {toPosition(kb.make<arith::DivUIOp>(valid, divisor), exists),
          toIndex(kb.make<arith::RemUIOp>(valid, divisor))};
}

/// The position of the new row `row` (i64) of a sequence (index).
SmallVector<Value> PositionEmitter::emitAtEnd(Value sequence, Value row) {
  Value length = load(argument(op.getLengthsMutable()), sequence);
  Value place = kb.make<arith::AddIOp>(length, row);
  Value page = size(cache, 1);
  if (!op.getPageTable())
    return {sequence, toPosition(place, isBelow(place, page))};
  Value table = argument(op.getPageTableMutable());
  Value exists = isBelow(place, kb.make<arith::MulIOp>(size(table, 1), page));
  Value divisor = kb.make<arith::MaxUIOp>(page, constant(1));
  Value valid = select(exists, place, constant(0));
  Value number = toIndex(kb.make<arith::DivUIOp>(valid, divisor));
  Value entry = load(table, {sequence, number});
  return {toPosition(entry, exists),
          toIndex(kb.make<arith::RemUIOp>(valid, divisor))};
}

/// The last sequence that begins at or before `row` (i64), as index; 0 if none
/// does. Offsets ascend, so a bisection finds it.
Value PositionEmitter::emitSearch(Value offsets, Value sequences, Value row) {
  Value one = kb.constant(1);
  SmallVector<Value> range = {kb.constant(0), sequences};
  auto loop = scf::WhileOp::create(
      b, loc, TypeRange(ValueRange(range)), range,
      [&](OpBuilder &b, Location loc, ValueRange bounds) {
        Value count = arith::SubIOp::create(b, loc, bounds[1], bounds[0]);
        Value isOpen = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                             count, one);
        scf::ConditionOp::create(b, loc, isOpen, bounds);
      },
      [&](OpBuilder &inner, Location loc, ValueRange bounds) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(inner.getInsertionBlock(),
                            inner.getInsertionPoint());
        Value middle = kb.make<arith::ShRUIOp>(
            kb.make<arith::AddIOp>(bounds[0], bounds[1]), one);
        Value isBefore =
            compare(arith::CmpIPredicate::sle, load(offsets, middle), row);
        scf::YieldOp::create(b, loc,
                             {select(isBefore, middle, bounds[0]),
                              select(isBefore, bounds[1], middle)});
      });
  return loop.getResult(0);
}

/// The position of row `row` (index) of packed sequences.
SmallVector<Value> PositionEmitter::emitPacked(Value row) {
  Value offsets = argument(op.getOffsetsMutable());
  Value one = kb.constant(1), wide = widen(row);
  Value ends = kb.size(offsets, 0);
  // There may be fewer offsets than lengths, and none.
  Value sequences = kb.make<arith::MinSIOp>(
      kb.make<arith::SubIOp>(kb.make<arith::MaxSIOp>(ends, one), one),
      kb.size(argument(op.getLengthsMutable()), 0));
  Value sequence = emitSearch(offsets, sequences, wide);
  named("sequence", sequence);
  Value first = load(offsets, sequence);
  Value next = kb.make<arith::AddIOp>(sequence, one);
  Value end = load(offsets, next);
  Value isInside =
      kb.make<arith::AndIOp>(compare(arith::CmpIPredicate::sle, first, wide),
                             compare(arith::CmpIPredicate::slt, wide, end));
  Value exists = kb.make<arith::AndIOp>(
      isInside, compare(arith::CmpIPredicate::slt, sequence, sequences));
  SmallVector<Value> found =
      emitAtEnd(sequence, kb.make<arith::SubIOp>(wide, first));
  found.front() = select(exists, found.front(), kb.constant(-1));
  return found;
}

std::unique_ptr<KernelLowering> fovea::makeAppendLowering(attn::AppendOp op) {
  return std::make_unique<AppendLowering>(op);
}

/// Reports head dims whose rows are not whole accesses of 16 bytes.
static LogicalResult checkHeadDims(attn::AppendOp op) {
  constexpr int64_t kStep = 8, kMost = 4096;
  for (Value cache : {op.getKeyCache(), op.getValueCache()}) {
    auto type =
        cache ? cast<RankedTensorType>(cache.getType()) : RankedTensorType();
    if (type &&
        (type.getShape().back() % kStep != 0 || type.getShape().back() > kMost))
      return op.emitError("head dims must be multiples of ")
             << kStep << " up to " << kMost << ", found " << type;
  }
  return success();
}

FailureOr<plan::KernelAttr> AppendLowering::emit(KernelBuilder &kb) {
  constexpr int64_t kWarps = 4;
  if (failed(checkHeadDims(op)))
    return failure();
  OpBuilder &b = kb.builder;
  Value key = kb.operandArgument(0);
  bool isPacked = cast<MemRefType>(key.getType()).getRank() == 3;
  Value batch = isPacked ? kb.constant(1) : kb.size(key, 0);
  KernelBuilder::Work work =
      kb.beginWork(batch, kb.constant(1), kb.size(key, isPacked ? 0 : 1),
                   /*tileM=*/1, {});
  SmallVector<Value> sources = {key}, targets = {kb.resultArgument(0)};
  if (op.getValue()) {
    sources.push_back(kb.operandArgument(1));
    targets.push_back(kb.resultArgument(1));
  }
  SmallVector<Value> from = {work.batch, work.row};
  if (isPacked)
    from.erase(from.begin());
  tile::CopyRowsOp::create(b, op.getLoc(), sources, from, targets,
                           PositionEmitter(kb, op).emit(work));
  kb.endWork();
  ScheduleFields fields;
  fields.tileM = 1;
  fields.tileN = 16;
  fields.warps = kWarps;
  fields.stages = 1;
  fields.minBlocks = 8;
  return makePlan(op.getContext(), fields);
}
