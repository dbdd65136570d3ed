//===- MergeToTile.cpp - Lowers attn.merge to a kernel --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers attn.merge, which combines the partial results of a split-KV forward,
// to one memory-bound kernel. Parts that are operands are merged one after the
// other, stacked parts in a loop.
//
//===----------------------------------------------------------------------===//

#include "Kernel/KernelLowering.h"

#include "fovea/Schedule/Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

namespace {
class MergeLowering final : public KernelLowering {
public:
  explicit MergeLowering(attn::MergeOp op) : op(op) {}
  FailureOr<plan::KernelAttr> emit(KernelBuilder &kb) override;

private:
  attn::MergeOp op;
};

// Memory-bound: small tiles and columns in chunks, for many CTAs per SM.
constexpr int64_t kRows = 64, kColumns = 32, kWarps = 4;
/// Columns of stacked parts whose accumulators one loop keeps in registers: 64
/// of a thread.
constexpr int64_t kLoopColumns = 128;

/// Emits the merge of the rows of a work item, for some columns.
class ColumnsMerger {
public:
  ColumnsMerger(KernelBuilder &kb, attn::MergeOp op,
                const KernelBuilder::Work &work, SmallVector<int64_t> columns)
      : kb(kb), b(kb.builder), loc(op.getLoc()), op(op), work(work),
        columns(std::move(columns)) {}

  /// Merges the parts and stores the rows of O; with the first columns also
  /// LSE.
  void emit();

private:
  /// A softmax state: m, l, and the accumulator of each chunk of columns.
  using State = SmallVector<Value>;

  Value load(Value memref, Value part, int64_t column, StringRef name);
  /// Loads a part. `part` is its number if parts are stacked.
  State loadState(Value outputs, Value lses, Value part);
  State merge(const State &a, const State &b);
  State mergeOperands();
  State mergeInLoop();
  void store(Value tile, unsigned result, Value column);

  KernelBuilder &kb;
  OpBuilder &b;
  Location loc;
  attn::MergeOp op;
  const KernelBuilder::Work &work;
  /// The first columns of the chunks.
  SmallVector<int64_t> columns;
};
} // namespace

/// Loads rows of an O or LSE.
Value ColumnsMerger::load(Value memref, Value part, int64_t column,
                          StringRef name) {
  bool isOutput = name == "part";
  int64_t width = isOutput ? kColumns : 1;
  if (!part)
    return kb.loadHead(memref, work.batch, work.head, work.row, column, kRows,
                       width, /*limit=*/Value(), name);
  SmallVector<Value> indices = {part, work.batch, work.head, work.row};
  SmallVector<int64_t> dims = {3, -1};
  if (isOutput) {
    indices.push_back(kb.constant(column));
    dims[1] = 4;
  }
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  return tile::LoadOp::create(b, loc, kb.tileType(kRows, width, element),
                              memref, indices, /*limit=*/Value(), dims,
                              b.getStringAttr(name));
}

/// A part's (O, LSE) is a softmax state: exp(LSE) * O is the weighted sum and
/// exp(LSE) the row sum, so m = LSE, l = 1, acc = O. The O of a part without
/// visible keys is undefined and must not reach the sum even as 0 * NaN.
ColumnsMerger::State ColumnsMerger::loadState(Value outputs, Value lses,
                                              Value part) {
  Value m = load(lses, part, 0, "part_lse");
  State accs;
  for (int64_t column : columns) {
    Value acc = load(outputs, part, column, "part");
    RankedTensorType type = kb.tileType(kRows, kColumns, b.getF32Type());
    if (acc.getType() != type)
      acc = arith::ExtFOp::create(b, loc, type, acc);
    accs.push_back(acc);
  }
  Value hidden = kb.splat(kRows, 1, -std::numeric_limits<double>::infinity());
  Value isEmpty =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, m, hidden);
  Value l = arith::SelectOp::create(b, loc, isEmpty, kb.splat(kRows, 1, 0.0),
                                    kb.splat(kRows, 1, 1.0));
  Value isEmptyTile = tile::BroadcastOp::create(
      b, loc, kb.tileType(kRows, kColumns, b.getI1Type()), isEmpty);
  State state = {m, l};
  for (Value acc : accs)
    state.push_back(arith::SelectOp::create(
        b, loc, isEmptyTile, kb.splat(kRows, kColumns, 0.0), acc));
  return state;
}

ColumnsMerger::State ColumnsMerger::merge(const State &first,
                                          const State &second) {
  auto accs = [](const State &state) {
    return ValueRange(ArrayRef<Value>(state).drop_front(2));
  };
  auto merged = tile::SoftmaxMergeOp::create(
      b, loc, first[0].getType(), first[1].getType(), TypeRange(accs(first)),
      first[0], first[1], accs(first), second[0], second[1], accs(second));
  return State(merged->getResults());
}

ColumnsMerger::State ColumnsMerger::mergeOperands() {
  unsigned parts = op.getOutputs().size();
  State state;
  for (unsigned part = 0; part < parts; ++part) {
    State next = loadState(kb.operandArgument(part),
                           kb.operandArgument(parts + part), /*part=*/Value());
    state = part == 0 ? next : merge(state, next);
  }
  return state;
}

/// One loop over stacked parts, from the state without keys.
ColumnsMerger::State ColumnsMerger::mergeInLoop() {
  Value outputs = kb.operandArgument(0), lses = kb.operandArgument(1);
  State none = {kb.splat(kRows, 1, -std::numeric_limits<double>::infinity()),
                kb.splat(kRows, 1, 0.0)};
  for ([[maybe_unused]] int64_t column : columns)
    none.push_back(kb.splat(kRows, kColumns, 0.0));
  auto loop = scf::ForOp::create(b, loc, kb.constant(0), kb.size(outputs, 0),
                                 kb.constant(1), none);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  State before(loop.getRegionIterArgs());
  State next = loadState(outputs, lses, loop.getInductionVar());
  scf::YieldOp::create(b, loc, merge(before, next));
  return State(loop.getResults());
}

/// Stores rows of O, from `column` on, or of LSE, without.
void ColumnsMerger::store(Value tile, unsigned result, Value column) {
  SmallVector<Value> at = {work.batch, work.head, work.row};
  if (column)
    at.push_back(column);
  tile::StoreOp::create(b, loc, tile, kb.resultArgument(result), at,
                        ArrayRef<int64_t>{2, column ? 3 : -1},
                        b.getStringAttr(column ? "out" : "lse"));
}

void ColumnsMerger::emit() {
  State state = op.isStacked() ? mergeInLoop() : mergeOperands();
  ValueRange accs = ArrayRef<Value>(state).drop_front(2);
  auto finish = tile::SoftmaxFinishOp::create(
      b, loc, TypeRange(accs), state[0].getType(), state[0], state[1], accs,
      /*sink=*/Value());
  Type element =
      cast<RankedTensorType>(op.getOutput().getType()).getElementType();
  for (auto [column, result] : llvm::zip(columns, finish.getOutputs())) {
    Value rounded = result;
    if (!element.isF32())
      rounded = arith::TruncFOp::create(
          b, loc, kb.tileType(kRows, kColumns, element), rounded);
    store(rounded, 0, kb.constant(column));
  }
  if (columns.front() == 0 && op.getLse())
    store(finish.getLse(), 1, /*column=*/Value());
}

std::unique_ptr<KernelLowering> fovea::makeMergeLowering(attn::MergeOp op) {
  return std::make_unique<MergeLowering>(op);
}

FailureOr<plan::KernelAttr> MergeLowering::emit(KernelBuilder &kb) {
  Value output = kb.resultArgument(0);
  int64_t width = cast<MemRefType>(output.getType()).getDimSize(3);
  KernelBuilder::Work work = kb.beginWork(
      kb.size(output, 0), kb.size(output, 1), kb.size(output, 2), kRows, {});
  int64_t step = op.isStacked() ? kLoopColumns : kColumns;
  for (int64_t first = 0; first < width; first += step) {
    auto columns = llvm::to_vector(llvm::seq_inclusive<int64_t>(
        0, (std::min(step, width - first) - 1) / kColumns));
    for (int64_t &column : columns)
      column = first + column * kColumns;
    ColumnsMerger(kb, op, work, columns).emit();
  }
  kb.endWork();
  ScheduleFields fields;
  fields.tileM = kRows;
  fields.tileN = kColumns;
  fields.warps = kWarps;
  fields.stages = 1;
  fields.minBlocks = op.isStacked() ? 2 : 4;
  return makePlan(op.getContext(), fields);
}
