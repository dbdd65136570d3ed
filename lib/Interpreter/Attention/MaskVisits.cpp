//===- MaskVisits.cpp - Maps a kernel's use of blocks -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes, for each block, whether a kernel skips it, executes it with the
// mask or executes it without the mask, as the loops of the kernel do.
//
//===----------------------------------------------------------------------===//

#include "Attention/MaskEvaluation.h"

#include "Attention/BlockLists.h"
#include "Elementwise.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

/// The use of the block [first, end) by a loop over the range [lower, upper),
/// within which [fullLower, fullUpper) needs no mask.
static BlockUse getVisit(int64_t first, int64_t end, int64_t lower,
                         int64_t fullLower, int64_t fullUpper, int64_t upper,
                         BlockUse partial) {
  if (end <= lower || first >= upper)
    return BlockUse::Skipped;
  return first >= fullLower && end <= fullUpper ? BlockUse::Plain : partial;
}

/// For kernels with query tiles: blocks of the range of keys that kv_bounds
/// gives for the tile.
LogicalResult
MaskEvaluation::findVisitsInRange(const RowBlock &block, Frame &inner,
                                  MutableArrayRef<BlockUse> visits) {
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

/// For kernels with key tiles: for each tile, blocks of the range of queries
/// that query_bounds gives.
LogicalResult
MaskEvaluation::findVisitsOfKeyTiles(const RowBlock &block, Frame &inner,
                                     MutableArrayRef<BlockUse> visits) {
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

/// The use of key blocks by the kernel's loops: whole blocks from the first
/// key's block on, without masks if all keys are visible.
LogicalResult MaskEvaluation::findVisits(const RowBlock &block, Frame &inner,
                                         MutableArrayRef<BlockUse> visits) {
  auto *request = frame.getEnvironment<BlockMapRequest>();
  int64_t keys = block.sequence->keys.size(), columns = request->columns;
  llvm::fill(visits,
             op.getMaskMod().empty() ? BlockUse::Plain : BlockUse::Masked);
  if (op.hasBlocks()) {
    BlockLists lists(op, frame);
    auto row =
        lists.getRow(block.sequence->batch, block.head, block.first, keys);
    for (auto [n, visit] : llvm::enumerate(visits)) {
      BlockLists::Listing listing = row[n * columns / op.getKeyBlock()];
      if (listing != BlockLists::Partial)
        visit =
            listing == BlockLists::Full ? BlockUse::Plain : BlockUse::Skipped;
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
    if (visit != BlockUse::Skipped)
      visit = !any.row(0)[n * any.columnStride]  ? BlockUse::Skipped
              : all.row(0)[n * all.columnStride] ? BlockUse::Plain
                                                 : BlockUse::Masked;
  return success();
}

LogicalResult MaskEvaluation::mapBlocks(const RowBlock &block, Frame &inner) {
  auto *request = frame.getEnvironment<BlockMapRequest>();
  int64_t keys = block.sequence->keys.size(), columns = request->columns;
  SmallVector<BlockUse> visits(llvm::divideCeil(keys, columns));
  if (visits.empty())
    return success();
  RuntimeValue mask;
  inner.setActiveLanes({});
  if (failed(evaluateMask(block, inner, mask)) ||
      failed(findVisits(block, inner, visits)))
    return failure();
  // A block is masked if the sequence ends within it.
  if (keys % columns && visits.back() == BlockUse::Plain)
    visits.back() = BlockUse::Masked;
  if (request->hasKeyTiles && block.count < request->rows)
    llvm::replace(visits, BlockUse::Plain, BlockUse::Masked);
  Lanes<int64_t> lanes(mask, {block.count, keys});
  for (auto [n, visit] : llvm::enumerate(visits)) {
    int64_t first = n * columns, end = std::min(first + columns, keys);
    int64_t visible = 0;
    for (int64_t i = 0; i < block.count; ++i)
      for (int64_t j = first; j < end; ++j)
        visible += lanes.row(i)[j * lanes.columnStride] != 0;
    BlockVisibility truth = visible == 0 ? BlockVisibility::None
                            : visible == block.count * (end - first)
                                ? BlockVisibility::All
                                : BlockVisibility::Some;
    block.map->visiblePairs += visible;
    block.map->codes += char('0' + int(truth) + 3 * int(visit));
  }
  return success();
}
