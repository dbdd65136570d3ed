//===- BlockLists.h - Block-sparse lists ------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the block-sparse lists of an attn op.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_INTERPRETER_ATTENTION_BLOCKLISTS_H
#define FOVEA_LIB_INTERPRETER_ATTENTION_BLOCKLISTS_H

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Interpreter/Interpreter.h"

namespace fovea::interp {

/// The block-sparse lists of one attn op.
class BlockLists {
public:
  /// The lists that hold a key block for a query block: none, the partial or
  /// the full one.
  enum Listing : char { Hidden, Partial, Full };

  BlockLists(attn::AttentionOpInterface op, Frame &frame)
      : op(op), frame(frame) {}

  /// Fails if the shapes of the lists are wrong, if a row lists a block twice,
  /// or if the transposed lists differ from the lists.
  llvm::LogicalResult check(int64_t keys);
  /// The listing of each block of `keys` keys, for query `query`.
  llvm::SmallVector<Listing> getRow(int64_t batch, int64_t head, int64_t query,
                                    int64_t keys);

private:
  /// The lists of one clause. Rows are queries in `blocks`, and keys in
  /// `query_blocks`.
  struct Group {
    mlir::OperandRange lists;
    llvm::StringRef (*getName)(unsigned);
    /// In diagnostics, what rows and columns are.
    llvm::StringRef rows, columns;
    /// Number of blocks in rows and columns.
    int64_t rowBlocks, columnBlocks;
  };

  Group getKeyGroup(int64_t keys);
  Group getQueryGroup(int64_t keys);
  llvm::LogicalResult checkShapes(const Group &group);
  /// Fails if a row lists a block twice.
  llvm::LogicalResult checkRow(const Group &group, int64_t batch, int64_t head,
                               int64_t row);
  llvm::LogicalResult checkTransposed(const Group &keys, const Group &queries,
                                      int64_t batch, int64_t head);
  /// Entries of list `list` (0: partial, 1: full) in a row of blocks.
  llvm::ArrayRef<int64_t> getEntries(mlir::OperandRange lists, unsigned list,
                                     int64_t batch, int64_t head, int64_t row);
  llvm::SmallVector<Listing> getListings(mlir::OperandRange lists,
                                         int64_t batch, int64_t head,
                                         int64_t row, int64_t blocks);

  attn::AttentionOpInterface op;
  Frame &frame;
};

} // namespace fovea::interp

#endif // FOVEA_LIB_INTERPRETER_ATTENTION_BLOCKLISTS_H
