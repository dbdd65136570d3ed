//===- MergeToTile.cpp - Lowers attn.merge to a kernel --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers attn.merge, which combines the partial results of a split-KV forward,
// to one memory-bound kernel.
//
//===----------------------------------------------------------------------===//

#include "Kernel/KernelLowering.h"

#include "fovea/Schedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

/// Loads a split's (O, LSE) as a softmax state: exp(LSE) * O is the weighted
/// sum and exp(LSE) the row sum, so m = LSE, l = 1, acc = O. The O of a split
/// without visible keys is undefined and must not reach the sum even as 0 *
/// NaN.
static SmallVector<Value, 3> loadState(KernelBuilder &kb, Value output,
                                       Value lse,
                                       const KernelBuilder::Work &work,
                                       int64_t column, int64_t rows,
                                       int64_t columns) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  Value m = kb.loadHead(lse, work.batch, work.head, work.row, 0, rows, 1,
                        /*limit=*/Value(), "part_lse");
  Value acc = kb.loadHead(output, work.batch, work.head, work.row, column, rows,
                          columns, /*limit=*/Value(), "part");
  RankedTensorType accType = kb.tileType(rows, columns, b.getF32Type());
  if (acc.getType() != accType)
    acc = arith::ExtFOp::create(b, loc, accType, acc);
  Value hidden = kb.splat(rows, 1, -std::numeric_limits<double>::infinity());
  Value isEmpty =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, m, hidden);
  Value l = arith::SelectOp::create(b, loc, isEmpty, kb.splat(rows, 1, 0.0),
                                    kb.splat(rows, 1, 1.0));
  Value isEmptyTile = tile::BroadcastOp::create(
      b, loc, kb.tileType(rows, columns, b.getI1Type()), isEmpty);
  acc = arith::SelectOp::create(b, loc, isEmptyTile,
                                kb.splat(rows, columns, 0.0), acc);
  return {m, l, acc};
}

namespace {
class MergeLowering final : public KernelLowering {
public:
  explicit MergeLowering(attn::MergeOp op) : op(op) {}
  FailureOr<plan::KernelAttr> emit(KernelBuilder &kb) override;

private:
  attn::MergeOp op;
};
} // namespace

std::unique_ptr<KernelLowering> fovea::makeMergeLowering(attn::MergeOp op) {
  return std::make_unique<MergeLowering>(op);
}

FailureOr<plan::KernelAttr> MergeLowering::emit(KernelBuilder &kb) {
  // Memory-bound: small tiles and columns in chunks, for many CTAs per SM.
  constexpr int64_t kRows = 64, kColumns = 32, kWarps = 4;
  OpBuilder &b = kb.builder;
  Location loc = op.getLoc();
  unsigned parts = op.getOutputs().size();
  Value output = kb.resultArgument(0);
  auto type = cast<MemRefType>(output.getType());
  KernelBuilder::Work work = kb.beginWork(
      kb.size(output, 0), kb.size(output, 1), kb.size(output, 2), kRows, {});
  for (int64_t column = 0; column < type.getDimSize(3); column += kColumns) {
    SmallVector<Value, 3> state;
    for (unsigned part = 0; part < parts; ++part) {
      SmallVector<Value, 3> next = loadState(kb, kb.operandArgument(part),
                                             kb.operandArgument(parts + part),
                                             work, column, kRows, kColumns);
      if (state.empty()) {
        state = next;
        continue;
      }
      auto merge = tile::SoftmaxMergeOp::create(
          b, loc, state[0].getType(), state[1].getType(),
          TypeRange(state[2].getType()), state[0], state[1], state[2], next[0],
          next[1], next[2]);
      state.assign({merge.getM(), merge.getL(), merge.getAccs().front()});
    }
    auto finish = tile::SoftmaxFinishOp::create(
        b, loc, TypeRange(state[2].getType()), state[0].getType(), state[0],
        state[1], state[2], /*sink=*/Value());
    Value result = finish.getOutputs().front();
    if (!type.getElementType().isF32())
      result = arith::TruncFOp::create(
          b, loc, kb.tileType(kRows, kColumns, type.getElementType()), result);
    SmallVector<Value> at = {work.batch, work.head, work.row,
                             kb.constant(column)};
    tile::StoreOp::create(b, loc, result, output, at, ArrayRef<int64_t>{2, 3},
                          b.getStringAttr("out"));
    if (column == 0 && op.getLse())
      tile::StoreOp::create(b, loc, finish.getLse(), kb.resultArgument(1),
                            ValueRange(at).drop_back(),
                            ArrayRef<int64_t>{2, -1}, b.getStringAttr("lse"));
  }
  kb.endWork();
  ScheduleFields fields;
  fields.tileM = kRows;
  fields.tileN = kColumns;
  fields.warps = kWarps;
  fields.stages = 1;
  fields.minBlocks = 4;
  return makePlan(op.getContext(), fields);
}
