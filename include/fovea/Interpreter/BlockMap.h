//===- BlockMap.h - What a mask leaves of each block ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_INTERPRETER_BLOCKMAP_H
#define FOVEA_INTERPRETER_BLOCKMAP_H

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Interpreter/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace fovea::interp {

/// What is true of a block: which of its pairs of a query and a key its mask
/// shows.
enum class BlockTruth { None, Some, All };

/// What a kernel does with a block, by the op's regions and lists: skips it,
/// visits it with the mask's arithmetic, or without.
enum class BlockVisit { Skipped, Masked, Plain };

/// One head of one sequence in blocks, `rows` of them by `columns`. The code of
/// a block is the digit `truth + 3 * visit`.
struct BlockMap {
  struct Row {
    std::string codes;
    int64_t visiblePairs = 0;
  };
  int64_t entry, head, queries, keys;
  std::vector<Row> rows;
};

/// Environment of functions with attn ops: map blocks instead of computing
/// attention.
struct BlockMapRequest {
  /// Queries and keys of a block.
  int64_t rows, columns;
  /// Whether the kernel asks `kv_classify` about single blocks.
  bool classify;
  std::vector<BlockMap> *maps;
  /// Whether the kernel's tiles are keys, which iterate over blocks of queries.
  bool hasKeyTiles = false;
  /// The query_bounds of such a kernel, if it has any.
  mlir::Region *queryBounds = nullptr;
};

/// Environment of functions with an attn op: say of single pairs of a query and
/// a key what is true of them instead of computing attention. The pairs are
/// those of the `rows` queries from `first` on, and of all keys, of one head of
/// one sequence.
struct ElementRequest {
  int64_t entry, head, first, rows;
  /// Scores that score_mod is tried on.
  llvm::ArrayRef<double> scores;

  /// An i1 for each pair: whether the query sees the key.
  HostTensor *visible;
  /// An f64 for each score and pair: what score_mod makes of it, NaN where the
  /// pair is hidden.
  HostTensor *changed;
};

/// A function `visible` whose only op has the mask, the sequences and the lists
/// of `forward`, without its scores, on f32 tensors of head dim 1. Its
/// arguments are the op's operands; it gives O and LSE. One head stands for all
/// where the mask does not ask for the head, and one batch entry likewise.
mlir::OwningOpRef<mlir::ModuleOp> makeMaskProgram(attn::ForwardOp forward);

/// The same with score_mod, and with all heads and batch entries.
mlir::OwningOpRef<mlir::ModuleOp> makeElementProgram(attn::ForwardOp forward);

/// A function whose only op is an attn.forward of the function's arguments,
/// with the clauses, score_mod and mask_mod of `backward`.
mlir::OwningOpRef<mlir::ModuleOp> makeForwardProgram(attn::BackwardOp backward);

/// Sizes of attention.
struct AttentionSizes {
  int64_t batch, heads, queries, keys;
};

/// Q, K or V (`operand` 0 to 2) of such a program: zeros, with these sizes
/// where the type leaves them open.
HostTensor makeMaskInput(mlir::func::FuncOp program, unsigned operand,
                         const AttentionSizes &sizes);

} // namespace fovea::interp

#endif // FOVEA_INTERPRETER_BLOCKMAP_H
