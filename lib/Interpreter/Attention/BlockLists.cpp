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

ArrayRef<int64_t> BlockLists::getEntries(OperandRange lists, unsigned list,
                                         int64_t batch, int64_t head,
                                         int64_t row) {
  const Array &counts = frame.getArray(lists[2 * list]);
  const Array &indices = frame.getArray(lists[2 * list + 1]);
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

SmallVector<BlockLists::Listing>
BlockLists::getListings(OperandRange lists, int64_t batch, int64_t head,
                        int64_t row, int64_t blocks) {
  SmallVector<Listing> listings(blocks, Hidden);
  for (unsigned list = 0; list < lists.size() / 2; ++list)
    for (int64_t block : getEntries(lists, list, batch, head, row))
      if (block >= 0 && block < blocks)
        listings[block] = list == 0 ? Partial : Full;
  return listings;
}

SmallVector<BlockLists::Listing>
BlockLists::getRow(int64_t batch, int64_t head, int64_t query, int64_t keys) {
  return getListings(op.getBlockLists(), batch, head,
                     query / op.getQueryBlock(),
                     llvm::divideCeil(keys, op.getKeyBlock()));
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

BlockLists::Group BlockLists::getKeyGroup(int64_t keys) {
  int64_t queries =
      frame.getArray(op.getQuery()).getShape()[op.getSequenceDim()];
  return {op.getBlockLists(),
          attn::AttentionOpInterface::getBlockListName,
          "queries",
          "keys",
          int64_t(llvm::divideCeil(queries, op.getQueryBlock())),
          int64_t(llvm::divideCeil(keys, op.getKeyBlock()))};
}

BlockLists::Group BlockLists::getQueryGroup(int64_t keys) {
  Group group = getKeyGroup(keys);
  std::swap(group.rows, group.columns);
  std::swap(group.rowBlocks, group.columnBlocks);
  group.lists = op.getQueryBlockLists();
  group.getName = attn::AttentionOpInterface::getQueryBlockListName;
  return group;
}

LogicalResult BlockLists::checkShapes(const Group &group) {
  ArrayRef<int64_t> query = frame.getArray(op.getQuery()).getShape();
  int64_t heads = query[op.getHeadDim()];
  for (auto [index, list] : llvm::enumerate(group.lists)) {
    ArrayRef<int64_t> shape = frame.getArray(list).getShape();
    StringRef name = group.getName(index);
    auto fits = [](int64_t extent, int64_t all) {
      return extent == 1 || extent == all;
    };
    if (!fits(shape[0], query[0]) || !fits(shape[1], heads))
      return frame.fail(op)
             << "'" << name << "' must have lists for 1 or " << query[0]
             << " batch entries and 1 or " << heads << " heads, found "
             << shape[0] << " and " << shape[1];
    if (shape[2] < group.rowBlocks)
      return frame.fail(op) << "'" << name << "' must have a row for each of "
                            << group.rowBlocks << " blocks of " << group.rows
                            << ", found " << shape[2];
    if (index % 2 == 1 &&
        shape.drop_back() != frame.getArray(group.lists[index - 1]).getShape())
      return frame.fail(op) << "'" << group.getName(index - 1) << "' and '"
                            << name << "' must have the same number of rows";
  }
  return success();
}

LogicalResult BlockLists::checkRow(const Group &group, int64_t batch,
                                   int64_t head, int64_t row) {
  std::vector<char> seen(group.columnBlocks, 0);
  for (unsigned list = 0; list < group.lists.size() / 2; ++list)
    for (int64_t block : getEntries(group.lists, list, batch, head, row))
      if (block >= 0 && block < group.columnBlocks && seen[block]++)
        return frame.fail(op)
               << "block of " << group.columns << " " << block
               << " is listed twice for block of " << group.rows << " " << row
               << " of batch entry " << batch << ", head " << head;
  return success();
}

/// A listing in diagnostics.
static StringRef describe(BlockLists::Listing listing) {
  return listing == BlockLists::Hidden    ? "not listed"
         : listing == BlockLists::Partial ? "partial"
                                          : "full";
}

LogicalResult BlockLists::checkTransposed(const Group &keys,
                                          const Group &queries, int64_t batch,
                                          int64_t head) {
  std::vector<SmallVector<Listing>> byKey;
  for (int64_t key = 0; key < queries.rowBlocks; ++key)
    byKey.push_back(
        getListings(queries.lists, batch, head, key, queries.columnBlocks));
  for (int64_t query = 0; query < keys.rowBlocks; ++query) {
    SmallVector<Listing> row =
        getListings(keys.lists, batch, head, query, keys.columnBlocks);
    for (auto [key, listing] : llvm::enumerate(row))
      if (listing != byKey[key][query])
        return frame.fail(op)
               << "query_blocks must be blocks transposed: block of queries "
               << query << " and block of keys " << int64_t(key)
               << " of batch entry " << batch << ", head " << head << " are "
               << describe(listing) << " in blocks, found "
               << describe(byKey[key][query]) << " in query_blocks";
  }
  return success();
}

LogicalResult BlockLists::check(int64_t keys) {
  SmallVector<Group, 2> groups = {getKeyGroup(keys)};
  if (op.hasQueryBlocks())
    groups.push_back(getQueryGroup(keys));
  for (const Group &group : groups)
    if (failed(checkShapes(group)))
      return failure();
  ArrayRef<int64_t> query = frame.getArray(op.getQuery()).getShape();
  for (int64_t batch = 0; batch < query[0]; ++batch)
    for (int64_t head = 0; head < query[op.getHeadDim()]; ++head) {
      for (const Group &group : groups)
        for (int64_t row = 0; row < group.rowBlocks; ++row)
          if (failed(checkRow(group, batch, head, row)))
            return failure();
      if (groups.size() > 1 &&
          failed(checkTransposed(groups[0], groups[1], batch, head)))
        return failure();
    }
  return success();
}
