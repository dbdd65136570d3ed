//===- BlockPosition.h - Positions of blocks in memory ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The position of a block of queries or keys in its tensor, and the mapping of
// a sequence's keys to such positions for all sequence forms.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_BLOCKPOSITION_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_BLOCKPOSITION_H

#include "Kernel/KernelBuilder.h"

namespace fovea {

/// The position of a block of consecutive rows of one head in memory. `batch`
/// and `row` are the indices of its first row along the batch and the row
/// dimension. `limit` is the end of the valid rows along the row dimension, or
/// null if the tensor ends there. A block of several pages has `batch` as its
/// first page and `pages` as the others, each of so many rows that all begin at
/// `row`; the limit then counts the rows of all of them. If threads find the
/// pages, of `pageRows` rows each, `table` has them from the position
/// `tableIndices` on, and `row` and `limit` count the sequence's keys.
struct BlockPosition {
  mlir::Value batch, row, limit;
  llvm::SmallVector<mlir::Value> pages = {};
  mlir::Value table = {};
  llvm::SmallVector<mlir::Value> tableIndices = {};
  int64_t pageRows = 0;
};

/// The positions of one sequence's keys in K and V.
struct KeyAddressing {
  /// The page table of a batch entry, if K and V are page pools. The `rows` of
  /// a page are a multiple of a block's keys, or these are a multiple of them,
  /// or threads copy row by row (`ScheduleProblem::copiesRows`). If the tables
  /// are parts of one list, this one has `count` pages from `first` on.
  struct Pages {
    mlir::Value table, pool;
    int64_t rows;
    mlir::Value first = {}, count = {};
  };

  /// The batch index of the sequence, or the row of its page table.
  mlir::Value batch;
  /// The row of its first key, or null if that is 0. Not with pages.
  mlir::Value firstKey;
  /// The end of the keys: a row in memory, with pages the number of keys. Null
  /// if the tensor ends there.
  mlir::Value limit;
  std::optional<Pages> pages;

  /// The position of the block of `size` keys that begins with `key`. Any table
  /// yields a page of the pool: the index of the entry and the entry itself are
  /// clamped.
  BlockPosition locate(KernelBuilder &kb, mlir::Value key, int64_t size) const;

private:
  /// The position of keys that threads find in the page table.
  BlockPosition locateRows(KernelBuilder &kb, mlir::Value key) const;
  /// The position of `count` pages from the table's `entry` on, `page` being
  /// the first one.
  BlockPosition locatePages(KernelBuilder &kb, mlir::Value key,
                            mlir::Value entry, mlir::Value page,
                            int64_t count) const;
};

/// The addressing of batch entry `batch`, with `keys` keys, in the page pool
/// `pool` of `attention`.
KeyAddressing makePagedAddressing(KernelBuilder &kb,
                                  attn::AttentionOpInterface attention,
                                  mlir::Value pool, mlir::Value batch,
                                  mlir::Value keys);

/// The number of keys that K has room for per sequence: rows of K, or rows of
/// the pages in a row of the page table. With page tables in one list the
/// capacity of sequence `n`, or of all together if that is null.
mlir::Value emitKeyCapacity(KernelBuilder &kb,
                            attn::AttentionOpInterface attention,
                            mlir::Value key, mlir::Value n = {});

/// Loads a block of one head from column 0 on, as the stream `name`.
mlir::Value loadBlock(KernelBuilder &kb, mlir::Value memref,
                      const BlockPosition &position, mlir::Value head,
                      int64_t rows, int64_t columns, llvm::StringRef name);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_KERNEL_BLOCKPOSITION_H
