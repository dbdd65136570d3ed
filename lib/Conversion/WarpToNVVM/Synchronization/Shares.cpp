//===- Shares.cpp - Shares of work and arrivals as PTX ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers `tile.take_share` and `tile.arrive`.
//
// The lanes of a warp evaluate the extents of 32 groups at a time: their loads
// overlap, and shuffles compute sums and prefix sums. Each warp does so by
// itself, so no barrier is needed.
//
// An arrival needs two barriers of the role: all threads store before one of
// them increments the counter, and all learn from it whether the CTA is the
// last. The thread releases the stores that it has observed at the barrier, and
// acquires those of the other CTAs for all threads of its own.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fovea;

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

namespace {
class ShareLowering {
public:
  ShareLowering(tile::TakeShareOp op, LaneReads &reads)
      : op(op), b(op.getLoc(), op), loc(op.getLoc()), reads(reads) {}

  void lower();

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  /// The blocks of the lane's group, i32; 0 if there is no such group.
  Value emitBlocks(Value first);
  Value emitTotal();
  void emitRange(Value total);
  /// The number of the group that contains the first block of the share, and
  /// the blocks before it.
  void emitGroup();
  /// The sum over this lane and those before it.
  Value emitPrefixSum(Value value);

  tile::TakeShareOp op;
  ImplicitLocOpBuilder b;
  Location loc;
  LaneReads &reads;
  /// Lane, i32.
  Value lane, first, end;
};
} // namespace

Value ShareLowering::emitBlocks(Value first) {
  Value number = arith::AddIOp::create(
      b, first, arith::IndexCastUIOp::create(b, loc, b.getIndexType(), lane));
  Value exists = compare(arith::CmpIPredicate::ult, number, op.getCount());
  // Without a branch, as lanes that leave a warp would miss shuffles. A group 0
  // may not exist: a memory access that is out of bounds is none.
  Value group = select(exists, number, constant(0));
  IRMapping mapping;
  Block &block = op.getBlocks().front();
  mapping.map(block.getArgument(0), group);
  for (Operation &inner : block.without_terminator()) {
    Operation *clone = b.clone(inner, mapping);
    clone->walk([&](memref::LoadOp load) { reads.insert(load); });
  }
  Value blocks = mapping.lookupOrDefault(block.getTerminator()->getOperand(0));
  Value narrow = arith::IndexCastUIOp::create(b, loc, b.getI32Type(), blocks);
  return select(exists, narrow, emitI32(b, loc, 0));
}

Value ShareLowering::emitTotal() {
  auto loop =
      scf::ForOp::create(b, loc, constant(0), op.getCount(), constant(kLanes),
                         ValueRange{emitI32(b, loc, 0)});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value blocks = emitBlocks(loop.getInductionVar());
    Value sum = arith::AddIOp::create(b, loop.getRegionIterArg(0), blocks);
    scf::YieldOp::create(b, loc, sum);
  }
  Value sum = loop.getResult(0);
  for (int64_t distance = kLanes / 2; distance > 0; distance /= 2)
    sum = arith::AddIOp::create(b, sum,
                                emitShuffle(b, loc, sum, NVVM::ShflKind::bfly,
                                            emitI32(b, loc, distance)));
  return arith::IndexCastUIOp::create(b, loc, b.getIndexType(), sum);
}

void ShareLowering::emitRange(Value total) {
  Value quotient = arith::DivUIOp::create(b, total, op.getShares());
  Value remainder = arith::RemUIOp::create(b, total, op.getShares());
  first = arith::AddIOp::create(
      b, arith::MulIOp::create(b, op.getShare(), quotient),
      arith::MinUIOp::create(b, op.getShare(), remainder));
  Value isLonger = compare(arith::CmpIPredicate::ult, op.getShare(), remainder);
  Value more = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), isLonger);
  end =
      arith::AddIOp::create(b, arith::AddIOp::create(b, first, quotient), more);
}

Value ShareLowering::emitPrefixSum(Value value) {
  for (int64_t distance = 1; distance < kLanes; distance *= 2) {
    Value steps = emitI32(b, loc, distance);
    // A lane without a lane so far before it gets its own value.
    Value before = NVVM::ShflOp::create(
        b, loc, b.getI32Type(), emitI32(b, loc, -1), value, steps,
        emitI32(b, loc, 0), NVVM::ShflKind::up, UnitAttr());
    Value sum = arith::AddIOp::create(b, value, before);
    value = select(compare(arith::CmpIPredicate::uge, lane, steps), sum, value);
  }
  return value;
}

void ShareLowering::emitGroup() {
  Type index = b.getIndexType(), i32 = b.getI32Type();
  SmallVector<Type> types = {index, i32, i32};
  SmallVector<Location> locs(3, loc);
  // The next group, the blocks before it, and whether the group is found.
  auto loop = scf::WhileOp::create(
      b, loc, types,
      ValueRange{constant(0), emitI32(b, loc, 0), emitI32(b, loc, 0)});
  Block *body = b.createBlock(&loop.getBefore(), {}, types, locs);
  Value start = body->getArgument(0), before = body->getArgument(1);
  Value blocks = emitBlocks(start);
  Value sums = arith::AddIOp::create(b, before, emitPrefixSum(blocks));
  Value wanted = arith::IndexCastUIOp::create(b, loc, i32, first);
  // The groups of these lanes are before the wanted one.
  Value isBefore = compare(arith::CmpIPredicate::ule, sums, wanted);
  Value votes = NVVM::VoteSyncOp::create(b, loc, i32, emitI32(b, loc, -1),
                                         isBefore, NVVM::VoteSyncKind::ballot);
  Value count = math::CtPopOp::create(b, loc, votes);
  Value found =
      compare(arith::CmpIPredicate::ne, count, emitI32(b, loc, kLanes));
  Value here = arith::MinUIOp::create(b, count, emitI32(b, loc, kLanes - 1));
  Value exclusive = emitShuffle(b, loc, arith::SubIOp::create(b, sums, blocks),
                                NVVM::ShflKind::idx, here);
  Value all = emitShuffle(b, loc, sums, NVVM::ShflKind::idx,
                          emitI32(b, loc, kLanes - 1));
  Value advance = arith::IndexCastUIOp::create(b, loc, index, count);
  Value next = arith::AddIOp::create(b, start, advance);
  Value exists = compare(arith::CmpIPredicate::ult, next, op.getCount());
  Value isDone = arith::ExtUIOp::create(b, loc, i32, found);
  Value continues = arith::AndIOp::create(
      b, compare(arith::CmpIPredicate::eq, isDone, emitI32(b, loc, 0)), exists);
  scf::ConditionOp::create(
      b, loc, continues,
      ValueRange{next, select(found, exclusive, all), isDone});
  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  scf::YieldOp::create(b, loc, after->getArguments());
  b.setInsertionPointAfter(loop);
  Value isEmpty = compare(arith::CmpIPredicate::uge, first, end);
  Value zero = constant(0);
  op.getGroup().replaceAllUsesWith(select(isEmpty, zero, loop.getResult(0)));
  op.getBefore().replaceAllUsesWith(
      select(isEmpty, zero,
             arith::IndexCastUIOp::create(b, loc, index, loop.getResult(1))));
}

void ShareLowering::lower() {
  lane = arith::RemUIOp::create(b, loc, emitThread(b, loc),
                                emitI32(b, loc, kLanes));
  Value total = emitTotal();
  emitRange(total);
  emitGroup();
  op.getTotal().replaceAllUsesWith(total);
  op.getFirst().replaceAllUsesWith(first);
  op.getEnd().replaceAllUsesWith(end);
  op.erase();
}

void fovea::lowerShares(gpu::GPUFuncOp kernel, LaneReads &reads) {
  SmallVector<tile::TakeShareOp> ops;
  kernel.walk([&](tile::TakeShareOp op) { ops.push_back(op); });
  for (tile::TakeShareOp op : ops)
    ShareLowering(op, reads).lower();
}

//===----------------------------------------------------------------------===//
// Arrivals
//===----------------------------------------------------------------------===//

/// The counter wraps to 0 at its last value, $2. Only the thread for which $3
/// is 1 increments it; all get its result.
static std::string getArrival(const std::string &barrier) {
  return "{\n\t"
         ".reg .pred one, last, all;\n\t"
         ".reg .b32 before;\n\t"
         "setp.ne.b32 one, $3, 0;\n\t"
         "mov.b32 before, 0;\n\t"
         "@one atom.acq_rel.gpu.global.inc.u32 before, [$1], $2;\n\t"
         "setp.eq.u32 last, before, $2;\n\t"
         "and.pred last, last, one;\n\t"
         "barrier.red.or.pred all, " +
         barrier +
         ", last;\n\t"
         "selp.b32 $0, 1, 0, all;\n\t"
         "}";
}

static LogicalResult lowerArrival(tile::ArriveOp op, const Role *role,
                                  int64_t barrier, int64_t threads) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value id = emitI32(b, loc, barrier);
  emitNamedBarrier(b, loc, id, threads);
  Value thread = role ? role->thread : emitThread(b, loc);
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                        thread, emitI32(b, loc, 0));
  Value pointer = emitPointer(b, loc, op.getCounters());
  Value index = emitToI64(b, loc, op.getIndex());
  Value address = LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI32Type(),
                                      pointer, ArrayRef<LLVM::GEPArg>{index});
  Value last = arith::SubIOp::create(b, loc, emitToI32(b, loc, op.getCount()),
                                     emitI32(b, loc, 1));
  std::string operands =
      std::to_string(barrier) + ", " + std::to_string(threads);
  SmallVector<Value> results = emitAsm(
      b, loc, getArrival(operands), "=r,l,r,r,~{memory}",
      {address, last, arith::ExtUIOp::create(b, loc, b.getI32Type(), isFirst)},
      b.getI32Type());
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                       results.front(), emitI32(b, loc, 0));
  op.getIsLast().replaceAllUsesWith(isLast);
  op.erase();
  return success();
}

LogicalResult fovea::lowerArrivals(gpu::GPUFuncOp kernel, launch::AbiOp abi,
                                   const Specialization &roles,
                                   int64_t &barrier) {
  SmallVector<tile::ArriveOp> ops;
  kernel.walk([&](tile::ArriveOp op) { ops.push_back(op); });
  llvm::DenseMap<const Role *, int64_t> barriers;
  for (tile::ArriveOp op : ops) {
    const Role *role = roles.getRole(op);
    if (role && role->isSingleWarp)
      return op.emitOpError("must not be in role '")
             << role->name.getValue() << "', which only fills pipelines";
    if (roles.clusterSize > 1)
      return op.emitOpError("is not supported for clusters");
    auto [entry, isNew] = barriers.try_emplace(role, role ? barrier : 0);
    if (isNew && role && barrier++ > kLastBarrier)
      return op.emitOpError("needs a named barrier, but a CTA has ")
             << kLastBarrier << " in all";
    int64_t threads = role ? kLanes * role->warps : int64_t(abi.getThreads());
    if (failed(lowerArrival(op, role, entry->second, threads)))
      return failure();
  }
  return success();
}
