//===- VisitedBlocks.cpp - Blocks of keys from lists ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VisitedBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fovea;

ListedBlocks::ListedBlocks(KernelBuilder &kb, attn::ForwardOp op,
                           int64_t columns)
    : kb(kb), op(op), columns(columns),
      tilesPerBlock(op.getKeyBlock() / columns) {
  hasFull = op.hasFullBlocks();
}

ListedBlocks::List ListedBlocks::makeList(unsigned index,
                                          const KernelBuilder::Work &work,
                                          Value block) {
  unsigned first = op.getBlockLists().getBeginOperandIndex() + 2 * index;
  List list;
  list.counts = kb.operandArgument(first);
  list.indices = kb.operandArgument(first + 1);
  // An extent of 1 stands for all.
  auto type = cast<MemRefType>(list.counts.getType());
  Value zero = kb.constant(0);
  list.row = {type.getDimSize(0) == 1 ? zero : work.batch,
              type.getDimSize(1) == 1 ? zero : work.head, block};
  list.last = compute<arith::SubIOp>(kb.size(list.indices, 3), kb.constant(1));
  return list;
}

Value ListedBlocks::emitCount(const List &list) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  Value read = memref::LoadOp::create(b, loc, list.counts, list.row);
  Value wide = arith::IndexCastOp::create(b, loc, b.getIndexType(), read);
  Value entries = compute<arith::MaxSIOp>(wide, kb.constant(0));
  entries = compute<arith::MinSIOp>(entries, kb.size(list.indices, 3));
  return compute<arith::MulIOp>(entries, kb.constant(tilesPerBlock));
}

void ListedBlocks::emitCounts(const KernelBuilder::Work &work, Value keys,
                              bool runsOnce) {
  Value block =
      compute<arith::DivUIOp>(work.row, kb.constant(op.getQueryBlock()));
  keyBlocks = compute<arith::CeilDivUIOp>(keys, kb.constant(op.getKeyBlock()));
  partial = makeList(0, work, block);
  masked = listed = emitCount(partial);
  if (op.hasFullBlocks()) {
    full = makeList(1, work, block);
    listed = compute<arith::AddIOp>(masked, emitCount(*full));
  }
  count = listed;
  if (runsOnce) {
    count = compute<arith::MaxSIOp>(listed, kb.constant(1));
    Value isEmpty =
        arith::CmpIOp::create(kb.builder, kb.getLoc(), arith::CmpIPredicate::eq,
                              listed, kb.constant(0));
    least = arith::SelectOp::create(kb.builder, kb.getLoc(), isEmpty, keyBlocks,
                                    kb.constant(0));
  }
  if (!full)
    masked = count;
}

Value ListedBlocks::emitEntry(const List &list, Value n) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  // Pipelines look ahead, beyond the end of a list, and both lists are read.
  Value entry = compute<arith::DivUIOp>(n, kb.constant(tilesPerBlock));
  entry = compute<arith::MinUIOp>(entry, list.last);
  SmallVector<Value> indices(list.row);
  indices.push_back(entry);
  Value read = memref::LoadOp::create(b, loc, list.indices, indices);
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), read);
}

LogicalResult ListedBlocks::emitVisit(Block &block) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  b.setInsertionPointToEnd(&block);
  Value n = block.getArgument(0);
  Value number = emitEntry(partial, n);
  if (full) {
    Value isPartial =
        tile::IsPartialOp::create(b, loc, n, masked, /*end=*/Value());
    Value behind = arith::SubIOp::create(b, loc, n, masked);
    // A list's tiles start over: n modulo the tiles of a block is the same.
    number = arith::SelectOp::create(b, loc, isPartial, number,
                                     emitEntry(*full, behind));
  }
  // Whatever the list says, negative numbers included, is at most one past the
  // last block.
  if (least)
    number = arith::MaxUIOp::create(b, loc, number, least);
  number = arith::MinUIOp::create(b, loc, number, keyBlocks);
  Value key = compute<arith::MulIOp>(number, kb.constant(op.getKeyBlock()));
  if (tilesPerBlock > 1) {
    Value tile = arith::RemUIOp::create(b, loc, n, kb.constant(tilesPerBlock));
    Value offset = arith::MulIOp::create(b, loc, tile, kb.constant(columns));
    key = arith::AddIOp::create(b, loc, key, offset);
  }
  tile::YieldOp::create(b, loc, key);
  return success();
}
