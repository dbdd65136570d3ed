//===- BlockLists.cpp - Block-sparse lists ----------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks and looks up block-sparse lists. A batch or head extent of 1 applies
// to all entries.
//
//===----------------------------------------------------------------------===//

#include "Attention/BlockLists.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

/// The position in an extent; an extent of 1 stands for all entries.
static int64_t inExtent(int64_t position, int64_t extent) {
  return extent == 1 ? 0 : position;
}

ArrayRef<int64_t> BlockLists::getEntries(unsigned list, int64_t batch,
                                         int64_t head, int64_t row) {
  const Array &counts = frame.getArray(op.getBlockLists()[2 * list]);
  const Array &indices = frame.getArray(op.getBlockLists()[2 * list + 1]);
  auto rowOf = [&](const Array &array) {
    ArrayRef<int64_t> shape = array.getShape();
    int64_t position = inExtent(batch, shape[0]) * shape[1];
    position += inExtent(head, shape[1]);
    return position * shape[2] + row;
  };
  int64_t width = indices.getShape()[3];
  int64_t count =
      std::clamp<int64_t>(counts.data<int64_t>()[rowOf(counts)], 0, width);
  return {indices.data<int64_t>() + rowOf(indices) * width, size_t(count)};
}

LogicalResult BlockLists::check(int64_t keys) {
  ArrayRef<int64_t> query = frame.getArray(op.getQuery()).getShape();
  int64_t heads = query[op.getHeadDim()],
          rows =
              llvm::divideCeil(query[op.getSequenceDim()], op.getQueryBlock());
  for (auto [index, list] : llvm::enumerate(op.getBlockLists())) {
    ArrayRef<int64_t> shape = frame.getArray(list).getShape();
    auto fits = [](int64_t extent, int64_t all) {
      return extent == 1 || extent == all;
    };
    if (!fits(shape[0], query[0]) || !fits(shape[1], heads))
      return frame.fail(op)
             << "'" << op.getBlockListName(index) << "' must have lists for 1 "
             << "or " << query[0] << " batch entries and 1 or " << heads
             << " heads, found " << shape[0] << " and " << shape[1];
    if (shape[2] < rows)
      return frame.fail(op)
             << "'" << op.getBlockListName(index) << "' must have a row for "
             << "each of " << rows << " blocks of queries, found " << shape[2];
    if (index % 2 == 1 &&
        shape.drop_back() !=
            frame.getArray(op.getBlockLists()[index - 1]).getShape())
      return frame.fail(op) << "'" << op.getBlockListName(index - 1)
                            << "' and '" << op.getBlockListName(index)
                            << "' must have the same number of rows";
  }
  int64_t blocks = llvm::divideCeil(keys, op.getKeyBlock());
  std::vector<char> seen;
  for (int64_t batch = 0; batch < query[0]; ++batch)
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t row = 0; row < rows; ++row) {
        seen.assign(blocks, 0);
        for (unsigned list = 0; list < op.getBlockLists().size() / 2; ++list)
          for (int64_t block : getEntries(list, batch, head, row))
            if (block >= 0 && block < blocks && seen[block]++)
              return frame.fail(op)
                     << "block of keys " << block << " is listed twice for "
                     << "block of queries " << row << " of batch entry "
                     << batch << ", head " << head;
      }
  return success();
}

SmallVector<BlockLists::Listing>
BlockLists::getRow(int64_t batch, int64_t head, int64_t query, int64_t keys) {
  int64_t blocks = llvm::divideCeil(keys, op.getKeyBlock());
  SmallVector<Listing> listings(blocks, Hidden);
  for (unsigned list = 0; list < op.getBlockLists().size() / 2; ++list)
    for (int64_t block :
         getEntries(list, batch, head, query / op.getQueryBlock()))
      if (block >= 0 && block < blocks)
        listings[block] = list == 0 ? Partial : Full;
  return listings;
}
