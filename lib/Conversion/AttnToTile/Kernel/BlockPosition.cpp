//===- BlockPosition.cpp - Positions of blocks in memory ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel/BlockPosition.h"

#include "Kernel/PackedSequences.h"

#include "fovea/Schedule/ScheduleProblem.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fovea;

/// The argument with the page tables of an op whose keys are in pages.
static Value getPageTable(KernelBuilder &kb,
                          attn::AttentionOpInterface attention) {
  return kb.operandArgument(
      attention.getSequenceOperands().getBeginOperandIndex() +
      attention.getSequence().getPlaces().pageTable);
}

/// The pages of sequence `n` in a list of those of all sequences.
static SequenceRows locateTable(KernelBuilder &kb,
                                attn::AttentionOpInterface attention, Value n) {
  unsigned first = attention.getSequenceOperands().getBeginOperandIndex();
  Value offsets = kb.operandArgument(
      first + *attention.getSequence().getPlaces().pageOffsets);
  return emitPackedRows(kb, offsets, n,
                        kb.size(getPageTable(kb, attention), 0));
}

/// The page at `entry` of row `batch` of a page table. Hosts do not check the
/// integers: `entry` may be past the row, and the page past the pool. As
/// unsigned numbers, negative pages are past the pool, too.
static Value emitPage(KernelBuilder &kb, const KeyAddressing::Pages &pages,
                      Value batch, Value entry) {
  Value one = kb.constant(1);
  Value count = pages.first ? pages.count : kb.size(pages.table, 1);
  // A sequence may have no pages in a list, but the list has some.
  if (pages.first)
    count = kb.make<arith::MaxUIOp>(count, one);
  Value lastEntry = kb.make<arith::SubIOp>(count, one);
  Value lastPage = kb.make<arith::SubIOp>(kb.size(pages.pool, 0), one);
  Value existing = kb.make<arith::MinUIOp>(entry, lastEntry);
  SmallVector<Value> at = {batch, existing};
  if (pages.first) {
    Value last = kb.make<arith::SubIOp>(kb.size(pages.table, 0), one);
    at = {kb.make<arith::MinUIOp>(kb.make<arith::AddIOp>(pages.first, existing),
                                  last)};
  }
  Value page = kb.make<memref::LoadOp>(pages.table, at);
  Value index = kb.make<arith::IndexCastOp>(kb.builder.getIndexType(), page);
  return kb.make<arith::MinUIOp>(index, lastPage);
}

BlockPosition KeyAddressing::locate(KernelBuilder &kb, Value key,
                                    int64_t size) const {
  if (!pages) {
    if (!firstKey)
      return {batch, key, limit};
    return {batch, kb.make<arith::AddIOp>(firstKey, key), limit};
  }
  if (pages->rows % ScheduleProblem::kPageStep != 0)
    return locateRows(kb, key);
  Value rows = kb.constant(pages->rows);
  Value entry = kb.make<arith::DivUIOp>(key, rows);
  Value page = emitPage(kb, *pages, batch, entry);
  named("page", page);
  if (pages->rows < size)
    return locatePages(kb, key, entry, page, size / pages->rows);
  assert(pages->rows % size == 0 && "a block is in one page");
  // The first key of the page.
  Value first = kb.make<arith::MulIOp>(entry, rows);
  Value row = kb.constant(0);
  if (pages->rows != size)
    row = kb.make<arith::SubIOp>(key, first);
  // Limits are not negative. The block may be past the last key: a loop in
  // roles has an iteration without keys, too.
  Value end = kb.make<arith::MaxSIOp>(kb.make<arith::SubIOp>(limit, first),
                                      kb.constant(0));
  return {page, row, end};
}

BlockPosition KeyAddressing::locateRows(KernelBuilder &kb, Value key) const {
  BlockPosition position{kb.constant(0), key, limit};
  position.table = pages->table;
  position.pageRows = pages->rows;
  if (pages->first)
    position.tableIndices = {pages->first};
  else
    position.tableIndices = {batch, kb.constant(0)};
  return position;
}

BlockPosition KeyAddressing::locatePages(KernelBuilder &kb, Value key,
                                         Value entry, Value page,
                                         int64_t count) const {
  Value zero = kb.constant(0);
  Value end = kb.make<arith::MaxSIOp>(kb.make<arith::SubIOp>(limit, key), zero);
  BlockPosition position{page, zero, end};
  for (int64_t number = 1; number < count; ++number) {
    Value next = kb.make<arith::AddIOp>(entry, kb.constant(number));
    position.pages.push_back(emitPage(kb, *pages, batch, next));
    named("page", position.pages.back());
  }
  return position;
}

KeyAddressing fovea::makePagedAddressing(KernelBuilder &kb,
                                         attn::AttentionOpInterface attention,
                                         Value pool, Value batch, Value keys) {
  KeyAddressing addressing{batch, Value(), keys, {}};
  addressing.pages =
      KeyAddressing::Pages{getPageTable(kb, attention), pool,
                           *attention.getSequence().getPlaces().page};
  if (attention.getSequence().getPlaces().pageOffsets) {
    SequenceRows rows = locateTable(kb, attention, batch);
    addressing.pages->first = rows.first;
    addressing.pages->count = rows.count;
  }
  return addressing;
}

Value fovea::emitKeyCapacity(KernelBuilder &kb,
                             attn::AttentionOpInterface attention, Value key,
                             Value n) {
  attn::SequencePlaces places = attention.getSequence().getPlaces();
  if (!places.page)
    return kb.size(key, 2);
  Value table = getPageTable(kb, attention), pages;
  if (places.pageOffsets && n)
    pages = locateTable(kb, attention, n).count;
  else
    pages = kb.size(table, places.pageOffsets ? 0 : 1);
  return kb.make<arith::MulIOp>(pages, kb.constant(*places.page));
}

Value fovea::loadBlock(KernelBuilder &kb, Value memref,
                       const BlockPosition &position, Value head, int64_t rows,
                       int64_t columns, StringRef name) {
  if (position.pages.empty() && !position.table)
    return kb.loadHead(memref, position.batch, head, position.row,
                       /*column=*/0, rows, columns, position.limit, name);
  OpBuilder &b = kb.builder;
  SmallVector<Value> indices = {position.batch, head, position.row,
                                kb.constant(0)};
  llvm::append_range(indices, position.pages);
  int64_t rowsOfPage = position.table
                           ? position.pageRows
                           : rows / int64_t(position.pages.size() + 1);
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  return tile::LoadOp::create(
      b, getNamedLoc(kb.getLoc(), name), kb.tileType(rows, columns, element),
      memref, indices, position.limit, position.table, position.tableIndices,
      b.getDenseI64ArrayAttr({2, 3}),
      /*fold=*/DenseI64ArrayAttr(), /*fragments=*/UnitAttr(),
      /*by_register=*/UnitAttr(), b.getStringAttr(name),
      b.getDenseI64ArrayAttr({0, rowsOfPage}));
}
