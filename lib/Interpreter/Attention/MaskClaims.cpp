//===- MaskClaims.cpp - Checks claims about masks ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks kv_bounds and kv_classify, from which kernels derive the blocks to
// skip and to mask, against mask_mod.
//
//===----------------------------------------------------------------------===//

#include "Attention/MaskEvaluation.h"

#include "Elementwise.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

LogicalResult MaskEvaluation::checkBounds(const RowBlock &block, Frame &inner) {
  int64_t keys = block.sequence->keys.size();
  int64_t last = block.first + block.count - 1;
  RuntimeValue mask;
  SmallVector<RuntimeValue> bounds;
  inner.setActiveLanes({});
  if (failed(evaluateMask(block, inner, mask)) ||
      failed(runRegion(inner, op.getKvBounds(),
                       {RuntimeValue::integer(block.sequence->entry),
                        RuntimeValue::integer(block.head),
                        RuntimeValue::integer(block.first),
                        RuntimeValue::integer(last)},
                       bounds)))
    return failure();
  int64_t lower = bounds[0].getInteger(), fullLower = bounds[1].getInteger(),
          fullUpper = bounds[2].getInteger(), upper = bounds[3].getInteger();
  auto describe = [&]() -> Failure {
    return inner.fail(op) << "kv_bounds of queries " << block.first << " to "
                          << last << " of batch entry " << block.sequence->entry
                          << ", head " << block.head << " claims ";
  };
  Lanes<int64_t> lanes(mask, {block.count, keys});
  for (int64_t i = 0; i < block.count; ++i)
    for (int64_t j = 0; j < keys; ++j) {
      bool visible = lanes.row(i)[j * lanes.columnStride];
      if (visible && (j < lower || j >= upper))
        return describe() << "that visible keys lie in [" << lower << ", "
                          << upper << "), but query " << block.first + i
                          << " sees key " << j;
      if (!visible && j >= fullLower && j < fullUpper)
        return describe() << "that all keys in [" << fullLower << ", "
                          << fullUpper << ") are visible, but query "
                          << block.first + i << " does not see key " << j;
    }
  return success();
}

std::pair<RuntimeValue, RuntimeValue>
fovea::interp::makeKeyBlocks(int64_t keys, int64_t columns) {
  int64_t count = llvm::divideCeil(keys, columns);
  std::shared_ptr<Array> ends[2];
  for (auto &end : ends)
    end = std::make_shared<Array>(ArrayRef<int64_t>{1, count}, Storage::Int);
  for (int64_t n = 0; n < count; ++n) {
    ends[0]->data<int64_t>()[n] = n * columns;
    ends[1]->data<int64_t>()[n] = std::min((n + 1) * columns, keys) - 1;
  }
  return {RuntimeValue::array(ends[0]), RuntimeValue::array(ends[1])};
}

LogicalResult MaskEvaluation::checkClassification(const RowBlock &block,
                                                  Frame &inner) {
  int64_t keys = block.sequence->keys.size();
  int64_t last = block.first + block.count - 1;
  if (keys == 0)
    return success();
  auto *checks = frame.getEnvironment<AttentionChecks>();
  int64_t columns = std::min(checks->kvClassifyColumns, keys);
  auto [firstKeys, lastKeys] = makeKeyBlocks(keys, columns);
  RuntimeValue mask;
  SmallVector<RuntimeValue> found;
  inner.setActiveLanes({});
  if (failed(evaluateMask(block, inner, mask)) ||
      failed(runRegion(inner, op.getKvClassify(),
                       {RuntimeValue::integer(block.sequence->entry),
                        RuntimeValue::integer(block.head),
                        RuntimeValue::integer(block.first),
                        RuntimeValue::integer(last), firstKeys, lastKeys},
                       found)))
    return failure();
  ArrayRef<int64_t> perBlock = firstKeys.getArray().getShape();
  Lanes<int64_t> any(found[0], perBlock), all(found[1], perBlock),
      lanes(mask, {block.count, keys});
  for (int64_t n = 0; n < perBlock[1]; ++n) {
    int64_t first = n * columns, end = std::min(first + columns, keys);
    bool mayBeAny = any.row(0)[n * any.columnStride];
    bool mustBeAll = all.row(0)[n * all.columnStride];
    auto describe = [&]() -> Failure {
      return inner.fail(op)
             << "kv_classify of queries " << block.first << " to " << last
             << ", keys " << first << " to " << end - 1 << " of batch entry "
             << block.sequence->entry << ", head " << block.head << " claims ";
    };
    bool isAny = false, isAll = true;
    for (int64_t i = 0; i < block.count; ++i)
      for (int64_t j = first; j < end; ++j) {
        bool visible = lanes.row(i)[j * lanes.columnStride];
        isAny |= visible;
        isAll &= visible;
        if (visible && !mayBeAny)
          return describe() << "that no key is visible, but query "
                            << block.first + i << " sees key " << j;
        if (!visible && mustBeAll)
          return describe() << "that all keys are visible, but query "
                            << block.first + i << " does not see key " << j;
      }
    if (checks->kvClassifyExactly && (isAny != mayBeAny || isAll != mustBeAll))
      return describe() << "that some keys are visible, but "
                        << (isAny ? "all" : "none") << " are";
  }
  return success();
}
