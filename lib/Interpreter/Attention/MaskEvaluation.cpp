//===- MaskEvaluation.cpp - Evaluates masks ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs mask_mod with all coordinates of a block of rows at once, and combines
// the result with block lists.
//
//===----------------------------------------------------------------------===//

#include "Attention/MaskEvaluation.h"

#include "Attention/BlockLists.h"
#include "Elementwise.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

SmallVector<RuntimeValue>
MaskEvaluation::getCoordinates(const RowBlock &block) const {
  int64_t keys = block.sequence->keys.size();
  auto rows =
      std::make_shared<Array>(ArrayRef<int64_t>{block.count, 1}, Storage::Int);
  auto columns =
      std::make_shared<Array>(ArrayRef<int64_t>{1, keys}, Storage::Int);
  for (int64_t i = 0; i < block.count; ++i)
    rows->data<int64_t>()[i] = block.first + i;
  for (int64_t j = 0; j < keys; ++j)
    columns->data<int64_t>()[j] = j;
  return {RuntimeValue::integer(block.sequence->entry),
          RuntimeValue::integer(block.head),
          RuntimeValue::array(std::move(rows)),
          RuntimeValue::array(std::move(columns))};
}

LogicalResult
MaskEvaluation::runRegion(Frame &inner, Region &region,
                          ArrayRef<RuntimeValue> leading,
                          SmallVectorImpl<RuntimeValue> &results) {
  SmallVector<RuntimeValue> arguments(leading);
  for (Value capture : op.getCaptures())
    arguments.push_back(frame.get(capture));
  return inner.run(region, arguments, results);
}

LogicalResult MaskEvaluation::evaluateMask(const RowBlock &block, Frame &inner,
                                           RuntimeValue &mask) {
  mask = RuntimeValue::integer(1);
  if (!op.getMaskMod().empty()) {
    SmallVector<RuntimeValue> results;
    inner.setActiveLanes({});
    if (failed(
            runRegion(inner, op.getMaskMod(), getCoordinates(block), results)))
      return failure();
    mask = results.front();
  }
  if (op.hasBlocks())
    hideUnlisted(block, mask);
  return success();
}

/// mask_mod applies to partial blocks only: full ones are visible, unlisted
/// ones hidden.
void MaskEvaluation::hideUnlisted(const RowBlock &block, RuntimeValue &mask) {
  int64_t keys = block.sequence->keys.size();
  SmallVector<int64_t, 2> shape = {block.count, keys};
  Lanes<int64_t> lanes(mask, shape);
  auto listed = std::make_shared<Array>(shape, Storage::Int);
  BlockLists lists(op, frame);
  for (int64_t i = 0; i < block.count; ++i) {
    SmallVector<BlockLists::Listing> row =
        lists.getRow(block.sequence->batch, block.head, block.first + i, keys);
    for (int64_t j = 0; j < keys; ++j) {
      BlockLists::Listing listing = row[j / op.getKeyBlock()];
      listed->data<int64_t>()[i * keys + j] =
          listing == BlockLists::Full || (listing == BlockLists::Partial &&
                                          lanes.row(i)[j * lanes.columnStride]);
    }
  }
  mask = RuntimeValue::array(std::move(listed));
}
