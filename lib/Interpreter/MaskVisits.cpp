//===- MaskVisits.cpp - Maps what kernels do with blocks of keys *- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskEvaluation.h"

#include "BlockLists.h"
#include "Elementwise.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

/// What a kernel does with the blocks of keys, as its loops do: whole blocks
/// from the one of the first key on, without masks where all keys are seen.
LogicalResult MaskEvaluation::findVisits(const RowBlock &block, Frame &inner,
                                         MutableArrayRef<BlockVisit> visits) {
  auto *request = frame.getEnvironment<BlockMapRequest>();
  int64_t keys = block.sequence->keys.size(), columns = request->columns;
  BlockVisit plain =
      op.getMaskMod().empty() ? BlockVisit::Plain : BlockVisit::Masked;
  llvm::fill(visits, plain);
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
  SmallVector<RuntimeValue> coordinates = {
      RuntimeValue::integer(block.sequence->entry),
      RuntimeValue::integer(block.head), RuntimeValue::integer(block.first),
      RuntimeValue::integer(block.first + block.count - 1)};
  SmallVector<RuntimeValue> found;
  inner.setActiveLanes({});
  if (!op.getKvBounds().empty()) {
    if (failed(runRegion(inner, op.getKvBounds(), coordinates, found)))
      return failure();
    int64_t lower = found[0].getInteger(), fullLower = found[1].getInteger(),
            fullUpper = found[2].getInteger(), upper = found[3].getInteger();
    for (auto [n, visit] : llvm::enumerate(visits)) {
      int64_t first = n * columns, end = first + columns;
      bool isInside = first >= fullLower && end <= fullUpper;
      visit = end <= lower || first >= upper ? BlockVisit::Skipped
              : isInside                     ? BlockVisit::Plain
                                             : plain;
    }
  }
  if (!request->classify || op.getKvClassify().empty())
    return success();
  auto [firstKeys, lastKeys] = makeKeyBlocks(keys, columns);
  coordinates.append({firstKeys, lastKeys});
  SmallVector<RuntimeValue> verdicts;
  if (failed(runRegion(inner, op.getKvClassify(), coordinates, verdicts)))
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
  // The last block is masked where the sequence ends.
  if (keys % columns && visits.back() == BlockVisit::Plain)
    visits.back() = BlockVisit::Masked;
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
