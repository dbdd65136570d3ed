//===- MaskVisits.cpp - Maps what kernels do with blocks of keys *- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention/MaskEvaluation.h"

#include "Attention/BlockLists.h"
#include "Elementwise.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

/// What becomes of a block from `first` to `end` beside the range
/// [lower, upper), whose rows in [fullLower, fullUpper) need no mask.
static BlockVisit getVisit(int64_t first, int64_t end, int64_t lower,
                           int64_t fullLower, int64_t fullUpper, int64_t upper,
                           BlockVisit partial) {
  if (end <= lower || first >= upper)
    return BlockVisit::Skipped;
  return first >= fullLower && end <= fullUpper ? BlockVisit::Plain : partial;
}

/// Of a kernel whose tiles are queries: blocks of the range of keys that
/// kv_bounds gives for the tile.
LogicalResult
MaskEvaluation::findVisitsInRange(const RowBlock &block, Frame &inner,
                                  MutableArrayRef<BlockVisit> visits) {
  if (op.getKvBounds().empty())
    return success();
  auto *request = frame.getEnvironment<BlockMapRequest>();
  SmallVector<RuntimeValue> found;
  if (failed(runRegion(inner, op.getKvBounds(),
                       {RuntimeValue::integer(block.sequence->entry),
                        RuntimeValue::integer(block.head),
                        RuntimeValue::integer(block.first),
                        RuntimeValue::integer(block.first + block.count - 1)},
                       found)))
    return failure();
  for (auto [n, visit] : llvm::enumerate(visits)) {
    int64_t first = n * request->columns;
    visit = getVisit(first, first + request->columns, found[0].getInteger(),
                     found[1].getInteger(), found[2].getInteger(),
                     found[3].getInteger(), visit);
  }
  return success();
}

/// Of a kernel whose tiles are keys: for each of them, blocks of the range of
/// queries that query_bounds gives.
LogicalResult
MaskEvaluation::findVisitsOfKeyTiles(const RowBlock &block, Frame &inner,
                                     MutableArrayRef<BlockVisit> visits) {
  auto *request = frame.getEnvironment<BlockMapRequest>();
  if (!request->queryBounds)
    return success();
  auto [firstKeys, lastKeys] =
      makeKeyBlocks(block.sequence->keys.size(), request->columns);
  SmallVector<RuntimeValue> found;
  if (failed(runRegion(inner, *request->queryBounds,
                       {RuntimeValue::integer(block.sequence->entry),
                        RuntimeValue::integer(block.head), firstKeys, lastKeys},
                       found)))
    return failure();
  ArrayRef<int64_t> perTile = firstKeys.getArray().getShape();
  SmallVector<Lanes<int64_t>, 4> bounds;
  for (const RuntimeValue &bound : found)
    bounds.emplace_back(bound, perTile);
  auto at = [&](unsigned bound, size_t tile) {
    return bounds[bound].row(0)[tile * bounds[bound].columnStride];
  };
  for (auto [n, visit] : llvm::enumerate(visits))
    visit = getVisit(block.first, block.first + request->rows, at(0, n),
                     at(1, n), at(2, n), at(3, n), visit);
  return success();
}

/// What a kernel does with the blocks of keys, as its loops do: whole blocks
/// from the one of the first key on, without masks where all keys are seen.
LogicalResult MaskEvaluation::findVisits(const RowBlock &block, Frame &inner,
                                         MutableArrayRef<BlockVisit> visits) {
  auto *request = frame.getEnvironment<BlockMapRequest>();
  int64_t keys = block.sequence->keys.size(), columns = request->columns;
  llvm::fill(visits,
             op.getMaskMod().empty() ? BlockVisit::Plain : BlockVisit::Masked);
  if (op.hasBlocks()) {
    BlockLists lists(op, frame);
    auto row =
        lists.getRow(block.sequence->batch, block.head, block.first, keys);
    for (auto [n, visit] : llvm::enumerate(visits)) {
      BlockLists::Listing listing = row[n * columns / op.getKeyBlock()];
      if (listing != BlockLists::Partial)
        visit = listing == BlockLists::Full ? BlockVisit::Plain
                                            : BlockVisit::Skipped;
    }
    return success();
  }
  inner.setActiveLanes({});
  if (failed(request->hasKeyTiles ? findVisitsOfKeyTiles(block, inner, visits)
                                  : findVisitsInRange(block, inner, visits)))
    return failure();
  if (!request->classify || op.getKvClassify().empty())
    return success();
  auto [firstKeys, lastKeys] = makeKeyBlocks(keys, columns);
  SmallVector<RuntimeValue> verdicts;
  if (failed(runRegion(inner, op.getKvClassify(),
                       {RuntimeValue::integer(block.sequence->entry),
                        RuntimeValue::integer(block.head),
                        RuntimeValue::integer(block.first),
                        RuntimeValue::integer(block.first + block.count - 1),
                        firstKeys, lastKeys},
                       verdicts)))
    return failure();
  ArrayRef<int64_t> perBlock = firstKeys.getArray().getShape();
  Lanes<int64_t> any(verdicts[0], perBlock), all(verdicts[1], perBlock);
  for (auto [n, visit] : llvm::enumerate(visits))
    if (visit != BlockVisit::Skipped)
      visit = !any.row(0)[n * any.columnStride]  ? BlockVisit::Skipped
              : all.row(0)[n * all.columnStride] ? BlockVisit::Plain
                                                 : BlockVisit::Masked;
  return success();
}

LogicalResult MaskEvaluation::mapBlocks(const RowBlock &block, Frame &inner) {
  auto *request = frame.getEnvironment<BlockMapRequest>();
  int64_t keys = block.sequence->keys.size(), columns = request->columns;
  SmallVector<BlockVisit> visits(llvm::divideCeil(keys, columns));
  if (visits.empty())
    return success();
  RuntimeValue mask;
  inner.setActiveLanes({});
  if (failed(evaluateMask(block, inner, mask)) ||
      failed(findVisits(block, inner, visits)))
    return failure();
  // A block is masked where the sequence ends within it.
  if (keys % columns && visits.back() == BlockVisit::Plain)
    visits.back() = BlockVisit::Masked;
  if (request->hasKeyTiles && block.count < request->rows)
    llvm::replace(visits, BlockVisit::Plain, BlockVisit::Masked);
  Lanes<int64_t> lanes(mask, {block.count, keys});
  for (auto [n, visit] : llvm::enumerate(visits)) {
    int64_t first = n * columns, end = std::min(first + columns, keys);
    int64_t visible = 0;
    for (int64_t i = 0; i < block.count; ++i)
      for (int64_t j = first; j < end; ++j)
        visible += lanes.row(i)[j * lanes.columnStride] != 0;
    BlockTruth truth = visible == 0 ? BlockTruth::None
                       : visible == block.count * (end - first)
                           ? BlockTruth::All
                           : BlockTruth::Some;
    block.map->visiblePairs += visible;
    block.map->codes += char('0' + int(truth) + 3 * int(visit));
  }
  return success();
}
