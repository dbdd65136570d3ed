//===- ForwardShares.cpp - Forward kernels with split keys ----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forward/ForwardShares.h"

#include "Kernel/HelperKernels.h"
#include "Kernel/WorkShares.h"

#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

// Rows of an MMA fragment, and adjacent columns that a warp takes if several
// warps share the rows.
static constexpr int64_t kFragmentRows = 16, kWarpColumns = 16;

/// Rows that are combined together: as few as possible, so that all warps take
/// part however few rows a tile has. The columns must divide among the warps
/// that share rows. Without roles each warp has whole rows of the tile.
static int64_t chooseStep(const ForwardPlan &plan) {
  if (!plan.kernel.hasRoles())
    return plan.rows;
  int64_t step = kFragmentRows;
  while (step < plan.rows &&
         plan.valueHeadDim % (kWarpColumns * plan.rows / step) != 0)
    step *= 2;
  return plan.rows % step == 0 ? step : plan.rows;
}

LogicalResult fovea::emitExtent(const ForwardKernel &kernel) {
  KernelBuilder &kb = kernel.kb;
  OpBuilder::InsertionGuard guard(kb.builder);
  kb.builder.setInsertionPointToEnd(&kb.workLoop.getExtent().front());
  ForwardKernel group{kb, kernel.op, kernel.plan, kernel.arguments,
                      *kernel.group};
  FailureOr<KeyBlocks> blocks = emitKeyBlocks(group);
  if (failed(blocks))
    return failure();
  // Ranges may be empty, with an upper bound before the lower one.
  Value upper = kb.make<arith::MaxUIOp>(blocks->upper, blocks->lower);
  Value count =
      kb.make<arith::CeilDivUIOp>(kb.make<arith::SubIOp>(upper, blocks->lower),
                                  kb.constant(kernel.plan.columns));
  Value some = kb.make<arith::MaxUIOp>(count, kb.constant(1));
  SmallVector<Value> yielded = {some};
  // Pieces depend on the item's own blocks only.
  if (int64_t split = kernel.plan.kernel->split) {
    Value least = kb.constant(llvm::divideCeil(split, kernel.plan.columns));
    Value size = kb.make<arith::CeilDivUIOp>(some, kernel.group->pieces.most);
    yielded.push_back(kb.make<arith::MaxUIOp>(size, least));
  }
  tile::YieldOp::create(kb.builder, kb.getLoc(), yielded);
  return success();
}

void fovea::restrictToPiece(const ForwardKernel &kernel, KeyBlocks &blocks) {
  KernelBuilder &kb = kernel.kb;
  Value size = kb.constant(kernel.plan.columns);
  auto locate = [&](Value block) {
    return kb.make<arith::AddIOp>(blocks.lower,
                                  kb.make<arith::MulIOp>(block, size));
  };
  tile::ForeachWorkOp loop = kb.workLoop;
  Value first = locate(loop.getFirst()), end = locate(loop.getEnd());
  named("piece_first", first);
  named("piece_end", end);
  blocks.lower = first;
  blocks.upper = kb.make<arith::MinUIOp>(blocks.upper, end);
  blocks.fullLower = kb.make<arith::MaxUIOp>(blocks.fullLower, first);
  blocks.fullUpper = kb.make<arith::MaxUIOp>(
      kb.make<arith::MinUIOp>(blocks.fullUpper, end), blocks.fullLower);
}

namespace {
/// Emits `tile.join` with its memory and regions.
class JoinEmitter {
public:
  JoinEmitter(const ForwardKernel &kernel, const SoftmaxState &state,
              function_ref<void(const ForwardKernel &, SoftmaxState)> results)
      : kernel(kernel), kb(kernel.kb), b(kb.builder), loc(kernel.getLoc()),
        state(state), emitResults(results), step(chooseStep(kernel.plan)),
        fixed(kernel.plan.kernel->split != 0) {}

  void emit();

private:
  int64_t getSlotRows();
  std::pair<ArrayAttr, AffineExpr> countSlots();
  Value declare(StringRef name, int64_t columns);
  Value countRows();
  RankedTensorType getType(int64_t rows, Value tile) {
    return kb.tileType(rows,
                       cast<RankedTensorType>(tile.getType()).getDimSize(1),
                       b.getF32Type());
  }
  Block *createBlock(Region &region, int64_t rows, unsigned states,
                     bool hasRow = false);
  void fillCombine(Region &region);
  void fillWhole(Region &region);
  void fillEach(Region &region);

  const ForwardKernel &kernel;
  KernelBuilder &kb;
  OpBuilder &b;
  Location loc;
  SoftmaxState state;
  function_ref<void(const ForwardKernel &, SoftmaxState)> emitResults;
  int64_t step;
  /// Pieces have a fixed size.
  bool fixed;
};
} // namespace

/// Rows of a slot: as many as may count.
int64_t JoinEmitter::getSlotRows() {
  const PackedHeads &packed = kernel.plan.packedHeads;
  if (!packed.hasAllQueries())
    return kernel.plan.rows;
  return std::min<int64_t>(kernel.plan.rows, packed.getRows());
}

/// The slots of all pieces of fixed size; see `FixedPieces`.
std::pair<ArrayAttr, AffineExpr> JoinEmitter::countSlots() {
  constexpr unsigned kQuery = 0, kKey = 1;
  attn::ForwardOp op = kernel.op;
  const PackedHeads &packed = kernel.plan.packedHeads;
  SizeExpressions sizes(kb, kQuery);
  AffineExpr most = b.getAffineConstantExpr(kPiecesOfSequence),
             heads = sizes.getSize(packed ? kKey : kQuery, 1),
             rows = sizes.getSize(2) * packed.getRowsPerQuery(), slots;
  if (std::optional<unsigned> offsets =
          op.getSequence().getPlaces().queryOffsets) {
    unsigned first = op.getSequenceOperands().getBeginOperandIndex();
    AffineExpr entries = sizes.getSize(first + *offsets, 0);
    AffineExpr tiles = rows.floorDiv(kernel.plan.rows) + entries;
    slots = entries * most + heads * tiles;
  } else {
    if (packed.hasAllQueries())
      rows = b.getAffineConstantExpr(packed.getRows());
    AffineExpr tiles = rows.ceilDiv(kernel.plan.rows);
    slots = sizes.getSize(0) * (most + heads * tiles);
  }
  return {sizes.getNames(), slots};
}

/// Memory for a tile of each piece: two pieces per CTA, or pieces of fixed
/// size.
Value JoinEmitter::declare(StringRef name, int64_t columns) {
  ArrayAttr sizes = b.getStrArrayAttr({launch::kCtasSize});
  AffineExpr slots = b.getAffineSymbolExpr(0) * 2;
  if (fixed)
    std::tie(sizes, slots) = countSlots();
  SmallVector<AffineExpr> extents = {slots,
                                     b.getAffineConstantExpr(getSlotRows())};
  if (columns != 1)
    extents.push_back(b.getAffineConstantExpr(columns));
  unsigned argument = declareScratch(kb, name, sizes, extents, b.getF32Type());
  return kb.kernel.getArgument(argument);
}

Value JoinEmitter::countRows() {
  const PackedHeads &packed = kernel.plan.packedHeads;
  Value rows = kernel.tile.queries;
  if (packed.hasAllQueries())
    rows = kb.constant(packed.getRows());
  else if (packed.areAdjacent)
    rows = kb.make<arith::MulIOp>(rows, kb.constant(packed.getRowsPerQuery()));
  Value left = kb.make<arith::SubIOp>(rows, kernel.tile.work.row);
  return kb.make<arith::MinUIOp>(left, kb.constant(kernel.plan.rows));
}

Block *JoinEmitter::createBlock(Region &region, int64_t rows, unsigned states,
                                bool hasRow) {
  SmallVector<Type> types;
  if (hasRow)
    types.push_back(b.getIndexType());
  for (unsigned index = 0; index < states; ++index)
    for (Value tile : {state.m, state.l, state.acc})
      types.push_back(getType(rows, tile));
  SmallVector<Location> locs(types.size(), loc);
  return b.createBlock(&region, {}, types, locs);
}

void JoinEmitter::fillCombine(Region &region) {
  Block *block = createBlock(region, step, 2);
  auto get = [&](unsigned index) -> Value { return block->getArgument(index); };
  auto merge = tile::SoftmaxMergeOp::create(
      b, loc, get(0).getType(), get(1).getType(), TypeRange(get(2).getType()),
      get(0), get(1), get(2), get(3), get(4), get(5));
  tile::YieldOp::create(
      b, loc, ValueRange{merge.getM(), merge.getL(), merge.getAccs().front()});
}

void JoinEmitter::fillWhole(Region &region) {
  Block *block = createBlock(region, kernel.plan.rows, 1);
  emitResults(kernel, {block->getArgument(0), block->getArgument(1),
                       block->getArgument(2)});
  tile::YieldOp::create(b, loc);
}

void JoinEmitter::fillEach(Region &region) {
  Block *block = createBlock(region, step, 1, /*hasRow=*/true);
  Value row = block->getArgument(0);
  named("joined_row", row);
  ForwardPlan plan = kernel.plan;
  plan.rows = step;
  ForwardKernel rows{kb, kernel.op, plan, kernel.arguments, kernel.tile};
  rows.firstRow = row;
  QueryTile &tile = rows.tile;
  tile.work.row = kb.make<arith::AddIOp>(tile.work.row, row);
  // With PackGQA several rows have one index along the rows of the tensor.
  const PackedHeads &packed = plan.packedHeads;
  Value distance = row;
  if (packed)
    distance = kb.make<arith::DivUIOp>(
        row, kb.constant(packed.areAdjacent ? packed.getRowsPerQuery()
                                            : packed.queries));
  tile.rows.row = kb.make<arith::AddIOp>(tile.rows.row, distance);
  emitResults(rows, {block->getArgument(1), block->getArgument(2),
                     block->getArgument(3)});
  tile::YieldOp::create(b, loc);
}

void JoinEmitter::emit() {
  Value memory[] = {
      declare("part_m", 1), declare("part_l", 1),
      declare("part_acc",
              cast<RankedTensorType>(state.acc.getType()).getDimSize(1))};
  Value counters =
      declareCounters(kb, kernel.plan.kernel->minBlocks * (fixed ? 2 : 1));
  tile::ForeachWorkOp loop = kb.workLoop;
  auto join = tile::JoinOp::create(
      b, loc, ValueRange{state.m, state.l, state.acc}, loop.getPart(),
      loop.getParts(), loop.getCta(), kernel.tile.pieces.slot, countRows(),
      ValueRange(memory), counters, b.getI64IntegerAttr(step),
      b.getStringAttr("join"));
  OpBuilder::InsertionGuard guard(b);
  fillCombine(join.getCombine());
  fillWhole(join.getWhole());
  fillEach(join.getEach());
}

void fovea::emitJoin(
    const ForwardKernel &kernel, const SoftmaxState &state,
    function_ref<void(const ForwardKernel &, SoftmaxState)> emitResults) {
  JoinEmitter(kernel, state, emitResults).emit();
}
