//===- BlockIterator.cpp - Iteration over single blocks -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyBlocks/BlockIterator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fovea;

/// The kernel's arguments for lists, for blocks of `rows` and `columns`.
static BlockLists getArguments(KernelBuilder &kb, OperandRange operands,
                               int64_t rows, int64_t columns) {
  auto list = [&](unsigned index) -> BlockLists::List {
    unsigned first = operands.getBeginOperandIndex() + 2 * index;
    return {kb.operandArgument(first), kb.operandArgument(first + 1)};
  };
  BlockLists lists{list(0), {}, rows, columns};
  if (operands.size() > 2)
    lists.full = list(1);
  return lists;
}

BlockLists BlockLists::of(KernelBuilder &kb, attn::AttentionOpInterface op) {
  return getArguments(kb, op.getBlockLists(), op.getQueryBlock(),
                      op.getKeyBlock());
}

BlockLists BlockLists::ofQueries(KernelBuilder &kb,
                                 attn::AttentionOpInterface op) {
  return getArguments(kb, op.getQueryBlockLists(), op.getKeyBlock(),
                      op.getQueryBlock());
}

ListedBlocks::ListedBlocks(KernelBuilder &kb, const BlockLists &lists,
                           int64_t columns)
    : kb(kb), lists(lists), columns(columns),
      tilesPerBlock(lists.columns / columns) {
  hasFull = lists.full.has_value();
}

ListedBlocks::Row ListedBlocks::makeRow(const BlockLists::List &list,
                                        const KernelBuilder::Work &work,
                                        Value block) {
  Row row{list, {}, {}};
  // An extent of 1 is broadcast.
  auto type = cast<MemRefType>(list.counts.getType());
  Value zero = kb.constant(0);
  row.place = {type.getDimSize(0) == 1 ? zero : work.batch,
               type.getDimSize(1) == 1 ? zero : work.head, block};
  if (!lists.areTransposed)
    row.last = compute<arith::SubIOp>(kb.size(list.indices, 3), kb.constant(1));
  return row;
}

Value ListedBlocks::emitMissing(const Row &row, Value entries, Value tiles) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  SmallVector<Value> place(row.place);
  place.push_back(row.last);
  Value read = memref::LoadOp::create(b, loc, row.list.indices, place);
  Value number = arith::IndexCastOp::create(b, loc, b.getIndexType(), read);
  // The last entry may be the last block, whose tiles past the end come last.
  Value end =
      compute<arith::MulIOp>(compute<arith::AddIOp>(number, kb.constant(1)),
                             kb.constant(tilesPerBlock));
  Value past = compute<arith::MaxSIOp>(compute<arith::SubIOp>(end, tiles),
                                       kb.constant(0));
  Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, entries,
                                     kb.constant(0));
  return arith::SelectOp::create(b, loc, some, past, kb.constant(0));
}

Value ListedBlocks::emitCount(Row &row, Value tiles) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  Value read = memref::LoadOp::create(b, loc, row.list.counts, row.place);
  Value wide = arith::IndexCastOp::create(b, loc, b.getIndexType(), read);
  Value entries = compute<arith::MaxSIOp>(wide, kb.constant(0));
  entries = compute<arith::MinSIOp>(entries, kb.size(row.list.indices, 3));
  Value count = compute<arith::MulIOp>(entries, kb.constant(tilesPerBlock));
  if (!lists.areTransposed)
    return count;
  row.last = compute<arith::SubIOp>(
      compute<arith::MaxSIOp>(entries, kb.constant(1)), kb.constant(1));
  return compute<arith::SubIOp>(count, emitMissing(row, entries, tiles));
}

void ListedBlocks::emitCounts(const KernelBuilder::Work &work, Value length,
                              Else otherwise) {
  Value block = compute<arith::DivUIOp>(work.row, kb.constant(lists.rows));
  most = compute<arith::CeilDivUIOp>(length, kb.constant(lists.columns));
  if (otherwise == Else::LastBlock)
    most = compute<arith::SubIOp>(compute<arith::MaxSIOp>(most, kb.constant(1)),
                                  kb.constant(1));
  Value tiles;
  if (lists.areTransposed)
    tiles = compute<arith::CeilDivUIOp>(length, kb.constant(columns));
  partial = makeRow(lists.partial, work, block);
  Value listed = masked = emitCount(partial, tiles);
  if (lists.full) {
    full = makeRow(*lists.full, work, block);
    listed = compute<arith::AddIOp>(masked, emitCount(*full, tiles));
  }
  count = listed;
  if (otherwise != Else::Nothing) {
    count = compute<arith::MaxSIOp>(listed, kb.constant(1));
    isEmpty =
        arith::CmpIOp::create(kb.builder, kb.getLoc(), arith::CmpIPredicate::eq,
                              listed, kb.constant(0));
    least = arith::SelectOp::create(kb.builder, kb.getLoc(), isEmpty, most,
                                    kb.constant(0));
  }
  if (!full)
    masked = count;
}

Value ListedBlocks::emitEntry(const Row &row, Value n) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  // Pipelines prefetch past the end of a list, and both lists are read.
  Value entry = compute<arith::DivUIOp>(n, kb.constant(tilesPerBlock));
  entry = compute<arith::MinUIOp>(entry, row.last);
  SmallVector<Value> place(row.place);
  place.push_back(entry);
  Value read = memref::LoadOp::create(b, loc, row.list.indices, place);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), read);
}

LogicalResult ListedBlocks::emitVisit(Block &block) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  b.setInsertionPointToEnd(&block);
  Value n = block.getArgument(0);
  Value number = emitEntry(partial, n), position = n;
  if (full) {
    Value isPartial =
        tile::IsPartialOp::create(b, loc, n, masked, /*end=*/Value());
    Value behind = arith::SubIOp::create(b, loc, n, masked);
    number = arith::SelectOp::create(b, loc, isPartial, number,
                                     emitEntry(*full, behind));
    // The second list restarts at tile 0. If the first one has whole blocks, n
    // modulo the tiles of a block is the same.
    if (lists.areTransposed)
      position = arith::SelectOp::create(b, loc, isPartial, n, behind);
  }
  // Clamps list entries, including negative ones, as unsigned values.
  if (least)
    number = arith::MaxUIOp::create(b, loc, number, least);
  number = arith::MinUIOp::create(b, loc, number, most);
  Value first = compute<arith::MulIOp>(number, kb.constant(lists.columns));
  if (tilesPerBlock > 1) {
    Value tile =
        arith::RemUIOp::create(b, loc, position, kb.constant(tilesPerBlock));
    Value offset = arith::MulIOp::create(b, loc, tile, kb.constant(columns));
    first = arith::AddIOp::create(b, loc, first, offset);
  }
  tile::YieldOp::create(b, loc, first);
  return success();
}
